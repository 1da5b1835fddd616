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
Turn what an episode measured into numbers that suit a Gaussian process.

    reward      max(-1, (reward - offset) / scale)
    angle       gain (1 - peak/limit)                              it ran to its end
                -max(share of the episode that was cut off / 4, 0.001)   it was lost
    arm         max(-1, 1 - peak/limit)
    stability   decay rate / rate_scale, within [-1, 2]            see robots/stability.py
    swing       the smaller of 1 - largest later swing / first swing and 1 - alpha in the last
                second / a quarter of its limit, at least -1

A fall is a jump: on the lower edge of the gains max|alpha| is that of the push until the pendulum
drops. What tells the edge from afar is how well the loop forgets the push: its slowest pole, and
how much of the first large swing is left in the next. Both cross zero where the loop is lost. An
episode is lost when a limit was violated or the backup took over. Then all three are slightly
negative, more so the earlier it was cut off: a large negative number would be a cliff, after which
the model trusts nothing. That it was lost is certain, and swing says so; how far angle and
stability are below zero nobody measured, so they are known to within LOST, and what was cut off
says next to nothing of the reward.

angle is >= 0 exactly if the episode was not lost. stability and swing are also negative for
loops that shake within the limits and never fall; with cycles_are_safe that counts as safe, and
both are then bent so that they only approach zero. What was not excited is not judged: both are 1.
docs/furuta.md shows the numbers behind the defaults.
"""
from __future__ import annotations

from dataclasses import dataclass
import math

from pacsbo_ros.robots.stability import Estimate

CONSTRAINTS = ('angle', 'arm', 'stability', 'swing')
LOST = 0.25  # minus the value of an episode that was lost at once
CUT_OFF = 1.0  # noise of the reward of an episode that was lost
REST = 0.25  # share of the angle limit in the last second that is no rest
BEND = 0.1  # value below which a shaking loop that counts as safe is bent towards zero


@dataclass(frozen=True)
class Seen:
    """Hold what an episode measured, each number with its noise, as Scaling takes it."""

    reward: Estimate
    alpha: Estimate  # largest share of the limit
    theta: Estimate  # largest share of the limit
    decay: Estimate | None  # 1/s; None: not excited
    swing: Estimate | None  # later over first swing; None: no push, or cut off too early
    rest: float | None  # largest share of the angle limit in the last second; None: too early
    cut_off: float | None  # share of the episode that is missing because it was lost; None: none


@dataclass(frozen=True)
class Scaling:
    """Map reward and margins to values of order one."""

    reward_offset: float = 0.95  # reward that maps to zero
    reward_scale: float = 0.04  # reward difference that maps to one
    angle_gain: float = 2.0
    rate_scale: float = 2.5  # 1/s that map to one
    cycles_are_safe: bool = False  # a loop may shake for ever within the limits
    least_noise: float = 0.02  # of every value: what an episode cannot know of itself

    def __post_init__(self) -> None:
        for name in ('reward_scale', 'angle_gain', 'rate_scale', 'least_noise'):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f'scaling {name} is {getattr(self, name)}; use a positive '
                                 'number')
        if not math.isfinite(self.reward_offset):
            raise ValueError(f'scaling reward_offset is {self.reward_offset}; use a finite '
                             'number')

    def values(self, seen: Seen) -> tuple[float, ...]:
        """Return the reward and the constraints as the optimiser sees them."""
        reward = max(-1.0, (seen.reward.value - self.reward_offset) / self.reward_scale)
        arm = max(-1.0, 1.0 - seen.theta.value)
        if seen.cut_off is not None:
            lost = -max(LOST * seen.cut_off, 0.001)
            return reward, lost, arm, lost, lost
        angle = self.angle_gain * (1.0 - seen.alpha.value)
        stability = swing = 1.0
        if seen.decay is not None:
            stability = max(-1.0, min(2.0, seen.decay.value / self.rate_scale))
        if seen.swing is not None:
            swing = max(-1.0, 1.0 - seen.swing.value)
        if seen.rest is not None:
            swing = max(-1.0, min(swing, 1.0 - seen.rest / REST))
        if self.cycles_are_safe:
            stability, swing = _bend(stability), _bend(swing)
        return reward, angle, arm, stability, swing

    def noise(self, seen: Seen) -> tuple[float, ...]:
        """Return the standard deviations of the values, each by the episode's own estimate."""
        decay = 0.0 if seen.decay is None else seen.decay.noise / self.rate_scale
        swing = 0.0 if seen.swing is None else seen.swing.noise
        own = (seen.reward.noise / self.reward_scale, self.angle_gain * seen.alpha.noise,
               seen.theta.noise, decay, swing)
        if seen.cut_off is not None:
            own = CUT_OFF, LOST, seen.theta.noise, LOST, 0.0
        return tuple(min(1.0, math.hypot(self.least_noise, noise)) for noise in own)


def _bend(value: float) -> float:
    """Return a value of the same slope at BEND that stays positive."""
    return value if value >= BEND else BEND * math.exp(value / BEND - 1.0)


def wrap(angle: float) -> float:
    """Return the angle within [-pi, pi]; angles already inside stay bit for bit the same."""
    return angle - 2 * math.pi * round(angle / (2 * math.pi))
