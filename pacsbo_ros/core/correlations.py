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
Correlations of the measured points with each other and with the candidates, kept as they grow.

  symbol    meaning                                             shape
  C         correlation of random functions, see `convolution`
  M         C of the distinct points                            (N, N)
  K         C of the points with the candidates                 (N, G)
  epoch     how often the machine had changed when a point was  (N,)
            measured; candidates are of the last epoch

What was measured before a change tells less about what is now: every epoch between two points
multiplies their correlation by CARRY, as if h' = CARRY·h + sqrt(1 - CARRY²)·g with another random
function g of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pacsbo_ros.core.arrays import doubled
from pacsbo_ros.core.convolution import Convolution
from pacsbo_ros.core.kernels import Array, Kernel

CARRY = 0.5


class Correlations:
    """Keep C of the distinct points and of them with the candidates while points arrive."""

    def __init__(self, C: Convolution, epoch: int = 0) -> None:
        self.C, self.epoch, self.count = C, epoch, 0
        self._A = np.empty((16, C.dimension))
        self._age = np.zeros(16)  # epochs between a point and the candidates
        self._M = np.empty((16, 16))
        self._Z = np.empty((0, C.dimension))
        self._K = np.empty((16, 0))
        self._eigen: tuple[Array, Array] | None = None

    @property
    def A(self) -> Array:
        """Return the points, scaled."""
        return self._A[:self.count]

    @property
    def M(self) -> Array:
        """Return C of the points, shape (N, N)."""
        return self._M[:self.count, :self.count]

    @property
    def K(self) -> Array:
        """Return C of points and candidates, shape (N, G)."""
        return self._K[:self.count]

    @property
    def shape(self) -> tuple[int, int]:
        """Return the room for points and the number of candidates."""
        return len(self._K), len(self._Z)

    @property
    def candidates(self) -> int:
        """Count the candidates."""
        return len(self._Z)

    def watch(self, X: Array, rows: int) -> None:
        """Lay out the candidates."""
        self._Z = self.C.scaled(X)
        self._K = np.empty((max(rows, len(self._A)), len(X)))
        self._K[:self.count] = self._faded(self.C.between_scaled(self.A, self._Z))

    def _faded(self, K: Array) -> Array:
        """Multiply rows of old points by what is carried over to now."""
        return K * CARRY ** self._age[:self.count, None] if self.epoch else K

    def add(self, x: Array, epoch: int = 0) -> None:
        """Take one point that was measured in an epoch."""
        N = self.count
        if len(self._A) == N:
            self._A, self._age, self._M = doubled(self._A), doubled(self._age), doubled(self._M, 2)
        if len(self._K) == N:
            self._K = np.vstack([self._K, np.empty_like(self._K)])
        u = self.C.scaled(x)
        self._A[N], self._age[N] = u[0], self.epoch - epoch
        self.count += 1
        row = self.C.between_scaled(u, self.A)[0]
        if self.epoch:
            row *= CARRY ** np.abs(self._age[:N + 1] - self._age[N])
        self._M[N, :N + 1] = self._M[:N + 1, N] = row
        if len(self._Z):
            self._K[N] = self.C.between_scaled(u, self._Z)[0] * CARRY ** self._age[N]
        self._eigen = None

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidates."""
        self._Z[where] = self.C.scaled(X)
        self._K[:self.count, where] = self._faded(self.C.between_scaled(self.A, self._Z[where]))

    def eigen(self) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of C of the points."""
        if self._eigen is None:
            kappa, U = np.linalg.eigh(self.M)
            self._eigen = np.maximum(kappa, 0.0), U
        return self._eigen

    def to_points(self, X: Array) -> Array:
        """Return the correlations of the points with any others, shape (N, G)."""
        return self._faded(self.C.between_scaled(self.A, self.C.scaled(X)))

    def between(self, x: np.ndarray, z: np.ndarray) -> Array:
        """Return the correlations of some candidates with others."""
        return self.C.between_scaled(self._Z[x], self._Z[z])


class Bank:
    """Keep the correlations of one kernel for all factors of its length scales that are in use."""

    def __init__(self, kernel: Kernel, rows: int) -> None:
        self.kernel, self.rows = kernel, rows
        self._X: Array | None = None
        self.begin([])

    def begin(self, points: Sequence[tuple[Array, int]]) -> None:
        """Take other points and epochs; what was given before is no longer kept."""
        self._points = list(points)
        self._of: dict[float, Correlations] = {}
        self._probes: dict[float, Correlations] = {}

    def at(self, factor: float) -> Correlations:
        """Return those of one factor; they follow points and candidates from now on."""
        if factor not in self._of:
            self._of[factor] = self.probe(factor)
            del self._probes[factor]
            if self._X is not None:
                self._of[factor].watch(self._X, self.rows)
        return self._of[factor]

    def probe(self, factor: float) -> Correlations:
        """Return those of one factor for a comparison: they follow the points alone."""
        known = {**self._probes, **self._of}
        if factor not in known:
            known[factor] = self._probes[factor] = self.made(factor, self._points)
        return known[factor]

    def made(self, factor: float, points: Sequence[tuple[Array, int]]) -> Correlations:
        """Make those of any points."""
        made = Correlations(Convolution(self.kernel.stretched(factor)),
                            max((epoch for _, epoch in points), default=0))
        for x, epoch in points:
            made.add(x, epoch)
        return made

    def add(self, x: Array, epoch: int) -> None:
        """Take one point."""
        self._points.append((x.copy(), epoch))
        for c in (*self._of.values(), *self._probes.values()):
            c.add(x, epoch)

    def watch(self, X: Array) -> None:
        """Lay out the candidates; X is kept, and whoever changes it calls `replace`."""
        self._X = X
        for c in self._of.values():
            c.watch(X, self.rows)

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidates."""
        for c in self._of.values():
            c.replace(where, X)
