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
The recorded window of an episode: every signal with its own stamps.

    t  (n,)  s since the window began, strictly increasing      y  (n,)  the signal

A sample belongs to the time at which it was made, which its stamp tells, not to that at which it
came: a message that waited somewhere tells of the past.
"""
from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEWEST = 3  # samples that a metric can be made of


class WindowError(ValueError):
    """A recording from which nothing may be learnt, and why."""


@dataclass(frozen=True)
class Series:
    """One recorded signal."""

    t: Array
    y: Array

    def __post_init__(self) -> None:
        if self.t.shape != self.y.shape or len(self.t) < FEWEST:
            raise WindowError(f'{len(self.t)} samples are too few')
        if np.any(np.diff(self.t) <= 0):
            raise WindowError('the stamps do not increase')

    def at(self, t: Array) -> Series:
        """Return the signal between its samples, at these times; none beyond its ends."""
        inside = t[(t >= self.t[0]) & (t <= self.t[-1])]
        return Series(inside, np.interp(inside, self.t, self.y))


def together(a: Series, b: Series) -> tuple[Series, Series]:
    """Return two signals at the same times: those of the more often sampled one."""
    if a.t is b.t or np.array_equal(a.t, b.t):
        return a, b
    finer = a if len(a.t) >= len(b.t) else b
    start, end = max(a.t[0], b.t[0]), min(a.t[-1], b.t[-1])
    t = finer.t[(finer.t >= start) & (finer.t <= end)]
    return a.at(t), b.at(t)


class Recorder:
    """Collect the samples of one signal from when it is opened."""

    def __init__(self, name: str, timeout: float) -> None:
        """Know the signal's name and for how long it may be silent [s]."""
        self.name = name
        self.timeout = timeout
        self._stamps: list[float] = []
        self._values: list[float] = []
        self._last = self._opened = -math.inf
        self._is_open = False
        self.newest = math.nan
        self.peak = 0.0
        self.invalid = ''

    def open(self, now: float) -> None:  # noqa: A003
        """Begin a window; silence counts from now."""
        self._stamps, self._values, self.peak, self.invalid = [], [], 0.0, ''
        self._last, self._opened = max(self._last, now), now
        self._is_open = True

    def close(self) -> None:
        """End the window: what comes later is only looked at."""
        self._is_open = False

    def add(self, made: float, value: float) -> None:
        """Take a sample that was made at this time."""
        if not math.isfinite(value):
            if self._is_open:
                self.invalid = self.invalid or f'{self.name} is {value}'
            return
        self._last, self.newest = max(self._last, made), value
        if not self._is_open or made < self._opened:
            return  # on its way when the window opened: it tells of what was before
        if self._stamps and made <= self._stamps[-1]:
            return  # of two messages in one instant the first counts
        self.peak = max(self.peak, abs(value))
        self._stamps.append(made)
        self._values.append(value)

    def reaches(self, until: float) -> bool:
        """Tell whether a sample was made then or later."""
        return bool(self._stamps) and self._stamps[-1] >= until

    def span(self, since: float) -> float:
        """Return how far the signal has moved since a time in the open window."""
        values = [v for made, v in zip(self._stamps, self._values, strict=True) if made >= since]
        return max(values) - min(values) if values else 0.0

    def age(self, now: float) -> float:
        """Return the time since the last sample was made, or since the window was opened."""
        return now - self._last

    def complaint(self, now: float) -> str:
        """Say why this signal cannot be trusted now; empty if it can."""
        if self.invalid:
            return self.invalid
        age = self.age(now)
        return (f'{self.name} is silent, or late, for {age:.2f} s (if the clock of who publishes '
                'it was set back, call arm)') if age > self.timeout else ''

    def series(self, start: float, duration: float = math.inf) -> Series:
        """Return what was made since a time; WindowError if it has gaps or stands still."""
        t, y = np.array(self._stamps) - start, np.array(self._values)
        inside = (t >= 0) & (t <= duration)
        t, y = t[inside], y[inside]
        if len(t) < FEWEST:
            raise WindowError(f'{self.name} has only {len(t)} samples; lengthen the episode or '
                              'publish more often')
        gap = float(np.max(np.diff(t)))
        if gap > self.timeout:
            raise WindowError(f'{self.name} has a gap of {gap:.2f} s, more than its timeout of '
                              f'{self.timeout:g} s')
        return Series(t, y)


def frozen(window: dict[str, Series]) -> bool:
    """Tell whether not a single signal changed during the whole window."""
    return bool(window) and all(float(np.ptp(s.y)) == 0.0 for s in window.values())
