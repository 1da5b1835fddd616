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
Ask the motor a small question before the first episode, and see who answers and which way.

The pendulum hangs. Once it hangs still, the motor gets a short voltage one way, a pause, and the
same the other way. The arm has to follow in the direction of the voltage, neither too little nor
too far, and stay where it went; the pendulum has to swing against it and come back to where it
hung. A flipped motor, a flipped, frozen or missing encoder and two swapped ones all fail.
"""
from __future__ import annotations

from dataclasses import dataclass
import math

from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.plausibility import Plausibility

STILL = 0.5  # s for which the pendulum has to hang still first
HANGING = 0.15  # rad from hanging that count as that
SLOW = 0.3  # rad/s that count as still


@dataclass(frozen=True)
class Question:
    """Describe the voltage and what has to follow."""

    volts: float = 1.2  # V
    push: float = 0.1  # s of voltage, one way and the other
    pause: float = 0.6  # s of zero volts after each
    least: float = 0.02  # rad that the arm has to move
    most: float = 1.2  # rad that it may move
    patience: float = 20.0  # s to hang still

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise ValueError(f'self-test {name} is {value}; use a positive number')


class SelfTest:
    """Ask once, sample by sample; zero volts when done or when something is wrong."""

    def __init__(self, parameters: Parameters, question: Question | None = None) -> None:
        """Prepare; the model says how a pendulum answers."""
        self.question = question or Question()
        self.problem = ''  # what is wrong
        self.done = False
        self._sensors = Plausibility(parameters)
        self._waited = self._still = self._tick = 0
        self._places: list[float] = []  # of the arm: before, after one way, after the other
        self._hung = 0.0  # where the pendulum hung
        self._swing: list[float] = []  # its angles in the last pause
        self._reaction = 0.0  # rad, first swing of the pendulum, one way and minus the other

    def step(self, now: Measurement) -> float:
        """Take the state of this sample; return the voltage for the coming one."""
        if self.done or self.problem:
            return 0.0
        if not self._places:
            self._wait(now)
            return 0.0
        doubt = self._sensors.doubt(now)
        volts = self._ask(now)
        if doubt and not self.problem:
            self.problem = doubt
        volts = 0.0 if self.problem or self.done else volts
        self._sensors.sent(volts)
        return volts

    def _wait(self, now: Measurement) -> None:
        self._waited += 1
        still = (abs(_down(now.alpha)) < HANGING and abs(now.theta_dot) < SLOW
                 and abs(now.alpha_dot) < SLOW)
        self._still = self._still + 1 if still else 0
        if self._still * SAMPLE_PERIOD >= STILL:
            self._places.append(now.theta)
            self._hung = _down(now.alpha)
        elif self._waited * SAMPLE_PERIOD > self.question.patience:
            self.problem = (f'the pendulum did not hang still for {STILL} s: alpha is '
                            f'{now.alpha:.3f} rad, speeds {now.theta_dot:.2f} and '
                            f'{now.alpha_dot:.2f} rad/s')

    def _ask(self, now: Measurement) -> float:
        """Return the voltage of this moment; judge at the end of each pause."""
        ask = self.question
        moment = self._tick * SAMPLE_PERIOD
        self._tick += 1
        way = 1.0 if len(self._places) == 1 else -1.0
        swung = _down(now.alpha) - self._hung
        if moment < ask.push + 0.05:
            self._reaction += way * swung
        if moment < ask.push:
            return way * ask.volts
        if moment < ask.push + ask.pause:
            self._swing.append(swung)
            return 0.0
        self._judge(way * (now.theta - self._places[-1]))
        self._places.append(now.theta)
        self._tick = 0
        self._swing = []
        self.done = not self.problem and len(self._places) == 3
        return 0.0

    def _judge(self, moved: float) -> None:
        ask = self.question
        drift = abs(sum(self._swing) / len(self._swing))
        if moved <= -ask.least:
            self.problem = (f'{ask.volts} V moved the arm by {moved:.3f} rad, the wrong way: swap '
                            'the wires of the motor or the sign of its encoder')
        elif moved < ask.least:
            self.problem = (f'{ask.volts} V moved the arm by {moved:.3f} rad only, less than '
                            f'{ask.least} rad: is the motor off, blocked, or its encoder dead?')
        elif moved > ask.most:
            self.problem = f'{ask.volts} V moved the arm by {moved:.3f} rad, more than {ask.most}'
        elif drift > ask.least + 0.5 * moved:
            self.problem = (f'the pendulum hangs {drift:.3f} rad from where it hung: are the two '
                            'encoders swapped?')
        elif self._reaction >= 0.0:
            self.problem = ('the pendulum swung with the arm, not against it: is its encoder '
                            'flipped or dead?')


def _down(alpha: float) -> float:
    """Return an angle from hanging, within half a turn."""
    angle = alpha - math.pi
    return angle - 2 * math.pi * round(angle / (2 * math.pi))
