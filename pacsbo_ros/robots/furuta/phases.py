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
What comes before and after the gains are tried: getting upright, and catching what they lost.

Both are step machines that take the measured state and answer a voltage, not yet clamped. They do
not end the episode; they say that they are done, or what went wrong.
"""
from __future__ import annotations

from enum import Enum

from pacsbo_ros.robots.furuta.backup import Backup
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits, Start
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.self_test import SelfTest

LOST, LOST_ARM = 1.9, 1.3  # shares of the limits beyond which the backup gives up


class Phase(Enum):
    """Say what the episode is doing."""

    TESTING = 'testing'
    WAITING = 'waiting'
    SWINGING = 'swinging'
    CATCHING = 'catching'
    RUNNING = 'running'
    RECOVERING = 'recovering'
    OVER = 'over'


class Upright:
    """Count for how long the pendulum has been upright."""

    def __init__(self, settings: EpisodeSettings) -> None:
        self._angle, self._hold_time, self._samples = settings.start_angle, settings.hold_time, 0

    def holds(self, theta: float, alpha: float) -> bool:
        """Tell whether the pendulum may be handed over at this moment."""
        return abs(alpha) <= self._angle and abs(theta) <= 3 * self._angle

    def held(self, theta: float, alpha: float) -> bool:
        """Take a sample; tell whether it has been upright for the hold time."""
        self._samples = self._samples + 1 if self.holds(theta, alpha) else 0
        return self._samples * SAMPLE_PERIOD >= self._hold_time


class GettingUpright:
    """Test, wait, swing or catch until the pendulum has been upright for the hold time."""

    def __init__(self, limits: Limits, settings: EpisodeSettings) -> None:
        self._limits, self._settings = limits, settings
        self.phase = {Start.UPRIGHT: Phase.RUNNING, Start.BY_HAND: Phase.WAITING,
                      Start.SWING_UP: Phase.SWINGING}[settings.start]
        self.problem = ''  # why it failed
        self.test = SelfTest(settings.swing_up.parameters)
        if settings.self_test:
            self._begin_with, self.phase = self.phase, Phase.TESTING
        self._upright = Upright(settings)
        self._spent = 0  # samples
        self._tick = 0  # samples since it was caught
        self._volts = 0.0

    def step(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Take a sample; the phase is RUNNING as soon as the gains may take over."""
        settings, limits = self._settings, self._limits
        if self.phase is Phase.TESTING:
            return self._ask(Measurement(theta, alpha, theta_dot, alpha_dot))
        self._spent += 1
        if self._spent * SAMPLE_PERIOD > settings.start_timeout:
            return self._fail(f'not upright within {settings.start_timeout} s')
        if abs(theta) > settings.swing_up.theta_limit:
            return self._fail(f'theta {theta:.3f} rad while getting upright exceeds '
                              f'{settings.swing_up.theta_limit:.3f} rad')
        if abs(theta_dot) > limits.speed or abs(alpha_dot) > limits.speed:
            return self._fail(f'speed {max(theta_dot, alpha_dot, key=abs):.3f} rad/s while '
                              f'getting upright exceeds {limits.speed:.3f} rad/s')
        if self._upright.held(theta, alpha):
            self.phase = Phase.RUNNING
            return 0.0
        if self.phase is Phase.WAITING:
            return 0.0
        if self.phase is Phase.SWINGING and settings.swing_up.can_catch(alpha, alpha_dot):
            self.phase, self._tick = Phase.CATCHING, 0
        elif self.phase is Phase.CATCHING and abs(alpha) > settings.swing_up.lost_angle:
            self.phase = Phase.SWINGING
        if self.phase is Phase.SWINGING:
            self._volts = settings.swing_up.volts(theta, alpha, theta_dot, alpha_dot)
        elif self._tick % settings.control_every == 0:
            k = settings.catch_gains.as_tuple()
            self._volts = -(k[0] * theta + k[1] * alpha + k[2] * theta_dot + k[3] * alpha_dot)
        self._tick += 1
        return self._volts

    def _ask(self, measurement: Measurement) -> float:
        """Test motor and sensors; go on with the start once they are right."""
        volts = self.test.step(measurement)
        if self.test.problem:
            return self._fail(f'self-test: {self.test.problem}')
        if self.test.done:
            self.phase = self._begin_with
        return volts

    def _fail(self, problem: str) -> float:
        self.problem = problem
        return 0.0


class Recovery:
    """Catch the pendulum at every sample until it is calm."""

    def __init__(self, backup: Backup, limits: Limits, settings: EpisodeSettings) -> None:
        self._backup, self._limits, self._settings = backup, limits, settings
        self.lost = False  # it is beyond what the backup can do
        self.calm = False  # it may be left alone
        self.samples = 0
        self._upright = Upright(settings)

    def step(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Take a sample; zero volts once it is lost or calm."""
        limits, settings = self._limits, self._settings
        if (abs(alpha) > LOST * limits.alpha or abs(theta) > LOST_ARM * limits.theta
                or max(abs(theta_dot), abs(alpha_dot)) > limits.speed):
            self.lost = True
            return 0.0
        if (self._upright.held(theta, alpha)
                or self.samples * SAMPLE_PERIOD >= settings.recovery_time):
            self.calm = True
            return 0.0
        self.samples += 1
        return self._backup.volts(theta, alpha, theta_dot, alpha_dot, limits.alpha)
