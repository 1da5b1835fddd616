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

"""How regular a control loop runs."""
from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Timing(NamedTuple):
    """Periods of the last few seconds [ms], and how many were late since the start."""

    p50: float
    p99: float
    worst: float
    overruns: int


class LoopTiming:
    """Keep the last periods of a loop and count those that were more than half too long."""

    def __init__(self, period: float, length: int = 2000) -> None:
        """Expect one note every `period` seconds; remember `length` of them."""
        self._late = 1.5 * period
        self._periods: deque[float] = deque(maxlen=length)
        self._last: float | None = None
        self._overruns = 0

    def note(self, now: float) -> float:
        """Note the start of a turn of the loop; return the seconds since the one before."""
        elapsed = 0.0
        if self._last is not None:
            elapsed = now - self._last
            self._periods.append(elapsed)
            self._overruns += elapsed > self._late
        self._last = now
        return elapsed

    def report(self) -> Timing:
        """Return the timing so far; zeros before the second turn."""
        ordered = sorted(self._periods) or [0.0]
        last = len(ordered) - 1
        return Timing(1e3 * ordered[last // 2], 1e3 * ordered[round(0.99 * last)],
                      1e3 * ordered[last], self._overruns)
