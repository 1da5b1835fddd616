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
Noise, known from points that were measured more than once.

  symbol    meaning                                                          shape
  scatter   Σ over the points of Σ (y - mean of that point)²                 (m,)
  dof       samples minus distinct points                                    scalar
  s²        scatter/dof, the pooled variance                                 (m,)
  R         noise bound in force                                             (m,)

dof·s²/σ² is χ²-distributed with dof degrees of freedom (normal noise), which gives an interval
for σ. What repeats scatter is noise and nothing else: the rules take it out before they judge how
large a function is. That R holds is an assumption, also where R is estimated: its confidence is
said, and is no part of delta.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from pacsbo_ros.core.kernels import Array

CONFIDENCE = 0.95  # one-sided, of the limits of σ
AUTO = 'auto'


class Repeats:
    """Group the samples by their points."""

    def __init__(self, outputs: int) -> None:
        self.scatter, self.dof = np.zeros(outputs), 0
        self._known: dict[tuple[float, ...], tuple[int, Array]] = {}

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """Return the distinct points in the order of their first measurement."""
        return tuple(self._known)

    def count(self, point: tuple[float, ...]) -> int:
        """Count the measurements of a point."""
        return self._known[point][0] if point in self._known else 0

    def mean(self, point: tuple[float, ...]) -> Array:
        """Return the mean of what was measured at a point."""
        return self._known[point][1]

    def add(self, point: tuple[float, ...], values: Array) -> None:
        """Take one sample."""
        count, mean = self._known.get(point, (0, np.zeros_like(values)))
        away = values - mean
        if count:
            self.dof += 1
            self.scatter += away ** 2 * count / (count + 1)
        self._known[point] = count + 1, mean + away / (count + 1)


@dataclass(frozen=True)
class NoiseEstimate:
    """Return the standard deviation of the noise of every output and its one-sided limits."""

    dof: int  # 0: no point was measured twice, and the rest is empty
    sigma: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


def estimate(repeats: Repeats) -> NoiseEstimate:
    """Pool what all repeats say."""
    if not repeats.dof:
        return NoiseEstimate(0)
    from scipy.special import chdtri  # the inverse of the upper tail of χ²
    dof = repeats.dof
    low, high = (np.sqrt(repeats.scatter / chdtri(dof, tail))
                 for tail in (1 - CONFIDENCE, CONFIDENCE))
    return NoiseEstimate(dof, tuple(np.sqrt(repeats.scatter / dof).tolist()),
                         tuple(low.tolist()), tuple(high.tolist()))


def bounds(noise_bound: float | str, repeats: Repeats, told: Array) -> Array | None:
    """
    Return R of every output; None if it is to be estimated and nothing says how.

    told: the largest standard deviation that came with a sample, shape (m,), 0 where none did.
    """
    if noise_bound != AUTO:
        return np.maximum(float(noise_bound), told)
    if repeats.dof:
        return np.maximum(np.array(estimate(repeats).high), told)
    return told if np.all(told > 0) else None


def notices(noise_bound: float | str, found: NoiseEstimate, names: tuple[str, ...],
            R: Array) -> tuple[str, ...]:
    """Say in sentences where the noise is larger than R, or which R was estimated."""
    if not found.dof:
        return ()
    if noise_bound == AUTO:
        each = ', '.join(f'{name} {r:.3g}' for name, r in zip(names, R, strict=True))
        return (f'noise_bound is auto: {found.dof} repeats give {each} '
                f'({CONFIDENCE:.0%} upper limits)',)
    return tuple(
        f'noise_bound is {r:.3g}, but repeats of {name} scatter by {sigma:.3g} (at least '
        f'{low:.3g} with {CONFIDENCE:.0%} confidence, {found.dof} repeats): set noise_bound to '
        f'{_rounded_up(sigma):g}, or make the measurement quieter'
        for name, r, sigma, low in zip(names, R, found.sigma, found.low, strict=True) if low > r)


def _rounded_up(value: float) -> float:
    """Return the value with two digits, not less than it was."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step - 1e-9) * step
