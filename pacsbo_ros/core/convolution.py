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
The covariance of random RKHS functions: the kernel convolved with itself.

  symbol   meaning                                              shape
  k        kernel of the RKHS, order ν (Matérn) or RBF          see `kernels`
  C        correlation of its random functions, C(x, x) = 1     (N, M)
  mu       order of C, 2ν + n/2 in n dimensions                 scalar
  t        √(2ν)·‖(x - z)/ell‖, the argument of both kernels    (N, M)

A random function of the paper, Σ a_s k(x_s, ·) with many uniform centres and independent
coefficients, has the covariance E a² ∫ k(x, u) k(u, z) du. Away from the edges of the box that is
a convolution, and its spectral density is the square of the kernel's: (κ² + ω²)^-(2ν + n) for a
Matérn kernel, which is the Matérn kernel of order 2ν + n/2 with the same κ = √(2ν)/ell. A Gaussian
becomes a Gaussian with √2 times the length scale.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
import math

import numpy as np
from pacsbo_ros.core.kernels import Array, Kernel, SHAPES
from scipy.spatial.distance import cdist
from scipy.special import kv

ORDERS = {'matern12': 0.5, 'matern32': 1.5, 'matern52': 2.5}
REACH = 50.0  # beyond this argument a correlation is below 1e-12
NODES = 1 << 14  # of the table that stands in for Bessel functions; its error is below 1e-11

Shape = Callable[[Array], Array]


def half_integer(p: int) -> Shape:
    """Return the Matérn correlation of order p + 1/2: exp(-t) times a polynomial of degree p."""
    f = math.factorial
    rising = [f(p) / f(2 * p) * f(p + i) / (f(i) * f(p - i)) * 2.0 ** (p - i)
              for i in range(p, -1, -1)]  # coefficients of t^0 to t^p

    def shape(t: Array) -> Array:
        value = np.full_like(t, rising[-1])
        for c in reversed(rising[:-1]):
            value *= t
            value += c
        value *= np.exp(-t)
        return value
    return shape


def matern(mu: float, t: Array) -> Array:
    """Return 2^(1-μ)/Γ(μ)·t^μ·K_μ(t), the Matérn correlation of any order."""
    t = np.asarray(t, dtype=float)
    # K_μ overflows next to zero, where the correlation is one to double precision.
    near = t < 1e-8
    u = np.where(near, 1.0, t)
    value = np.exp((1 - mu) * math.log(2.0) - math.lgamma(mu) + mu * np.log(u)) * kv(mu, u)
    return np.where(near, 1.0, value)


@lru_cache
def tabulated(mu: float) -> Shape:
    """Return the Matérn correlation of any order from a cubic spline: kv is 100 times slower."""
    from scipy.interpolate import CubicSpline
    nodes = np.linspace(0.0, REACH, NODES + 1)
    spline = CubicSpline(nodes, matern(mu, nodes), bc_type=((1, 0.0), (2, 0.0)))
    a, b, c, d = (np.ascontiguousarray(np.append(row, 0.0)) for row in spline.c)
    width = REACH / NODES

    def shape(t: Array) -> Array:
        u = np.minimum(t, REACH) * (1.0 / width)
        i = u.astype(np.intp)
        u -= i
        u *= width
        value = a[i]
        for row in (b, c, d):
            value *= u
            value += row[i]
        return value
    return shape


class Convolution:
    """Evaluate C = k∗k, normalised; what it offers is what `Kernel` offers."""

    output_scale = 1.0

    def __init__(self, kernel: Kernel) -> None:
        n = kernel.dimension
        self.kernel, self.length_scales, self.dimension = kernel, kernel.length_scales, n
        if kernel.name == 'rbf':
            self._factor, self._shape = math.sqrt(0.5), SHAPES['rbf']
            return
        nu = ORDERS[kernel.name]
        mu = 2 * nu + n / 2
        self._factor = math.sqrt(2 * nu)
        self._shape = half_integer(round(mu - 0.5)) if n % 2 else tabulated(mu)

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the (N, M) matrix of correlations."""
        return self.between_scaled(self.scaled(X), self.scaled(Z))

    def scaled(self, X: Array) -> Array:
        """Return the points in the units of the correlation's argument, shape (N, n)."""
        return np.atleast_2d(X) * (self._factor / np.asarray(self.length_scales))

    def between_scaled(self, U: Array, V: Array) -> Array:
        """Return the correlations of points that are scaled already."""
        return self._shape(cdist(U, V))
