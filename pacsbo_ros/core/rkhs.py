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
Functions in the RKHS: random ones, random interpolants, norms, and their closed forms.

  symbol    meaning                                                        shape
  Q         (K + νI)⁻¹ with nugget ν = λ of the Gaussian process           (N, N)
  y         measured values of one output                                  (N,)
  X         tail centres, uniform among the points of a domain             (P, n)
  a         tail coefficients, U[-a_bar, a_bar]                            (T,)
  S         Gram matrix of k(x,·) - its interpolant on A                   (P, P)
  v         diag S = k - 2 kᵀQk + kᵀQKQk                                   (P,)
  e         ⟨μ_A, k(x,·) - its interpolant⟩ = ν kᵀQQy; 0 without nugget    (P,)

A random interpolant is ρ = μ_A + Σ_t a_t (k(x_t,·) - interpolant), so
‖ρ‖² = ‖μ_A‖² + aᵀ S a + 2 aᵀ e, and with independent centres and coefficients
E‖ρ‖² = ‖μ_A‖² + T·(a_bar²/3)·mean(v).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pacsbo_ros.core.gp import GaussianProcess
from pacsbo_ros.core.kernels import Array, Kernel
from scipy.linalg import cho_factor, cho_solve, solve_triangular

JITTER = 1e-10  # relative to k(x, x): keeps nearly equal points apart in double precision
BATCH = 64_000  # elements of the largest temporary array: larger ones cost page faults


@dataclass(frozen=True)
class RkhsFunction:
    """Evaluate Σ_s a_s k(x_s, ·); its norm is known."""

    kernel: Kernel
    centres: Array  # (S, n)
    coefficients: Array  # (S,)

    def __call__(self, X: Array) -> Array:
        """Return the values at the points, shape (G,)."""
        return self.kernel(X, self.centres) @ self.coefficients

    @property
    def norm(self) -> float:
        """Return sqrt(aᵀ K a)."""
        a = self.coefficients
        square = float(a @ self.kernel(self.centres, self.centres) @ a)
        return float(np.sqrt(max(square, 0.0)))

    def scaled_to(self, norm: float) -> RkhsFunction:
        """Return the same shape with another norm."""
        return RkhsFunction(self.kernel, self.centres, self.coefficients * (norm / self.norm))


def random_function(
    kernel: Kernel, centres: int, rng: np.random.Generator, norm: float | None = None,
) -> RkhsFunction:
    """Draw a function of the pre-RKHS: uniform centres in the box, coefficients U[-1, 1]."""
    X = rng.random((centres, kernel.dimension))
    function = RkhsFunction(kernel, X, rng.uniform(-1.0, 1.0, size=centres))
    return function if norm is None else function.scaled_to(norm)


def random_interpolant(
    kernel: Kernel, A: Array, y: Array, tail: Array, bound: float, rng: np.random.Generator,
    nugget: float = 0.0, noise: float = 0.0,
) -> RkhsFunction:
    """
    Draw a function through the samples with random coefficients on the tail centres.

    A nugget ν > 0 passes near the samples instead of through them; noise > 0 moves every sample
    by U[-noise, noise] first. Without a nugget, close noisy samples make norms explode.
    """
    a = rng.uniform(-bound, bound, size=len(tail))
    target = y + rng.uniform(-noise, noise, size=len(y)) - kernel(A, tail) @ a
    K = kernel(A, A) + max(nugget, JITTER * kernel.output_scale) * np.eye(len(A))
    head = cho_solve(cho_factor(K, lower=True), target)
    return RkhsFunction(kernel, np.vstack([A, tail]), np.concatenate([head, a]))


def local_norm(kernel: Kernel, X: Array, values: Array) -> float:
    """Return the norm of the smoothest function with these values: the norm on the set X."""
    z = whitened_values(kernel, X, values)
    return float(np.sqrt(z @ z))


def whitened_values(kernel: Kernel, X: Array, values: Array) -> Array:
    """Return z = L⁻¹ values with LLᵀ = K; ‖z[:k]‖ is the norm on the first k points."""
    K = kernel(X, X)
    K[np.diag_indices_from(K)] += JITTER * kernel.output_scale
    return np.asarray(solve_triangular(np.linalg.cholesky(K), values, lower=True,
                                       check_finite=False))


def reciprocal_covariance_integral(var: Array, inside: np.ndarray) -> Array:
    """Return r = 1/∫σ² over the domains inside (D, G), by candidates that fill the unit box."""
    integral = inside.astype(float, copy=False) @ np.maximum(var, 0.0) / len(var)
    return np.asarray(1.0 / np.maximum(integral, np.finfo(float).tiny ** 0.5))


class Interpolants:
    """Know the distribution of ‖ρ‖ over random interpolants of one Gaussian process."""

    def __init__(self, gp: GaussianProcess, X: Array, tail: int, bound: float) -> None:
        self.X, self.tail, self.bound = X, tail, bound
        V = gp.whiten(X)
        QK = solve_triangular(gp.L, V, lower=True, trans=1)  # Q k_A(X)
        # QKQ = Q - νQQ, hence S = k - kᵀQk - ν kᵀQQk.
        self._S = lambda: gp.kernel(X, X) - V.T @ V - gp.lam * (QK.T @ QK)
        self.v = np.maximum(gp.kernel.output_scale - np.einsum('ij,ij->j', V, V)
                            - gp.lam * np.einsum('ij,ij->j', QK, QK), 0.0)
        self.e = gp.lam * (gp.weights().T @ QK)  # (m, P)
        self.mean_norms = gp.mean_norms()

    @cached_property
    def S(self) -> Array:
        """Return the Gram matrix of the residual kernels, shape (P, P)."""
        return self._S()

    def mean_square(self, output: int) -> float:
        """Return E‖ρ‖² in closed form."""
        return float(self.mean_norms[output] ** 2
                     + self.tail * self.bound ** 2 / 3 * np.mean(self.v))

    def variance_of_square(self, output: int) -> float:
        """Return Var ‖ρ‖² in closed form, from the moments of U[-a_bar, a_bar]."""
        T, second, fourth = self.tail, self.bound ** 2 / 3, self.bound ** 4 / 5
        v2, s2 = np.mean(self.v ** 2), np.mean(self.S ** 2)
        given_centres = T * (fourth - second ** 2) * v2 + 2 * T * (T - 1) * second ** 2 * s2
        centres = T * second ** 2 * np.var(self.v)
        cross = 4 * T * second * np.mean(self.e[output] ** 2)
        return float(given_centres + centres + cross)

    def support(self, output: int) -> tuple[float, float]:
        """Return limits that no drawn norm can leave."""
        square = self.mean_norms[output] ** 2
        reach = self.tail * self.bound
        cross = 2 * reach * float(np.max(np.abs(self.e[output])))
        high = np.sqrt(square + reach ** 2 * float(np.max(self.v)) + cross)
        return float(np.sqrt(max(square - cross, 0.0))), float(high)

    def draw(self, output: int, q: int, rng: np.random.Generator) -> Array:
        """Draw q norms ‖ρ‖, in batches, no loop over the draws."""
        T, P, square = self.tail, len(self.X), np.empty(q)
        S = self.S.astype(np.float32)  # twice as fast; a drawn norm needs no more than six digits
        rows = max(1, BATCH // P)
        for i in range(0, q, rows):
            n = min(q - i, rows)
            where = rng.integers(P, size=(n, T)) + P * np.arange(n)[:, None]
            a = rng.uniform(-self.bound, self.bound, size=(n, T))
            # Coefficients of equal centres add up; then one product serves all draws.
            c = np.bincount(where.ravel(), a.ravel(), minlength=n * P).reshape(n, P)
            square[i:i + n] = np.einsum('qp,qp->q', c.astype(np.float32) @ S, c)
            square[i:i + n] += 2 * (c @ self.e[output])
        return np.sqrt(np.maximum(square + self.mean_norms[output] ** 2, 0.0))
