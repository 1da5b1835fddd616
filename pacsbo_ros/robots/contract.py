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
What a robot is, free of ROS.

A robot says what can be tuned, what it measures and what it promises, and runs episodes:

    begin(values, seed) -> tick(), tick(), ... until the sample says that it is over -> result()

stop() is allowed at any time and leaves the actuators off. A robot whose loop is elsewhere, for
example in another ROS node, has ticks that only watch.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Refusal(Exception):
    """An episode that is not begun, and why."""


class RobotError(RuntimeError):
    """The robot cannot do its work; its actuators are off."""


class Outcome(IntEnum):
    """Say how an episode ended; the numbers are those of the ROS message."""

    COMPLETED = 0
    TRIPPED = 1
    CAUGHT = 2
    INVALID_COMMAND = 3
    INVALID_STATE = 4
    ABORTED_BY_MONITOR = 5
    CANCELLED = 6
    INFRASTRUCTURE = 7
    START_FAILED = 8

    @property
    def sentence(self) -> str:
        """Return the one sentence that explains this outcome to a person."""
        return _SENTENCES[self]


_SENTENCES = {
    Outcome.COMPLETED: 'The episode ran to its end within all limits.',
    Outcome.TRIPPED: 'A signal passed its limit; the actuators were switched off.',
    Outcome.CAUGHT: 'Known-safe values took over before a limit was passed.',
    Outcome.INVALID_COMMAND: 'The command was not finite; the actuators were switched off.',
    Outcome.INVALID_STATE: 'The measured state was missing, stale, frozen or not plausible.',
    Outcome.ABORTED_BY_MONITOR: 'The safety monitor ended the episode.',
    Outcome.CANCELLED: 'The episode was cancelled on request.',
    Outcome.INFRASTRUCTURE: 'Software or driver failed; this says nothing about the values.',
    Outcome.START_FAILED: 'The robot never reached its start, so nothing was tried.',
}


@dataclass(frozen=True)
class Tunable:
    """A value that a goal may set; the tuned ones of a run are a subset."""

    name: str
    unit: str
    lower: float
    upper: float
    default: float
    node: str = ''  # whose ROS parameter it is, for the file of best values; empty: nobody's
    parameter: str = ''  # what it is called there; empty: as here

    def __post_init__(self) -> None:
        if not self.lower <= self.default <= self.upper:
            raise ValueError(f'{self.name}: default {self.default:g} is outside '
                             f'[{self.lower:g}, {self.upper:g}]')


@dataclass(frozen=True)
class Signal:
    """A quantity that is measured on every tick, watched and traced."""

    name: str
    unit: str
    limit: float | None = None  # an episode ends when |signal| passes it

    def __post_init__(self) -> None:
        if self.limit is not None and not self.limit > 0:
            raise ValueError(f'limit of {self.name} is {self.limit}; it must be positive')


@dataclass(frozen=True)
class RewardScale:
    """How a reward becomes what the optimiser sees: max(-1, (reward - offset) / scale)."""

    offset: float = 0.0
    scale: float = 1.0
    unit: str = ''

    def __post_init__(self) -> None:
        if not (0 < self.scale < math.inf and math.isfinite(self.offset)):
            raise ValueError(f'reward offset {self.offset}, scale {self.scale}: give a finite '
                             'offset and a positive scale')

    def scaled(self, reward: float) -> float:
        """Return the reward as the optimiser sees it."""
        return max(-1.0, (reward - self.offset) / self.scale)

    def reward(self, scaled: float) -> float:
        """Return the reward that the optimiser sees as `scaled`; works on arrays too."""
        return self.offset + self.scale * scaled


@dataclass(frozen=True)
class Description:
    """All that others need to know of a robot."""

    name: str
    tunables: tuple[Tunable, ...]
    signals: tuple[Signal, ...]
    commands: tuple[Signal, ...]
    constraints: tuple[str, ...]  # margins >= 0 are safe
    reward: RewardScale = RewardScale()
    plant: str = ''

    def tunable(self, name: str) -> Tunable:
        """Return the tunable of that name; ValueError names those that there are."""
        for tunable in self.tunables:
            if tunable.name == name:
                return tunable
        raise ValueError(f'{name} is not a value of {self.name}; it has '
                         f'{", ".join(t.name for t in self.tunables)}')

    def complete(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return all values by name, defaults filled in; Refusal if one is unknown or outside."""
        for name, value in values.items():
            try:
                t = self.tunable(name)
            except ValueError as error:
                raise Refusal(error) from error
            if not t.lower <= value <= t.upper:
                raise Refusal(f'{name} is {value:.4g}, outside [{t.lower:g}, {t.upper:g}]')
        return {t.name: float(values.get(t.name, t.default)) for t in self.tunables}


@dataclass(frozen=True)
class Sample:
    """One turn of the loop."""

    time: float  # s since the episode began, by the robot's clock
    signals: tuple[float, ...]
    commands: tuple[float, ...]
    over: bool = False
    starting: bool = False  # the robot still gets to its start: nothing is judged yet
    age: float = 0.0  # s since the signals were measured
    ended: bool = False  # nothing is driven any more, but what was changed is not back yet


@dataclass(frozen=True)
class EpisodeResult:
    """Report what an episode showed."""

    outcome: Outcome
    reason: str
    is_datum: bool  # says something about the values, so that the optimiser is told
    reward: float
    scaled_reward: float
    margins: tuple[float, ...]  # scaled, one per constraint; >= 0 is safe
    noise: tuple[float, ...]  # standard deviations of scaled reward and margins; empty: unknown
    peaks: tuple[float, ...]  # largest |signal|
    duration: float  # s
    trace: NDArray[np.float64] | None = None  # (rows, 1 + signals + commands), time first
    wants_person: bool = False  # nobody knows its state: someone has to look before it moves again


class Robot(Protocol):
    """Anything whose values can be tuned by episodes; RobotError where it cannot go on."""

    period: float  # s between two ticks

    @property
    def waits(self) -> bool:
        """Tell whether it stands still between ticks, as a simulation does."""

    @property
    def description(self) -> Description:
        """Return what the robot is; constant."""

    def idle(self) -> Sample:
        """Measure while no episode runs, the actuators off."""

    def begin(self, values: Mapping[str, float], seed: int, duration: float = 0.0) -> None:
        """Start an episode with these values; Refusal if it must not be."""

    def tick(self) -> Sample:
        """Read, decide, write: one turn of the loop."""

    def stop(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        """Switch the actuators off and end a running episode; always allowed."""

    def result(self) -> EpisodeResult:
        """Return what the last episode showed."""

    def close(self) -> None:
        """Switch the actuators off and let go; may be called twice."""


def run_episode(robot: Robot, values: Mapping[str, float], seed: int) -> EpisodeResult:
    """Run one episode as fast as the robot answers, with its actuators off at the end."""
    robot.begin(values, seed)
    try:
        while not robot.tick().over:
            pass
    except BaseException:
        robot.close()  # it may not be fit to take another command
        raise
    return robot.result()
