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
Steps that respect what is not known: how far from measured ground a new point may lie.

  symbol   meaning                                                              shape
  reach    longest step beyond a point that was measured safe [length scales]   scalar
  near     distance of every candidate to the nearest safe sample               (G,)
  inside   candidates in the convex hull of the safe samples                    (G,) bool

A band is as good as its model, and a model cannot see a cliff. Whatever the band says, a new point
lies in the hull of the points that were measured safe or at most `reach` beyond one of them. The
reach begins with `Settings.step`; every experiment that comes out no worse than the middle between
mean and lower end of its band makes it GROWTH times longer, every other one half as long, down to
LEAST of the first. With step = 0 there is no limit.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.domains import Hull, MOST_DIRECTIONS
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import Settings
from scipy.spatial.distance import cdist

GROWTH = 1.25
SHRINK = 0.5
LEAST = 1 / 16
ON_HULL = 1e-9  # unit-cube lengths


class StepLimit:
    """Know how far a new point may go."""

    def __init__(self, settings: Settings) -> None:
        self.step = self.reach = settings.step
        self._scales = np.array(settings.kernels()[0].length_scales)
        self._h_min = np.array(settings.thresholds)
        self._safe = np.empty((0, settings.dimension))
        self._hull: Hull | None = None
        self._near, self._inside = np.empty(0), np.empty(0, dtype=bool)

    @property
    def off(self) -> bool:
        """Tell whether there is no limit."""
        return not self.step

    def judge(self, values: Array, expected: Band) -> None:
        """Compare an experiment with the band that was there before it."""
        free = np.isfinite(self._h_min)
        middle = 0.5 * (expected.mu[free, 0] + expected.low[free, 0])
        if np.all(values[free] >= middle):
            self.reach *= GROWTH
        else:
            self.reach = max(SHRINK * self.reach, LEAST * self.step)

    def add(self, x: Array, safe: bool, X: Array | None) -> None:
        """Take one sample; X are the candidates, if they are laid out."""
        if not safe:
            return
        self._safe = np.vstack([self._safe, x])
        if len(x) <= MOST_DIRECTIONS:  # above, only what is near counts
            self._hull = self._hull.with_sample(x) if self._hull else Hull(x[None], 0.0)
        if X is not None and len(self._near):
            np.minimum(self._near, self._distance(X, x[None]), out=self._near)

    def lay_out(self, X: Array) -> None:
        """Measure the candidates."""
        self._near = self._distance(X, self._safe)
        self._inside = np.zeros(len(X), dtype=bool)

    def replace(self, where: slice, X: Array) -> None:
        """Measure candidates that were drawn again."""
        self._near[where], self._inside[where] = self._distance(X[where], self._safe), False

    def allowed(self, X: Array, S: np.ndarray) -> np.ndarray:
        """Return those of the candidates S that are within reach or inside the hull, (G,) bool."""
        within = self._near <= self.reach
        open_ = np.flatnonzero(S & ~within & ~self._inside)
        if len(open_) and self._hull is not None:
            self._inside[open_] = self._hull.level(X[open_]) <= ON_HULL
        return S & (within | self._inside)

    def allowed_at(self, X: Array) -> np.ndarray:
        """Return the same for any points."""
        within = self._distance(X, self._safe) <= self.reach
        return within if self._hull is None else within | (self._hull.level(X) <= ON_HULL)

    def _distance(self, X: Array, Z: Array) -> Array:
        if not len(Z):
            return np.full(len(X), np.inf)
        return np.asarray(cdist(X / self._scales, Z / self._scales).min(axis=1))
