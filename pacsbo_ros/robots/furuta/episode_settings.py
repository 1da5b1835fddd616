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

"""How an experiment runs, what bounds it, and how it is scored."""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
import math

from pacsbo_ros.robots.furuta.backup import Backup
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.plant import SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.reward import PaperReward, QuadraticReward
from pacsbo_ros.robots.furuta.scaling import Scaling
from pacsbo_ros.robots.furuta.swing_up import SwingUp


class Start(Enum):
    """Say how the pendulum gets upright before the gains are tried."""

    UPRIGHT = 'upright'  # it is upright at the first sample, or the start has failed
    BY_HAND = 'by_hand'  # wait with zero volts until a person holds it upright
    SWING_UP = 'swing_up'  # swing it up, catch it with known gains, then hand over


@dataclass(frozen=True)
class Limits:
    """Bound what an episode may do; the first sample beyond a limit ends it."""

    alpha: float = math.radians(30)  # rad, pendulum from upright
    theta: float = math.radians(90)  # rad, arm from centre
    speed: float = 60.0  # rad/s, either joint
    voltage: float = 18.0  # V, commands are clamped to it

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f'limit {name} is {value}; it must be positive')
        if self.alpha > math.pi:
            raise ValueError(f'limit alpha is {self.alpha} rad; angles are wrapped at pi')


@dataclass(frozen=True)
class Push:
    """Kick the pendulum once, so that quiet gains differ from good ones."""

    time: float = 1.0  # s after the gains took over
    alpha_dot: float = 2.0  # rad/s

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha_dot) and self.time >= 0):
            raise ValueError(f'push of {self.alpha_dot} rad/s at {self.time} s: give a finite '
                             'size and a time of zero or more')


@dataclass(frozen=True)
class EpisodeSettings:
    """Say how an experiment runs and how it is scored."""

    duration: float = 5.0  # s under the gains that are tried
    control_every: int = 4  # samples between control updates, 50 Hz
    push: Push | None = field(default_factory=Push)
    first_swing: float = 0.4  # s after the push within which the first large swing peaks
    start: Start = Start.UPRIGHT
    start_angle: float = 0.2  # rad, upright means |alpha| and |theta| / 3 within it
    start_timeout: float = 20.0  # s to get upright
    hold_time: float = 0.5  # s upright before the gains take over
    catch_gains: Gains = PAPER_GAINS
    backup: Backup | None = None  # takes over when the gains that are tried lose the pendulum
    recovery_time: float = 5.0  # s that the backup has to calm it
    swing_up: SwingUp = field(default_factory=SwingUp)
    reward: PaperReward | QuadraticReward = field(default_factory=PaperReward)
    scaling: Scaling = field(default_factory=Scaling)
    trace: bool = False  # keep every sample for plots
    self_test: bool = False  # first see whether motor and sensors of a hanging pendulum are right
    check_sensors: bool = False  # end an episode whose sensors say what no pendulum does

    def __post_init__(self) -> None:
        if not SAMPLE_PERIOD <= self.duration <= 3600:
            raise ValueError(f'duration is {self.duration} s; use {SAMPLE_PERIOD} to 3600 s')
        if self.control_every < 1:
            raise ValueError(f'control_every is {self.control_every}; use 1 sample or more')
        if self.push is not None and self.push.time >= self.duration:
            raise ValueError(f'the push at {self.push.time} s comes after the episode of '
                             f'{self.duration} s; push earlier or not at all')
        for name in ('first_swing', 'start_angle', 'start_timeout', 'hold_time',
                     'recovery_time'):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f'{name} is {getattr(self, name)}; use a positive number')

    @property
    def samples(self) -> int:
        """Return the length of the episode in samples."""
        return round(self.duration / SAMPLE_PERIOD)

    @property
    def push_sample(self) -> int:
        """Return the sample on which the push is due; -1 without a push."""
        return -1 if self.push is None else round(self.push.time / SAMPLE_PERIOD)
