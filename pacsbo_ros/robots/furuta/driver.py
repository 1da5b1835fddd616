# Copyright 2026 the pacsbo_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
The protocol between an episode and whatever moves the pendulum, and its simulated side.

Once per sample the caller reads, decides and writes. The caller need not own time: a simulated
plant advances by one sample when it is written to, hardware advances by itself.
"""
from __future__ import annotations

from collections import deque
import math
from typing import Protocol

import numpy as np
from pacsbo_ros.robots.contract import RobotError
from pacsbo_ros.robots.furuta.dynamics import rk4, State
from pacsbo_ros.robots.furuta.plant import Measurement, Plant, SAMPLE_PERIOD, VelocityFilter
from pacsbo_ros.robots.furuta.presets import CALIBRATED

STATE_TIMEOUT = 0.06  # s, a plant that is silent for longer has no state


class DriverError(RobotError):
    """Report that a driver cannot do its work; the motor is off."""


class Driver(Protocol):
    """Connect an episode to a pendulum, sampled every SAMPLE_PERIOD."""

    @property
    def age(self) -> float:
        """Return how old the state is that read() returns [s]."""

    def reset(self, rng: np.random.Generator) -> None:
        """Prepare for an episode; a simulated plant draws its start from rng."""

    def read(self) -> Measurement:
        """Return the state at this sample, or NO_STATE if there is no fresh one."""

    def write(self, volts: float) -> None:
        """Command the motor voltage for the coming sample."""

    def push(self, alpha_dot: float) -> None:
        """Kick the pendulum by alpha_dot rad/s if the driver can; hardware ignores it."""

    def close(self) -> None:
        """Set zero volts and let go; may be called twice, and after an error."""


class SimulatedDriver:
    """Simulate a plant sample by sample."""

    age = 0.0

    def __init__(self, plant: Plant = CALIBRATED, *, hanging: bool = False,
                 log_length: int | None = None) -> None:
        """Start upright, or hanging at rest; keep the last log_length voltages (None: all)."""
        self.plant = plant
        self.hanging = hanging
        self.voltage_log: deque[float] = deque(maxlen=log_length)  # what the motor received
        self._coefficients = plant.parameters.coefficients
        self._dt = SAMPLE_PERIOD / plant.substeps
        self._resolution = plant.resolution
        cutoff = plant.velocity_filter
        self._filters = cutoff and (VelocityFilter(cutoff), VelocityFilter(cutoff))
        self.set_state((0.0, math.pi if hanging else 0.0, 0.0, 0.0))

    @property
    def state(self) -> State:
        """Return the true state, which no controller may see."""
        return self._state

    def reset(self, rng: np.random.Generator) -> None:
        """Draw start angles within the plant's spread, at rest, with power on."""
        spread = self.plant.start_spread
        theta, alpha = rng.uniform(-spread, spread, 2).tolist()
        self.set_state((theta, alpha + math.pi if self.hanging else alpha, 0.0, 0.0))

    def set_state(self, state: State) -> None:
        """Put the plant into a true state, with power on, and empty the delay line and log."""
        self._state = state
        self._powered = True
        self._pending = deque([0.0] * self.plant.delay)
        self.voltage_log.clear()
        if self._filters:
            for velocity_filter in self._filters:
                velocity_filter.reset()
        self._measurement = self._measure()

    def read(self) -> Measurement:
        """Return the measurement at this sample; reading twice gives it twice."""
        return self._measurement

    def write(self, volts: float) -> None:
        """Queue the voltage behind the delay and advance the plant by one sample."""
        if not math.isfinite(volts):
            raise ValueError(f'voltage is {volts}; a motor takes finite numbers only')
        plant = self.plant
        self._pending.append(volts)
        limit = plant.voltage_limit
        applied = max(-limit, min(limit, self._pending.popleft())) if self._powered else 0.0
        self.voltage_log.append(applied)
        if plant.arm_stop == math.inf:
            self._state = self._advance(applied, plant.substeps)
        else:
            for _ in range(plant.substeps):
                state = self._advance(applied, 1)
                if abs(state[0]) > plant.arm_stop:
                    state = (math.copysign(plant.arm_stop, state[0]), state[1], 0.0, state[3])
                self._state = state
        self._measurement = self._measure()

    def _advance(self, volts: float, steps: int) -> State:
        """Return the true state after so many integration steps."""
        return rk4(self._state, volts, self._dt, steps, self._coefficients)

    def push(self, alpha_dot: float) -> None:
        """Add alpha_dot to the true pendulum speed, as a finger would."""
        if not math.isfinite(alpha_dot):
            raise ValueError(f'push is {alpha_dot} rad/s; use a finite number')
        theta, alpha, theta_dot, old = self._state
        self._state = (theta, alpha, theta_dot, old + alpha_dot)

    def cut(self) -> None:
        """Take the motor's supply away until the next reset."""
        self._powered = False

    def close(self) -> None:
        """Cut the supply."""
        self.cut()

    def _measure(self) -> Measurement:
        """Pass the true state through bias, encoders and filters."""
        theta, alpha, theta_dot, alpha_dot = self._state
        theta += self.plant.theta_bias
        alpha += self.plant.alpha_bias
        step = self._resolution
        if step and math.isfinite(theta + alpha):
            theta = step * round(theta / step)
            alpha = step * round(alpha / step)
        if self._filters:
            theta_dot = self._filters[0].step(theta)
            alpha_dot = self._filters[1].step(alpha)
        return Measurement(theta, alpha, theta_dot, alpha_dot)
