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

"""What the safety monitor allows."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
import math


@dataclass(frozen=True)
class Watched:
    """A measured signal and how far it may go while an episode runs."""

    name: str
    limit: float
    unit: str = ''
    wrap: bool = False  # an angle that counts modulo a turn
    from_start: bool = True  # is judged while the robot still gets to its start, too
    source: str = ''  # what brings it; signals of one source are measured together
    mechanics: float = math.inf  # where the robot itself ends

    def __post_init__(self) -> None:
        if not self.limit > 0:
            raise ValueError(f'safety limit of {self.name} is {self.limit}; it must be positive')
        if not self.limit < self.mechanics and math.isfinite(self.mechanics):
            raise ValueError(f'safety limit of {self.name} is {self.limit:g} {self.unit}, but the '
                             f'robot ends at {self.mechanics:g}; stop it before that')

    def seen(self, value: float) -> float:
        """Return the value as it is judged."""
        turn = 2 * math.pi
        return value - turn * round(value / turn) if self.wrap else value


@dataclass(frozen=True)
class SafetyLimits:
    """What the monitor allows, independent of what the robot's own node was told."""

    signals: tuple[Watched, ...]
    commands: tuple[Watched, ...] = ()  # what the node says it sends
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # their ranges
    state_age: float = 0.5  # s, newest measurement of every source
    heartbeat_age: float = 0.5  # s, newest heartbeat of the robot's node
    operator_age: float | None = None  # s, operator's newest heartbeat; None: none is needed
    candidate_grace: float = 0.5  # s for which candidate and episode may differ
    stop_grace: float = 0.5  # s after a stop within which all commands have to be zero

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, float) and not value > 0:
                raise ValueError(f'safety limit {item.name} is {value}; it must be positive')
        for name, (low, high) in self.values.items():
            if not low <= high:
                raise ValueError(f'range of {name} is {low} to {high}: give the lower one first')

    def contradictions(self, signals: Mapping[str, float], commands: Mapping[str, float],
                       values: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
        """
        Return where the robot's own limits are not within these, a line each.

        The robot ends an episode by itself before the monitor stops it (constraint = trip <
        monitor < mechanics), and takes no value that the monitor would stop.
        """
        found = []
        for watched in self.signals:
            own = signals.get(watched.name, math.nan)
            if own >= watched.limit:
                found.append(f'{watched.name}: the robot ends an episode at {own:g} '
                             f'{watched.unit}, the monitor stops it at {watched.limit:g}; the '
                             'first has to be less')
        for watched in self.commands:
            own = commands.get(watched.name, math.nan)
            if own > watched.limit:
                found.append(f'{watched.name}: the robot sends up to {own:g} {watched.unit}, the '
                             f'monitor stops it beyond {watched.limit:g}')
        for name, (low, high) in self.values.items():
            own_low, own_high = values.get(name, (low, high))
            if own_low < low or own_high > high:
                found.append(f'{name}: the robot takes {own_low:g} to {own_high:g}, the monitor '
                             f'allows {low:g} to {high:g}')
        return tuple(found)
