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
Values of many functions at a growing set of points, made uncorrelated.

  symbol   meaning                                          shape
  M        covariance of the points, M = L Lᵀ               (N, N)
  F        values of q functions at the points              (N, q)
  Z        L⁻¹ F                                            (N, q)
  square   Σ Z² = diag(Fᵀ M⁻¹ F): energy of every function  (q,)

A point appends one row to L and Z, one product of Zᵀ with a vector; solving anew would cost N
times as much. The energy does not depend on the order of the points.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.gp import solve_lower
from pacsbo_ros.core.kernels import Array
from scipy.linalg import solve_triangular


class Whitening:
    """Keep L, Z and the energies while points arrive, one or many at a time."""

    def __init__(self, functions: int) -> None:
        self.count = 0
        self.square = np.zeros(functions)
        self._L = np.zeros((32, 32))
        self._Z = np.empty((32, functions))

    @property
    def L(self) -> Array:
        """Return the Cholesky factor."""
        return self._L[:self.count, :self.count]

    @property
    def Z(self) -> Array:
        """Return L⁻¹ F."""
        return self._Z[:self.count]

    def add(self, cross: Array, diagonal: float, values: Array, least: float) -> None:
        """Take a point with covariances (N,), variance and values (q,); pivot² >= least."""
        ell = solve_lower(self.L, cross) if self.count else cross
        # Exactly, pivot² >= least, the noise of the point; rounding may not push it below.
        self.add_row(ell, float(np.sqrt(max(diagonal - float(ell @ ell), least))), values)

    def add_row(self, ell: Array, pivot: float, values: Array) -> None:
        """Take a point whose row of L is known already."""
        N = self.count
        self._reserve(1)
        z = self._Z[N]
        np.subtract(values, ell @ self.Z, out=z)
        z *= 1.0 / pivot
        self._L[N, :N], self._L[N, N] = ell, pivot
        self.square += z * z
        self.count += 1

    def add_block(self, cross: Array, block: Array, values: Array) -> None:
        """Take p points with covariances (p, N) and (p, p) and values (p, q)."""
        N, p = self.count, len(block)
        if not p:
            return
        self._reserve(p)
        ell = solve_lower(self.L, cross.T).T if N else cross
        root = np.linalg.cholesky(block - ell @ ell.T)
        # For a thousand right sides one product with the inverse is faster than solving.
        inverse = solve_triangular(root, np.eye(p), lower=True, check_finite=False)
        Z = np.matmul(inverse, values - ell @ self.Z, out=self._Z[N:N + p])
        self._L[N:N + p, :N], self._L[N:N + p, N:N + p] = ell, root
        self.square += np.einsum('ij,ij->j', Z, Z)
        self.count += p

    def copy_from(self, other: Whitening) -> None:
        """Become a copy of another one, in the memory that is there already."""
        self.count = 0
        self._reserve(other.count)
        self.count = other.count
        self.L[:], self.Z[:], self.square[:] = other.L, other.Z, other.square

    def _reserve(self, more: int) -> None:
        size = len(self._Z)
        if self.count + more > size:
            room = 2 * (self.count + more)
            L, Z = self.L, self.Z
            self._L, self._Z = np.zeros((room, room)), np.empty((room, Z.shape[1]))
            self._L[:len(L), :len(L)], self._Z[:len(Z)] = L, Z
