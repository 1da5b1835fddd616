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
Gaussian process regression that grows by one row per sample.

  symbol   meaning                                              shape
  A        samples                                              (N, n)
  Y        measured values of the outputs that share k          (N, m)
  lam      λ, regulariser; K + λI = L Lᵀ                        scalar
  W        L⁻¹ Y                                                (N, m)
  X        points of interest (the candidate set)               (G, n)
  V        L⁻¹ k(A, X)                                          (N, G)
  mu       posterior mean = Vᵀ W                                (m, G)
  var      posterior variance = k(x, x) - Σ V²                  (G,)

Adding a sample appends one row to L, W and V and touches nothing else, so mu and var are
updated by one term each: O(N·G) a sample, one product of Vᵀ with a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from pacsbo_ros.core.arrays import doubled
from pacsbo_ros.core.kernels import Array, Kernel
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtrs


def solve_lower(L: Array, b: Array, transposed: bool = False) -> Array:
    """Solve L x = b or Lᵀ x = b; scipy's checks would take longer than a small solution."""
    return np.asarray(dtrtrs(L.T, b, lower=0, trans=0 if transposed else 1)[0])


@dataclass(frozen=True)
class Row:
    """Hold what one sample appends: L gets (ell, pivot), W gets w."""

    x: Array  # (n,)
    ell: Array  # (N,) left part of the new row of L
    pivot: float  # its diagonal element
    w: Array  # (m,)


class GaussianProcess:
    """Model m outputs on one kernel matrix."""

    def __init__(self, kernel: Kernel, lam: float, outputs: int) -> None:
        self.kernel, self.lam, self.outputs = kernel, float(lam), outputs
        self.count = 0
        self._log_det = 0.0
        self._A = np.empty((16, kernel.dimension))
        self._Y = np.empty((16, outputs))
        self._W = np.empty((16, outputs))
        self._L = np.zeros((16, 16))

    @property
    def A(self) -> Array:
        """Return the samples."""
        return self._A[:self.count]

    @property
    def Y(self) -> Array:
        """Return the measured values."""
        return self._Y[:self.count]

    @property
    def L(self) -> Array:
        """Return the Cholesky factor of K + λI."""
        return self._L[:self.count, :self.count]

    @property
    def W(self) -> Array:
        """Return L⁻¹ Y."""
        return self._W[:self.count]

    def add(self, x: Array, y: Array) -> Row:
        """Take one sample and give the row that it appends."""
        N = self.count
        if len(self._A) == N:
            self._A, self._Y, self._W = (doubled(M) for M in (self._A, self._Y, self._W))
            self._L = doubled(self._L, axes=2)
        k = self.kernel(x, self.A)[0] if N else np.empty(0)
        ell = solve_lower(self.L, k) if N else k
        # Exactly, pivot² >= λ; rounding may not push it below.
        pivot2 = max(self.kernel.output_scale + self.lam - float(ell @ ell), self.lam)
        pivot = float(np.sqrt(pivot2))
        w = (y - ell @ self.W) / pivot
        self._A[N], self._Y[N], self._W[N] = x, y, w
        self._L[N, :N], self._L[N, N] = ell, pivot
        self._log_det += math.log(pivot2 / self.lam)
        self.count += 1
        return Row(x, ell, pivot, w)

    def whiten(self, X: Array) -> Array:
        """Return V = L⁻¹ k(A, X), shape (N, G)."""
        if not self.count:
            return np.empty((0, len(X)))
        return solve_triangular(self.L, self.kernel(self.A, X), lower=True, check_finite=False)

    def posterior(self, X: Array) -> tuple[Array, Array]:
        """Return mean (m, G) and variance (G,) at any points."""
        V = self.whiten(X)
        var = self.kernel.output_scale - np.einsum('ij,ij->j', V, V)
        return self.W.T @ V, np.maximum(var, 0.0)

    def weights(self) -> Array:
        """Return (K + λI)⁻¹ Y, the coefficients of the mean, shape (N, m)."""
        if not self.count:
            return np.empty((0, self.outputs))
        return solve_lower(self.L, self.W, transposed=True)

    def mean_norms(self) -> Array:
        """Return ‖μ_A‖_k of every output: sqrt(yᵀ Q K Q y) with Q = (K + λI)⁻¹, shape (m,)."""
        weights = self.weights()
        square = (self.W ** 2 - self.lam * weights ** 2).sum(axis=0)
        return np.sqrt(np.maximum(square, 0.0))

    def data_norms(self) -> Array:
        """Return sqrt(yᵀ Q y) of every output, the least of ‖f‖² + Σ(y - f)²/λ, shape (m,)."""
        return np.sqrt(np.sum(self.W ** 2, axis=0))

    def log_det(self) -> float:
        """Return ln det(I + K/λ)."""
        return self._log_det


class Posterior:
    """Keep mean and variance on a candidate set while samples arrive."""

    def __init__(self, gp: GaussianProcess, X: Array, rows: int = 16) -> None:
        # Rows that are not used yet cost address space, not memory; copying V would cost time.
        self.gp, self.X = gp, X
        self._Z = gp.kernel.scaled(X)
        N = gp.count
        self._V = np.empty((max(rows, N), len(X)))
        self._V[:N] = gp.whiten(X)
        self.mu = gp.W.T @ self.V
        self.var = gp.kernel.output_scale - np.einsum('ij,ij->j', self.V, self.V)
        self._sigma: Array | None = None

    @property
    def V(self) -> Array:
        """Return L⁻¹ k(A, X), shape (N, G)."""
        return self._V[:self.gp.count]

    @property
    def sigma(self) -> Array:
        """Return the posterior standard deviation, shape (G,)."""
        if self._sigma is None:
            self._sigma = np.sqrt(np.maximum(self.var, 0.0))
        return self._sigma

    def covariance(self, x: np.ndarray, z: np.ndarray) -> Array:
        """Return the posterior covariance of some candidates with others, shape (x, z)."""
        prior = self.gp.kernel.between_scaled(self._Z[x], self._Z[z])
        return prior - self.V[:, x].T @ self.V[:, z]

    def extend(self, row: Row) -> None:
        """Take over the row that the Gaussian process has just appended."""
        N = len(row.ell)
        if len(self._V) == N:
            self._V = np.concatenate([self._V, np.empty_like(self._V)])
        v = self._V[N]
        k = self.gp.kernel
        np.subtract(k.between_scaled(k.scaled(row.x), self._Z)[0], row.ell @ self._V[:N], out=v)
        v *= 1.0 / row.pivot
        for mu, w in zip(self.mu, row.w, strict=True):
            mu += w * v
        self.var -= v * v
        self._sigma = None

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidate set."""
        V = self.gp.whiten(X)
        self.X[where] = X
        self._Z[where] = self.gp.kernel.scaled(X)
        self._V[:self.gp.count, where] = V
        self.mu[:, where] = self.gp.W.T @ V
        self.var[where] = self.gp.kernel.output_scale - np.einsum('ij,ij->j', V, V)
        self._sigma = None
