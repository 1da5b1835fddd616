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
All that was told, as arrays.

  symbol   meaning                                                     shape
  A        points of the unit cube                                     (N, n)
  Y        measured values: reward, then constraints                   (N, m)
  T        standard deviations that came with them; 0: not known       (N, m)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pacsbo_ros.core import noise
from pacsbo_ros.core.arrays import doubled
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import Settings


@dataclass(frozen=True)
class Sample:
    """Hold one told experiment."""

    point: tuple[float, ...]
    values: tuple[float, ...]
    noise: tuple[float, ...] | None = None  # standard deviation of each value, 0: not known


class Samples:
    """Grow by one sample after the other."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.count = settings, 0
        self._R: tuple[Array | None] | None = None  # known until the next sample
        self.repeats = noise.Repeats(settings.outputs)
        self._A = np.empty((16, settings.dimension))
        self._Y = np.empty((16, settings.outputs))
        self._T = np.zeros((16, settings.outputs))

    @property
    def A(self) -> Array:
        """Return the points."""
        return self._A[:self.count]

    @property
    def Y(self) -> Array:
        """Return the values."""
        return self._Y[:self.count]

    @property
    def T(self) -> Array:
        """Return the standard deviations that were told."""
        return self._T[:self.count]

    @property
    def safe(self) -> np.ndarray:
        """Tell which samples were measured safe, shape (N,)."""
        return np.all(np.array(self.settings.thresholds) <= self.Y, axis=1)

    @property
    def R(self) -> Array | None:
        """Return the noise bound of every output; None while nothing tells it."""
        if self._R is None:
            self._R = (noise.bounds(self.settings.noise_bound, self.repeats,
                                    self.T.max(axis=0, initial=0.0)),)
        return self._R[0]

    def variances(self, i: int) -> Array:
        """Return the noise variance of every sample of an output: what was told, or R²."""
        R, told = self.R, self.T[:, i]
        assert R is not None
        bound = float(R[i]) if not np.all(told > 0) else 0.0
        return np.where(told > 0, told, bound) ** 2

    def pooled(self, i: int, at: np.ndarray) -> tuple[Array, Array]:
        """Return mean and its variance of every group of samples; at: the group of each, (N,)."""
        r2 = self.variances(i)
        if at[-1] == self.count - 1:  # every sample is a group of its own
            return self.Y[:, i].copy(), r2
        weight = 1.0 / np.maximum(r2, 1e-300)
        total = np.bincount(at, weight)
        return np.bincount(at, weight * self.Y[:, i]) / total, 1.0 / total

    def scatter(self, i: int, at: np.ndarray) -> float:
        """Return ln p of the samples given the means of their groups, up to a constant."""
        r2 = np.maximum(self.variances(i), 1e-300)
        mean, pooled = self.pooled(i, at)
        away = self.Y[:, i] - mean[at]
        return 0.5 * float(np.log(np.maximum(pooled, 1e-300)).sum()
                           - np.log(r2).sum() - (away ** 2 / r2).sum())

    def notices(self) -> tuple[str, ...]:
        """Say what the repeats say about R."""
        R = self.R
        return () if R is None else noise.notices(
            self.settings.noise_bound, noise.estimate(self.repeats), self.settings.names, R)

    def add(self, sample: Sample) -> None:
        """Take one sample."""
        N = self.count
        if len(self._A) == N:
            self._A, self._Y, self._T = (doubled(M) for M in (self._A, self._Y, self._T))
        self._A[N], self._Y[N], self._T[N] = sample.point, sample.values, sample.noise or 0.0
        self.repeats.add(sample.point, self._Y[N].copy())
        self.count += 1
        self._R = None
