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
A pendulum on a laboratory bench: a simulated plant with a good amplifier and a patient assistant.

The amplifier gives zero volts when the last command is too old, clamps what is too large and
ignores what is no number. The assistant waits until the motor has had zero volts for a while,
sets the pendulum upright, and holds it until the first voltage comes.
"""
from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.plant import Measurement, Plant

LEAST_ANGLE = 0.01  # rad from upright, so that a feedback has something to answer to


class AssistedPlant:
    """Simulate one sample per call of step(); times are seconds of a steady clock."""

    def __init__(self, plant: Plant, command_timeout: float, stand_up_after: float,
                 rng: np.random.Generator, *, hanging: bool = False) -> None:
        """Start held upright; hanging: start at rest below, and nobody ever helps."""
        # The way of a command to this process is delay enough.
        self._driver = SimulatedDriver(replace(plant, delay=0), hanging=hanging, log_length=1)
        self._command_timeout = command_timeout
        self._stand_up_after = math.inf if hanging else stand_up_after
        self._rng = rng
        self._volts = 0.0
        self._commanded = -math.inf
        self._idle_since = math.inf
        self._held = False
        self.applied = 0.0  # V, what the motor gets
        if not hanging:
            self._stand_up()

    def command(self, now: float, volts: float) -> None:
        """Take a command; one that is no finite number is not taken."""
        if math.isfinite(volts):
            self._volts, self._commanded = volts, now

    def step(self, now: float) -> Measurement:
        """Advance by one sample and return the state at its end."""
        volts = self._volts if now - self._commanded <= self._command_timeout else 0.0
        if self._held and volts == 0.0:
            return self._driver.read()
        self._held = False
        self._driver.write(volts)
        self.applied = self._driver.voltage_log[-1]
        if self.applied != 0.0:
            self._idle_since = math.inf
        elif self._idle_since == math.inf:
            self._idle_since = now
        elif now - self._idle_since >= self._stand_up_after:
            self._stand_up()
        return self._driver.read()

    def _stand_up(self) -> None:
        """Set the pendulum upright at random start angles and hold it."""
        spread = max(self._driver.plant.start_spread, LEAST_ANGLE)
        theta, side = self._rng.uniform(-spread, spread), self._rng.choice((-1.0, 1.0))
        self._driver.set_state(
            (float(theta), float(side * self._rng.uniform(LEAST_ANGLE, spread)), 0.0, 0.0))
        self._held, self._idle_since = True, math.inf
