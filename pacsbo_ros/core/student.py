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
The posterior of the paper's random functions with their scale integrated out.

  symbol    meaning                                                            shape
  C         correlation of the random functions, see `convolution`             (N, N)
  s         their scale, unknown: h ~ N(0, s²C), s is the norm up to a constant scalar
  y, r2     mean of what was measured at each distinct point, its variance     (N,)
  lam       λ = r²/ŝ² + MISFIT, the noise in units of the scale                (N,)
  kappa, z  eigenvalues of C + MISFIT and the data in its eigenvectors         (N,)
  a         weights of the data in the posterior means of the candidates       (N, G)
  mu, var   posterior mean and variance/s² (λ at ŝ) on the candidates          (G,)
  u, n      error of the mean: s²u by the function, n by the noise             (G,)

Derivation
----------
Algorithm 3 of the paper draws q random RKHS functions through the data. With many centres and
independent coefficients such a function is, by the central limit theorem, a path of a Gaussian
process with covariance s²C, so for q → ∞ the draws have a closed form: given s, h(x) is normal
with mean μ(x) = c(x)ᵀ(C + λI)⁻¹y and variance s²·var(x). The paper's ᾱ fixes s. Here it is unknown
and integrated out. Without noise and with p(s) ∝ 1/s the posterior of s² is ŝ²·N/χ²_N with
ŝ² = yᵀC⁻¹y/N, hence h(x) = μ(x) + ŝ·sqrt(var(x))·t_N, a Student-t variable.

With noise of known size p(s | y) is integrated on a grid (`scale`): repeats of one point are one
value with less noise, and close points count as far as noise lets them differ.

The mean at x is Σ a_j y_j with weights a = (C + λI)⁻¹c(x), λ at ŝ. Whatever s is, its error has
the variance s²u(x) + n(x), with u = 1 - 2aᵀc + aᵀCa (signal) and n = Σ a_j²r_j² (noise, which does
not grow with s). The band is sqrt(q²ŝ²u + z²n), z the normal quantile of ρ and q the factor with
P(s·Z > q·ŝ | y) = ρ for a normal Z; without noise that is the quantile of Student's t.

Assumption, in one sentence: h looks like a random function of this kernel, whatever its norm, or
of about the size that a prior gives it.

Guarantee: a point is called safe if P(h(x) < threshold | data) <= ρ. Whatever rule picks the next
point from those, it is unsafe with probability at most ρ, given the data; the sum over the
experiments of a run bounds the probability that any of them is unsafe. A posterior does not mind
adaptive sampling. It is a statement about the points that are tried, not about the whole function.
Not covered: starts that were chosen because of their values, edges of the box, functions of
another kind; `docs/algorithm.md` has what was measured there.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from pacsbo_ros.core.correlations import Correlations
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.scale import fit_scales, LOG_S, Prior, Scale
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpotrf, dpotri

MISFIT = 1e-5  # share of the variance that C does not explain: finitely many centres, edges
LEAST_VAR = 1e-12


def posteriors_of_scale(models: Sequence[Correlations], y: Array, r2: Array,
                        prior: Prior) -> list[Scale]:
    """Find what means and variances of all distinct points say about s, model by model."""
    if np.all(r2 == r2[0]):
        pairs = [c.eigen() for c in models]
        return fit_scales(np.array([kappa for kappa, _ in pairs]) + MISFIT,
                          np.array([y @ U for _, U in pairs]) ** 2, float(r2[0]), prior)
    # Unequal noise: weigh every point so that the noise of all is the same. The weights multiply
    # to one, so that the evidence is that of the data.
    root = np.sqrt(np.maximum(r2, 1e-9 * r2.max()))
    mean = float(np.exp(np.mean(np.log(root))))
    g = mean / root
    M = np.array([c.M for c in models]) + MISFIT * np.eye(len(g))
    kappa, U = np.linalg.eigh(g[:, None] * M * g)
    return fit_scales(np.maximum(kappa, 1e-300), ((g * y) @ U) ** 2, mean * mean, prior)


class Student:
    """Keep the posterior of one output, on the candidates if there are any."""

    def __init__(self, correlations: Correlations) -> None:
        self.correlations = correlations
        self.scale = Scale(1.0, 0.0, np.full(len(LOG_S), 1.0 / len(LOG_S)))
        self.y, self.r2 = np.empty(0), np.empty(0)
        self.mu, self.var, self.noise = np.empty(0), np.empty(0), np.empty(0)
        self._Q = np.zeros((16, 16))
        self._a = np.empty((16, 0))
        self._unit = 0.0

    @property
    def Q(self) -> Array:
        """Return (C + diag λ)⁻¹."""
        return self._Q[:len(self.y), :len(self.y)]

    @property
    def a(self) -> Array:
        """Return Q·C(A, X), the weights of the data in the means of the candidates, (N, G)."""
        return self._a[:len(self.y)]

    def update(self, y: Array, r2: Array, scale: Scale, keep: bool = True) -> None:
        """
        Take means and variances of all distinct points, in the order of the correlations.

        keep: follow the candidates; a model that the data rule out need not.
        """
        before, N = len(self.y), len(y)
        grown = before and before + 1 == N and np.array_equal(self.y, y[:-1]) and (
            np.array_equal(self.r2, r2[:-1])) and self.mu.size == self.correlations.candidates
        self.y, self.r2, self.scale = y, r2, scale
        # λ moves in steps of two, so that most samples append a row instead of starting anew.
        unit = 2.0 ** round(math.log2(scale.square))
        if grown and keep and unit == self._unit:
            self._append()
        else:
            self._unit = unit
            self._restart(keep)

    def _restart(self, keep: bool) -> None:
        N, corr, r2 = len(self.y), self.correlations, self.r2
        self._make_room(N)
        L, failed = dpotrf(corr.M + np.diag(r2 / self._unit + MISFIT), lower=1)
        if failed:
            raise np.linalg.LinAlgError(f'C + diag(λ) of {N} points is not positive definite')
        Q = np.tril(dpotri(L, lower=1)[0])
        self._Q[:N, :N] = Q + np.tril(Q, -1).T
        if not keep:
            self.mu = np.empty(0)
        elif corr.candidates:
            a = np.matmul(self.Q, corr.K, out=self._a[:N])
            self.mu = self.y @ a
            self.var = 1.0 - np.einsum('ij,ij->j', corr.K, a)
            self.noise = r2[0] * np.einsum('ij,ij->j', a, a) if np.all(r2 == r2[0]) else (
                np.einsum('i,ij,ij->j', r2, a, a))

    def _append(self) -> None:
        """Add one point: Q grows by a row and a rank-one term, and so does a."""
        N, corr = len(self.y) - 1, self.correlations
        self._make_room(N + 1)
        lam = float(self.r2[N] / self._unit + MISFIT)
        k = corr.M[N, :N]
        b = self._Q[:N, :N] @ k
        pivot2 = max(1.0 + lam - float(k @ b), lam)
        self._Q[:N, :N] += np.outer(b, b / pivot2)
        self._Q[N, :N] = self._Q[:N, N] = -b / pivot2
        self._Q[N, N] = 1.0 / pivot2
        if corr.candidates:
            a = self._a
            known, shared = np.stack([k, self.r2[:N] * b]) @ a[:N]
            g = corr.K[N] - known  # posterior covariance with the new point
            self.mu += (float(self.y[N] - self.y[:N] @ b) / pivot2) * g
            self.var -= g * g / pivot2
            g /= pivot2
            self.noise += g * ((float(self.r2[:N] @ (b * b)) + self.r2[N]) * g - 2.0 * shared)
            dger(-1.0, g, b, a=a[:N].T, overwrite_a=1)  # a -= b gᵀ, in place
            a[N] = g

    def _make_room(self, N: int) -> None:
        if len(self._Q) < N:
            self._Q = np.pad(self._Q, (0, N))
        if self._a.shape != self.correlations.shape:
            a = np.empty(self.correlations.shape)
            if self._a.shape[1] == a.shape[1]:
                a[:len(self._a)] = self._a
            self._a = a

    def field(self) -> tuple[Array, Array, Array]:
        """Return mean, signal error/s² and noise variance of the mean on the candidates."""
        return self.mu, np.maximum(self.var - self.noise / self._unit, LEAST_VAR), self.noise

    def field_at(self, X: Array) -> tuple[Array, Array, Array]:
        """Return the same at any points."""
        K = self.correlations.to_points(X)
        a = self.Q @ K
        noise = self.r2 @ (a * a)
        var = 1.0 - np.einsum('ij,ij->j', K, a) - noise / self._unit
        return self.y @ a, np.maximum(var, LEAST_VAR), noise

    def replaced(self, where: slice) -> None:
        """Take over candidates that the correlations have exchanged."""
        K = self.correlations.K[:len(self.y), where]
        a = self._a[:len(self.y), where] = self.Q @ K
        self.mu[where] = self.y @ a
        self.var[where] = 1.0 - np.einsum('ij,ij->j', K, a)
        self.noise[where] = self.r2 @ (a * a)

    def covariance(self, x: np.ndarray, z: np.ndarray) -> Array:
        """Return the posterior covariance of some candidates with others, shape (x, z)."""
        c = self.correlations.between(x, z) - self.correlations.K[:, x].T @ self.a[:, z]
        return np.asarray(self.scale.square * c)
