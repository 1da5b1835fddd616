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
One slice over two tuned values, ready to be drawn.

Symbol    Field     Shape            Meaning
l         margin    (rows, columns)  lower bound of the tightest constraint
K         samples   (n, 2)           values tried so far, projected

A row has one value of the second axis, a column one of the first; values in their own units.
"""
from __future__ import annotations

from dataclasses import dataclass

from contourpy import contour_generator
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EDGE = 0.01  # margin that a point at the border counts with if membership and bound disagree


@dataclass(frozen=True)
class Plane:
    """Hold the map of a plane and everything that is drawn on it."""

    iteration: int  # episodes told so far
    names: tuple[str, ...]
    units: tuple[str, ...]
    lower: tuple[float, ...]  # corner of the box
    upper: tuple[float, ...]  # opposite corner
    margin: Array
    safe: NDArray[np.bool_]  # (rows, columns)
    hull: Array  # (n, 2), corners in order
    enlarged: Array  # (n, 2)
    samples: Array
    sample_reward: Array  # (n,)
    sample_safe: NDArray[np.bool_]  # (n,)
    on_slice: NDArray[np.bool_]  # (n,), the values that are not shown are those of the slice
    best: Array  # (2,)
    best_reward: float  # its reading
    best_expected: float  # what the model expects of it

    def axis(self, i: int, count: int | None = None) -> Array:
        """Return the grid along axis i, or `count` points from end to end."""
        return np.linspace(self.lower[i], self.upper[i], count or self.margin.shape[1 - i])

    def close_up(self) -> tuple[Array, Array]:
        """Return two corners around all that was tried, with room to grow, within the box."""
        known = np.vstack([self.samples, self.enlarged, self.hull])
        lower, upper = np.array(self.lower), np.array(self.upper)
        if not len(known):
            return lower, upper
        least = 0.15 * (upper - lower)
        room = np.maximum(0.35 * np.ptp(known, axis=0), least / 2)
        return (np.maximum(known.min(axis=0) - room, lower),
                np.minimum(known.max(axis=0) + room, upper))

    def boundary(self) -> list[Array]:
        """Return the border of the safe set as lines of (n, 2) values."""
        field = np.where(self.safe, np.maximum(self.margin, EDGE * ~(self.margin >= 0)),
                         np.where(self.margin < 0, self.margin, -EDGE))
        generator = contour_generator(self.axis(0), self.axis(1), field)
        return [np.asarray(line) for line in generator.lines(0.0)]

    def margin_at(self, values: Array) -> Array:
        """Return the margin at (n, 2) values, bilinear between the grid points."""
        share = (np.asarray(values, float) - self.lower) / np.subtract(self.upper, self.lower)
        return between(self.margin, share)


def between(field: Array, share: Array) -> Array:
    """Return a field at (n, 2) places, shares of its width and height, bilinear."""
    rows, columns = field.shape
    x = np.clip(share[:, 0], 0, 1) * (columns - 1)
    y = np.clip(share[:, 1], 0, 1) * (rows - 1)
    i, j = np.minimum(x.astype(int), columns - 2), np.minimum(y.astype(int), rows - 2)
    u, v = x - i, y - j
    return ((1 - u) * (1 - v) * field[j, i] + u * (1 - v) * field[j, i + 1]
            + (1 - u) * v * field[j + 1, i] + u * v * field[j + 1, i + 1])
