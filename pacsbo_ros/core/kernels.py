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
Stationary kernels with one length scale per dimension.

  symbol   meaning                                   shape
  X, Z     points in the unit cube                   (N, n), (M, n)
  ell      length scales, unit-cube lengths          (n,)
  d        distance of the points divided by ell     (N, M)
  s2       output scale: k(x, x) = s2                scalar
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]


def matern32(d: Array) -> Array:
    """Return (1 + √3 d) exp(-√3 d)."""
    d = np.sqrt(3.0) * d
    return (1.0 + d) * np.exp(-d)


def matern52(d: Array) -> Array:
    """Return (1 + √5 d + 5/3 d²) exp(-√5 d)."""
    d = np.sqrt(5.0) * d
    return (1.0 + d + d * d / 3.0) * np.exp(-d)


def rbf(d: Array) -> Array:
    """Return exp(-d²/2)."""
    return np.exp(-0.5 * d * d)


SHAPES: dict[str, Callable[[Array], Array]] = {
    'matern32': matern32,
    'matern52': matern52,
    'rbf': rbf,
}


@dataclass(frozen=True)
class Kernel:
    """Evaluate k(x, z) = s2 · shape(‖(x - z)/ell‖); hashable, so that libraries can be shared."""

    name: str
    length_scales: tuple[float, ...]
    output_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in SHAPES:
            raise ValueError(f'kernel is {self.name!r}; choose one of {sorted(SHAPES)}')
        object.__setattr__(self, 'length_scales', tuple(float(s) for s in self.length_scales))
        if not self.length_scales or not all(0 < s < np.inf for s in self.length_scales):
            raise ValueError(
                f'length_scales is {self.length_scales}; give one positive number per dimension')
        if not 0 < self.output_scale < np.inf:
            raise ValueError(f'output_scale is {self.output_scale}; give a positive number')

    @property
    def dimension(self) -> int:
        """Count the dimensions of a point."""
        return len(self.length_scales)

    def stretched(self, factor: float) -> Kernel:
        """Return the same kernel with other length scales."""
        return Kernel(self.name, tuple(factor * s for s in self.length_scales), self.output_scale)

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the (N, M) matrix of kernel values."""
        return self.between_scaled(self.scaled(X), self.scaled(Z))

    def scaled(self, X: Array) -> Array:
        """Return the points divided by the length scales, shape (N, n)."""
        return np.atleast_2d(X) / np.asarray(self.length_scales)

    def between_scaled(self, U: Array, V: Array) -> Array:
        """Return the kernel matrix of points that are scaled already: large sets scale once."""
        values = SHAPES[self.name](cdist(U, V))
        return values if self.output_scale == 1.0 else self.output_scale * values

    def distance(self, X: Array, Z: Array) -> Array:
        """Return the RKHS metric d_k(x, z) = ‖k(x, ·) - k(z, ·)‖ = sqrt(2 s2 - 2 k(x, z))."""
        gap = 2.0 * (self.output_scale - self(X, Z))
        return np.sqrt(np.maximum(gap, 0.0))
