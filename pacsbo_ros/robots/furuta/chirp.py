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
Record a chirp from a hanging pendulum, sample by sample: a small voltage, limits, then zero.

First the self-test: it has to hang still, and motor and encoders have to answer a short voltage
the right way. Then it has to hang still again, and the chirp begins. Whatever is wrong ends it:
the arm or the pendulum too far, a speed too high, a sensor that is silent or lies, a sample too
late. From then on step() returns exactly zero.

    V(t) = A sin(2 pi (f0 t + (f1 - f0) t^2 / 2T)) - c (theta - theta_0)

where the second term, a soft spring, keeps the arm from drifting to its stop. It does no harm to
the identification, which takes the voltage as it was.
"""
from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path

from pacsbo_ros.files import write_new
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.plausibility import Plausibility
from pacsbo_ros.robots.furuta.recordings import COLUMNS
from pacsbo_ros.robots.furuta.self_test import HANGING, SelfTest, SLOW, STILL

LATEST = 3 * SAMPLE_PERIOD  # s between two samples; more and the recording has a hole
FASTEST = 40.0  # rad/s
PATIENCE = 60.0  # s for the pendulum to come to rest after the self-test


@dataclass(frozen=True)
class Chirp:
    """Describe the voltage and how far things may go."""

    amplitude: float = 1.0  # V
    duration: float = 15.0  # s
    first: float = 5.0  # Hz
    last: float = 1.0  # Hz
    centring: float = 0.5  # V/rad
    arm_limit: float = 1.0  # rad from where the arm was
    swing_limit: float = 2.5  # rad from hanging

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise ValueError(f'chirp {name} is {value}; use a positive number')
        if self.amplitude > 3.0:
            raise ValueError(f'chirp amplitude is {self.amplitude} V; 3 V is the most for a '
                             'recording')

    def volts(self, t: float, moved: float) -> float:
        """Return the voltage at t s, with the arm moved by so much."""
        phase = self.first * t + (self.last - self.first) * t * t / (2 * self.duration)
        return self.amplitude * math.sin(2 * math.pi * phase) - self.centring * moved


class ChirpRecorder:
    """Ask for one measurement a sample, answer with the voltage for the coming one."""

    def __init__(self, chirp: Chirp, parameters: Parameters) -> None:
        """Prepare; the parameters say how a pendulum answers, roughly."""
        self.chirp = chirp
        self.rows: list[tuple[float, float, float, float]] = []  # t, volts, theta, alpha
        self.problem = ''  # what went wrong
        self.done = False
        self._self_test = SelfTest(parameters)
        self._sensors = Plausibility(parameters)
        self._begin = 0.0  # s, when the chirp began
        self._centre = 0.0  # rad, of the arm when it did
        self._last = math.nan  # s, time of the sample before
        self._waited = self._still = 0.0  # s

    @property
    def over(self) -> bool:
        """Tell whether it ended, well or not."""
        return self.done or bool(self.problem)

    def step(self, now: Measurement, t: float) -> float:
        """Take the state measured at t s; return the voltage for the coming sample."""
        if self.over:
            return 0.0
        self.problem = self._objection(now, t)
        self._last = t
        volts = 0.0 if self.problem else self._answer(now, t)
        return 0.0 if self.over else volts

    def _objection(self, now: Measurement, t: float) -> str:
        if not all(map(math.isfinite, now)):
            return 'there is no fresh state: is the pendulum switched on and connected?'
        if self._self_test.done and t - self._last > LATEST:
            return (f'a sample came {1e3 * (t - self._last):.0f} ms after the one before; close '
                    'other programs and record again')
        if abs(now.theta - self._centre) > self.chirp.arm_limit and self._self_test.done:
            return (f'the arm moved by {now.theta - self._centre:.2f} rad, the limit is '
                    f'{self.chirp.arm_limit:g}; lower the voltage')
        if abs(_from_hanging(now.alpha)) > self.chirp.swing_limit:
            return (f'the pendulum swung {_from_hanging(now.alpha):.2f} rad from hanging, the '
                    f'limit is {self.chirp.swing_limit:g}; lower the voltage')
        if max(abs(now.theta_dot), abs(now.alpha_dot)) > FASTEST:
            return f'a joint is faster than {FASTEST:g} rad/s; lower the voltage'
        return ''

    def _answer(self, now: Measurement, t: float) -> float:
        if not self._self_test.done:
            volts = self._self_test.step(now)
            self.problem = self._self_test.problem
            self._centre = now.theta
            return volts
        if not self.rows and not self._rests(now, t):
            return 0.0
        doubt = self._sensors.doubt(now)
        if doubt:
            self.problem = doubt
            return 0.0
        elapsed = t - self._begin
        if elapsed > self.chirp.duration:
            self.done = True
            return 0.0
        volts = self.chirp.volts(elapsed, now.theta - self._centre)
        self._sensors.sent(volts)
        self.rows.append((elapsed, volts, now.theta, now.alpha))
        return volts

    def _rests(self, now: Measurement, t: float) -> bool:
        """Wait until the pendulum hangs still; begin there."""
        still = (abs(_from_hanging(now.alpha)) < HANGING and abs(now.theta_dot) < SLOW
                 and abs(now.alpha_dot) < SLOW)
        self._still = self._still + SAMPLE_PERIOD if still else 0.0
        self._waited += SAMPLE_PERIOD
        self._begin, self._centre = t, now.theta
        if self._waited > PATIENCE:
            self.problem = (f'the pendulum did not come to rest within {PATIENCE:g} s: alpha is '
                            f'{now.alpha:.3f} rad')
        return self._still > STILL and not self.problem

    def write(self, path: Path) -> None:
        """Write the recording, hanging at pi, as identify reads it; never over another."""
        turns = 2 * math.pi * round((self.rows[0][3] - math.pi) / (2 * math.pi))
        last = self.rows[0][3] - turns
        lines = [','.join(COLUMNS)]
        for t, volts, theta, alpha in self.rows:
            last += math.remainder(alpha - last, 2 * math.pi)  # a driver may wrap its angle
            lines.append(f'{t:.4f},{volts:.5f},{theta:.6f},{last:.6f}')
        write_new(path, '\n'.join(lines) + '\n')


def _from_hanging(alpha: float) -> float:
    """Return an angle from hanging, within half a turn."""
    return math.remainder(alpha - math.pi, 2 * math.pi)
