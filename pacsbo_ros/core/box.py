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
The box of parameters: physical (SI) units outside, the unit cube inside.

  symbol   meaning                              shape
  x        point in physical units              (n,) or (N, n)
  u        the same point in the unit cube      (n,) or (N, n)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pacsbo_ros.core.kernels import Array


@dataclass(frozen=True)
class Box:
    """Hold names and limits of the tuned parameters and map them to the unit cube and back."""

    names: tuple[str, ...]
    lower: tuple[float, ...]  # physical units of each parameter
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, 'names', tuple(str(n) for n in self.names))
        object.__setattr__(self, 'lower', tuple(float(v) for v in self.lower))
        object.__setattr__(self, 'upper', tuple(float(v) for v in self.upper))
        if not self.names:
            raise ValueError('names is empty; a box needs at least one parameter')
        if not len(self.names) == len(self.lower) == len(self.upper):
            raise ValueError(
                f'names, lower, upper have {len(self.names)}, {len(self.lower)}, '
                f'{len(self.upper)} entries; give one of each per parameter')
        if len(set(self.names)) != len(self.names):
            raise ValueError(f'names is {self.names}; every parameter needs its own name')
        for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ValueError(
                    f'the box of {name!r} is [{low}, {high}]; give finite limits, lower < upper')

    @property
    def dimension(self) -> int:
        """Count the parameters."""
        return len(self.names)

    def to_unit(self, x: ArrayLike) -> Array:
        """Map physical values to the unit cube."""
        low, high = np.asarray(self.lower), np.asarray(self.upper)
        return (self._shaped(x) - low) / (high - low)

    def to_physical(self, u: ArrayLike) -> Array:
        """Map the unit cube to physical values; the faces map to the limits exactly."""
        low, high = np.asarray(self.lower), np.asarray(self.upper)
        u = self._shaped(u)
        return low * (1.0 - u) + high * u

    def contains(self, x: ArrayLike) -> bool:
        """Tell whether every value lies within its limits (NaN does not)."""
        x = self._shaped(x)
        return bool(np.all((x >= self.lower) & (x <= self.upper)))

    def validate(self, x: ArrayLike) -> Array:
        """Return x as an array, or raise with the name of the parameter that leaves the box."""
        x = self._shaped(x)
        for row in np.atleast_2d(x):
            for name, value, low, high in zip(
                    self.names, row, self.lower, self.upper, strict=True):
                if not low <= value <= high:
                    raise ValueError(
                        f'{name} is {value}; it must lie in the box [{low}, {high}]')
        return x

    def _shaped(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=float)
        if x.ndim not in (1, 2) or x.shape[-1] != self.dimension:
            raise ValueError(
                f'a point has shape {x.shape}; the box has {self.dimension} parameters '
                f'{self.names}')
        return x
