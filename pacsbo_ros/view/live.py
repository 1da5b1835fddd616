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
What the live page knows of the graph: written by the ROS thread, read by every open page.

A reader takes one reference to an immutable Snapshot and never waits for a writer. The messages
in it are the newest of their topics, untouched; None until the first one has come.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
import math
import threading
import time
from typing import Any, NamedTuple

from pacsbo_ros.view.palette import SILENT
from pacsbo_ros.view.slices import Slices

SILENCE = 0.5  # s without a verdict after which the monitor counts as silent
EVENTS_KEPT = 200


class Event(NamedTuple):
    """One line of the log."""

    number: int
    time: str  # hh:mm:ss
    level: str  # info, good, warn or bad
    text: str


class Told(NamedTuple):
    """One told episode of the history."""

    reward: float
    safe: bool
    margins: tuple[float, ...] = ()  # scaled, by constraint; empty if unknown
    peaks: tuple[float, ...] = ()  # largest |signal|, by signal; empty if unknown
    best: float = math.nan  # reading of what the run called its best then; NaN if unknown
    role: str = ''  # why it was tried; empty if unknown


@dataclass(frozen=True)
class Snapshot:
    """Hold everything a page shows, at one moment."""

    safety: Any = None  # SafetyStatus
    safety_seen: float = -math.inf  # steady clock [s]
    robot: Any = None  # Robot
    controller: Any = None  # ControllerState
    optimizer: Any = None  # OptimizerState
    optimizer_gone: bool = False  # it spoke once, and nobody publishes its state now
    candidate: Any = None  # Candidate
    slices: Slices | None = None
    told: dict[int, Told] = field(default_factory=dict)  # by iteration, never changed in place
    newest: dict[str, float] = field(default_factory=dict)  # signals, the newest finite values

    def verdict(self, now: float) -> int:
        """Return the monitor's state, or SILENT."""
        return self.safety.state if now - self.safety_seen < SILENCE else SILENT


class Live:
    """Keep the newest snapshot and the last events."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.snapshot = Snapshot()
        self._lock = threading.Lock()
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._count = 0

    def say(self, text: str, level: str = 'info') -> None:
        """Add a line to the log; any thread may."""
        with self._lock:
            self._count += 1
            self._events.append(Event(self._count, datetime.now().strftime('%H:%M:%S'), level,
                                      text))

    def events(self, after: int = 0) -> list[Event]:
        """Return the events that came after a number."""
        with self._lock:
            return [event for event in self._events if event.number > after]

    # Messages, all in the ROS thread.

    def see_safety(self, message: Any) -> None:
        """Take in a verdict of the monitor."""
        fresh = {name: value for name, value in zip(message.signals, message.newest, strict=False)
                 if math.isfinite(value)}
        self._update(safety=message, safety_seen=time.monotonic(),
                     newest={**self.snapshot.newest, **fresh})

    def see_robot(self, message: Any) -> None:
        """Take in what the robot is."""
        self._update(robot=message)

    def see_controller(self, message: Any) -> None:
        """Take in a heartbeat of what runs the episodes."""
        self._update(controller=message)

    def see_candidate(self, message: Any) -> None:
        """Take in a new candidate."""
        self._update(candidate=message)

    def see_presence(self, present: bool) -> None:
        """Take in whether there is an optimiser at all."""
        self._update(optimizer_gone=self.snapshot.optimizer is not None and not present)

    def see_optimizer(self, message: Any) -> None:
        """Take in the progress of the run; another run's history is forgotten."""
        old = self.snapshot.optimizer
        if old is None or old.run_id != message.run_id:
            self._update(slices=None, told={})
        if message.iteration:
            known, c = self.snapshot.told.get(message.iteration), self.snapshot.candidate
            tried = (c is not None and (c.run_id, c.iteration)
                     == (message.run_id, message.iteration))
            self._tell([(message.iteration, Told(
                message.reward, message.margin >= 0, tuple(message.margins),
                tuple(message.peaks), message.best_reward,
                c.role if tried else known.role if known else ''))])
        self._update(optimizer=message)

    def see_slices(self, slices: Slices) -> None:
        """Take in a map; it also tells of episodes from before this page was opened."""
        known = self.snapshot.told
        self._tell((i, known.get(i, Told(float(reward), bool(safe), tuple(margins),
                                         tuple(peaks))))
                   for i, (reward, safe, margins, peaks) in enumerate(
                       zip(slices.sample_reward, slices.sample_safe,
                           slices.sample_margins.tolist(), slices.sample_peaks.tolist(),
                           strict=True), start=1))
        self._update(slices=slices)

    def _tell(self, items: Iterable[tuple[int, Told]]) -> None:
        self._update(told=dict(sorted({**self.snapshot.told, **dict(items)}.items())))

    def _update(self, **changes: Any) -> None:
        self.snapshot = replace(self.snapshot, **changes)
