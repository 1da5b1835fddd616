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
What stands between the equations of motion and the controller, as one frozen description.

Every effect has a value that switches it off. Time runs in samples of 5 ms: encoders are read,
velocities filtered and voltages applied once per sample; the equations are integrated in between.
"""
from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import NamedTuple

from pacsbo_ros.robots.furuta.parameters import Parameters

SAMPLE_PERIOD = 0.005  # s, the 200 Hz of the authors' experiment


class Measurement(NamedTuple):
    """Hold the measured state at one sample, in rad and rad/s."""

    theta: float
    alpha: float
    theta_dot: float
    alpha_dot: float


# What a driver returns that has no fresh state: an episode ends on it with zero volts.
NO_STATE = Measurement(math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Plant:
    """Describe a pendulum with its sensors and its amplifier."""

    parameters: Parameters = field(default_factory=Parameters)
    encoder_counts: int | None = None  # counts per turn on both axes; None: exact angles
    velocity_filter: float | None = None  # rad/s, cut-off of s w/(s + w); None: exact velocities
    delay: int = 0  # samples from command to motor
    voltage_limit: float = math.inf  # V, amplifier saturation
    theta_bias: float = 0.0  # rad, added to the measured arm angle
    alpha_bias: float = 0.0  # rad, added to the measured pendulum angle
    start_spread: float = 0.05  # rad, both start angles are uniform within it
    arm_stop: float = math.inf  # rad, the arm hits a stop here and loses its speed
    substeps: int = 5  # Runge-Kutta steps per sample

    def __post_init__(self) -> None:
        for name in ('encoder_counts', 'delay', 'substeps'):
            if not isinstance(getattr(self, name), int | None):
                raise ValueError(f'{name} is {getattr(self, name)}; use a whole number')
        if self.encoder_counts is not None and self.encoder_counts < 1:
            raise ValueError(f'encoder_counts is {self.encoder_counts}; use 1 or more, or None')
        if self.velocity_filter is not None and not 0 < self.velocity_filter < math.inf:
            raise ValueError(f'velocity_filter is {self.velocity_filter} rad/s; use a positive '
                             'number, or None for exact velocities')
        if self.delay < 0:
            raise ValueError(f'delay is {self.delay} samples; use zero or more')
        if self.substeps < 5:
            raise ValueError(f'substeps is {self.substeps}; use 5 or more, so that the equations '
                             'are integrated at 1 ms or less')
        for name in ('voltage_limit', 'arm_stop'):
            if not getattr(self, name) > 0:
                raise ValueError(f'{name} is {getattr(self, name)}; use a positive number, or '
                                 'inf to switch it off')
        for name in ('theta_bias', 'alpha_bias', 'start_spread'):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f'{name} is {getattr(self, name)}; use a finite number')
        if self.start_spread < 0:
            raise ValueError(f'start_spread is {self.start_spread} rad; use zero or more')

    @property
    def resolution(self) -> float:
        """Return the angle of one encoder count in rad; zero for exact angles."""
        return 0.0 if self.encoder_counts is None else 2 * math.pi / self.encoder_counts


class VelocityFilter:
    """Differentiate a sampled angle with s w/(s + w), exact for ramps between samples."""

    def __init__(self, cutoff: float) -> None:
        self._pole, self._gain = filter_coefficients(cutoff)
        self._last: float | None = None
        self._velocity = 0.0

    def reset(self) -> None:
        """Forget the past: the next angle counts as standing still."""
        self._last = None
        self._velocity = 0.0

    def step(self, angle: float) -> float:
        """Take the angle of the next sample and return the velocity."""
        if self._last is not None:
            self._velocity = self._pole * self._velocity + self._gain * (angle - self._last)
        self._last = angle
        return self._velocity


def filter_coefficients(cutoff: float) -> tuple[float, float]:
    """Return pole and gain of v[k] = pole v[k-1] + gain (x[k] - x[k-1])."""
    pole = math.exp(-cutoff * SAMPLE_PERIOD)
    return pole, (1.0 - pole) / SAMPLE_PERIOD
