# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Correlations of the measured points with each other and with the candidates, kept as they grow.

  symbol    meaning                                             shape
  C         correlation of random functions, see `convolution`
  M         C of the distinct points                            (N, N)
  K         C of the points with the candidates                 (N, G)
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.convolution import Convolution
from pacsbo_ros.core.kernels import Array


class Correlations:
    """Keep C of the distinct points and of them with the candidates while points arrive."""

    def __init__(self, C: Convolution) -> None:
        self.C, self.count = C, 0
        self._A = np.empty((16, C.dimension))
        self._M = np.empty((16, 16))
        self._Z = np.empty((0, C.dimension))
        self._K = np.empty((16, 0))
        self._eigen: tuple[Array, Array] | None = None

    @property
    def A(self) -> Array:
        """Give the points, scaled."""
        return self._A[:self.count]

    @property
    def M(self) -> Array:
        """Give C of the points, shape (N, N)."""
        return self._M[:self.count, :self.count]

    @property
    def K(self) -> Array:
        """Give C of points and candidates, shape (N, G)."""
        return self._K[:self.count]

    @property
    def shape(self) -> tuple[int, int]:
        """Give the room for points and the number of candidates."""
        return len(self._K), len(self._Z)

    @property
    def candidates(self) -> int:
        """Count the candidates."""
        return len(self._Z)

    def watch(self, X: Array, rows: int) -> None:
        """Lay out the candidates."""
        self._Z = self.C.scaled(X)
        self._K = np.empty((max(rows, len(self._A)), len(X)))
        self._K[:self.count] = self.C.between_scaled(self.A, self._Z)

    def add(self, x: Array) -> None:
        """Take one point."""
        N = self.count
        if len(self._A) == N:
            self._A = np.vstack([self._A, np.empty_like(self._A)])
            self._M = np.pad(self._M, (0, N))
        if len(self._K) == N:
            self._K = np.vstack([self._K, np.empty_like(self._K)])
        u = self.C.scaled(x)
        self._A[N] = u[0]
        self.count += 1
        self._M[N, :N + 1] = self._M[:N + 1, N] = self.C.between_scaled(u, self.A)[0]
        if len(self._Z):
            self._K[N] = self.C.between_scaled(u, self._Z)[0]
        self._eigen = None

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidates."""
        self._Z[where] = self.C.scaled(X)
        self._K[:self.count, where] = self.C.between_scaled(self.A, self._Z[where])

    def eigen(self) -> tuple[Array, Array]:
        """Give eigenvalues and eigenvectors of C of the points."""
        if self._eigen is None:
            kappa, U = np.linalg.eigh(self.M)
            self._eigen = np.maximum(kappa, 0.0), U
        return self._eigen

    def to_points(self, X: Array) -> Array:
        """Give the correlations of the points with any others, shape (N, G)."""
        return self.C.between_scaled(self.A, self.C.scaled(X))

    def between(self, x: np.ndarray, z: np.ndarray) -> Array:
        """Give the correlations of some candidates with others."""
        return self.C.between_scaled(self._Z[x], self._Z[z])
