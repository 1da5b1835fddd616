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
Tell a sensor that lies from a pendulum that falls.

Symbol      Meaning
p, q        predicted change of a joint's speed [rad/s], by the equations of motion at the measured
            state and the voltage sent, after a lag like that of the speeds' filter; measured one
s           likeness 2 sum(p q) / (sum(p p) + sum(q q)), in [-1, 1]: 1 for a perfect model, 0 for
            an unmoved joint, below 0 for one that answers the wrong way

Five doubts, none of which the gains can cause:

    jump            an angle moved further within a sample than any speed allows
    contradiction   an angle and the integral of its speed went apart
    frozen          an angle did not move by one count while the equations moved it by many
    wrong way       the likeness of a joint fell below ANSWER: a flipped sensor or motor
    dead            neither angle moved by one count for REST

and three that are asked before a fall is held against the gains. Shortly before it, the equations
went with what was measured much better than the equations as they are

    swapped         with the two joints exchanged
    off             without the voltage: the motor, or the way to it, is dead
    flipped         with the voltage turned round

The model is that of the preset; ANSWER and RIVAL leave room for one that is wrong by a factor.
"""
from __future__ import annotations

import math

from pacsbo_ros.robots.furuta.dynamics import accelerations
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import filter_coefficients, Measurement, SAMPLE_PERIOD

FASTEST = 120.0  # rad/s, twice the speed that ends an episode
LAG = 50.0  # rad/s, cut-off of the filter that speeds usually have
SPAN = 20  # samples over which an angle is compared with its speed
SLACK = 0.12  # rad by which they may differ, and what the filter's lag adds:
LAGGED = 0.03  # s
REST = 1.0  # s for which a balanced pendulum may rest on one count of both encoders
MOVED = 0.15  # rad that the model has to have moved before a resting angle is called frozen
ANSWER = -0.35  # least likeness
PUSHED = 0.1  # rad/s within a sample; what is more, and not by the motor, is somebody's push
EXCITED = 0.3  # (rad/s)^2 of predicted changes before the likeness says anything
LEAST = 10  # samples before it does
RIVAL = 0.45  # least squared error of another explanation over that of the equations as they are
FORGET = 0.95  # share of these errors that is kept from one sample to the next
# Other explanations: are the joints exchanged, what multiplies the voltage, and in words.
RIVALS = ((True, 1.0, 'the two angles exchanged would make sense; are the encoders swapped?'),
          (False, 0.0, 'the motor does not answer; is it off, or does no command reach it?'),
          (False, -1.0, 'the motor answers the wrong way; has somebody changed its wires?'))


class Plausibility:
    """Judge one episode sample by sample."""

    def __init__(self, parameters: Parameters) -> None:
        """Prepare for a first sample with zero volts before it."""
        self._model = parameters.coefficients
        self._pole = filter_coefficients(LAG)[0]
        self.reset()

    def reset(self) -> None:
        """Forget what was seen, for example while a person held the pendulum."""
        self._last: Measurement | None = None
        self._volts = 0.0
        self._changes = [0.0, 0.0]  # p
        self._rivals = [[0.0, 0.0] for _ in RIVALS]  # p by other explanations
        self._errors = [0.0] * (1 + len(RIVALS))  # of p and of those, squared, of late
        self._sums = [[0.0, 0.0], [0.0, 0.0]]  # of p q and of p p + q q, of each joint
        self._samples = 0
        self._past: list[tuple[float, float, float, float]] = []
        self._resting = [0, 0]  # samples without a change of the angle
        self._free = [[0.0, 0.0], [0.0, 0.0]]  # where and how fast the model is since then

    def doubt(self, now: Measurement) -> str:
        """Take in the state of this sample; say what speaks against it, or nothing."""
        last, self._last = self._last, now
        if last is None:
            return ''
        self._samples += 1
        free = accelerations(last.theta, math.sin(last.alpha), math.cos(last.alpha),
                             last.theta_dot, last.alpha_dot, self._volts, self._model)
        return (self._jump(last, now) or self._contradiction(last, now)
                or self._frozen(last, now, free) or self._wrong_way(last, now, free))

    def sent(self, volts: float) -> None:
        """Take in the voltage for the coming sample."""
        self._volts = volts

    def _jump(self, last: Measurement, now: Measurement) -> str:
        """Compare two samples; what did not move before may have been late by as many."""
        for name, i in (('theta', 0), ('alpha', 1)):
            step = abs(_turned(now[i] - last[i]) if i else now[i] - last[i])
            if step > FASTEST * SAMPLE_PERIOD * (1 + min(self._resting[i], 12)):
                return f'{name} jumped by {step:.3f} rad within a sample'
        return ''

    def _contradiction(self, last: Measurement, now: Measurement) -> str:
        """Compare angles with the integrals of their speeds over the last samples."""
        moved = (now.theta - last.theta, _turned(now.alpha - last.alpha))
        self._past.append((moved[0], moved[1], now.theta_dot, now.alpha_dot))
        if len(self._past) < SPAN:
            return ''
        found = ''
        for name, i in (('theta', 0), ('alpha', 1)):
            speeds = [row[2 + i] for row in self._past]
            apart = abs(sum(row[i] for row in self._past) - SAMPLE_PERIOD * sum(speeds))
            if apart > SLACK + LAGGED * max(map(abs, speeds)):
                found = (f'{name} and its speed contradict each other by {apart:.3f} rad within '
                         f'{SPAN * SAMPLE_PERIOD:.2f} s')
        del self._past[0]
        return found

    def _frozen(self, last: Measurement, now: Measurement, free: tuple[float, float]) -> str:
        """Let the model go on from where an angle came to rest; it must not come far."""
        for name, i in (('theta', 0), ('alpha', 1)):
            if now[i] != last[i]:
                self._resting[i] = 0
                self._free[i] = [0.0, 0.0]
                continue
            self._resting[i] += 1
            place, speed = self._free[i]
            self._free[i] = [place + SAMPLE_PERIOD * speed, speed + SAMPLE_PERIOD * free[i]]
            if abs(place) > MOVED:
                return (f'{name} has not moved for {self._resting[i] * SAMPLE_PERIOD:.2f} s, '
                        f'although it should have by {abs(place):.2f} rad')
        if min(self._resting) * SAMPLE_PERIOD >= REST:
            return f'no sensor has moved for {REST:g} s'
        return ''

    def _wrong_way(self, last: Measurement, now: Measurement, free: tuple[float, float]) -> str:
        """Compare the changes of the speeds with those of the model."""
        wrong = 0.0
        found = ''
        for name, i in (('theta', 0), ('alpha', 1)):
            p = self._changes[i] = (self._pole * self._changes[i]
                                    + (1 - self._pole) * SAMPLE_PERIOD * free[i])
            most = PUSHED + 3 * abs(p)
            q = max(-most, min(most, now[2 + i] - last[2 + i]))
            wrong += (p - q) ** 2
            sums = self._sums[i]
            sums[0] += 2 * p * q
            sums[1] += p * p + q * q
            if (self._samples >= LEAST and sums[1] > EXCITED
                    and sums[0] < ANSWER * sums[1]):
                found = (f'{name} answers the voltage the wrong way (likeness '
                         f'{sums[0] / sums[1]:.2f}); is a sensor or the motor flipped or swapped?')
        now_wrong = (wrong, *(self._wrong_if(last, now, *rival) for rival in enumerate(RIVALS)))
        self._errors = [FORGET * old + new
                        for old, new in zip(self._errors, now_wrong, strict=True)]
        return found

    def _wrong_if(self, last: Measurement, now: Measurement, number: int,
                  rival: tuple[bool, float, str]) -> float:
        """Return the squared error of the model if another explanation were true."""
        exchanged, factor, _ = rival
        if exchanged:
            last = Measurement(last.alpha, last.theta, last.alpha_dot, last.theta_dot)
            now = Measurement(now.alpha, now.theta, now.alpha_dot, now.theta_dot)
        free = accelerations(last.theta, math.sin(last.alpha), math.cos(last.alpha),
                             last.theta_dot, last.alpha_dot, factor * self._volts, self._model)
        changes, wrong = self._rivals[number], 0.0
        for i in (0, 1):
            p = changes[i] = (self._pole * changes[i]
                              + (1 - self._pole) * SAMPLE_PERIOD * free[i])
            most = PUSHED + 3 * abs(p)
            wrong += (p - max(-most, min(most, now[2 + i] - last[2 + i]))) ** 2
        return wrong

    def doubt_of_fall(self) -> str:
        """Say what speaks against believing the fall that was just measured, or nothing."""
        straight, *others = self._errors
        best, words = min(zip(others, (words for *_, words in RIVALS), strict=True))
        return words if self._samples >= LEAST and best < RIVAL * straight else ''


def _turned(angle: float) -> float:
    """Return an angle without whole turns: a pendulum may go round."""
    return angle - 2 * math.pi * round(angle / (2 * math.pi))
