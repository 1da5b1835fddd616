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
The nested sub-domains: convex hull of the samples, the enlarged hull, the box.

  symbol   meaning                                            shape
  A        samples                                            (N, n)
  H, b     half-spaces: the hull is {x : H x <= b}, ‖H_f‖ = 1  (F, n), (F,)
  level    max_f (H_f x - b_f), <= 0 inside                   (G,)
  eps      half of the enlargement                            scalar

A hull is always a list of half-spaces. Where the samples span fewer than n directions, the
missing directions u contribute the pair ±u, so that one point, collinear points and full hulls
are one case. The enlarged hull moves every half-space outwards by eps and stays within eps of
the bounding box of the samples (which trims the spikes at sharp corners) and inside the box.
Above MOST_DIRECTIONS the bounding box of the samples stands in for their hull, whose faces are too
many to count: it holds the hull, so a norm on it is no smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import DOMAINS
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

TOLERANCE = 1e-9  # unit-cube lengths: what counts as on the hull
FLAT = 1e-7  # a direction in which the samples spread less than this is missing
MOST_DIRECTIONS = 6  # a hundred samples in ten directions have a million faces
CHUNK = 4_000_000  # elements of the largest temporary matrix


class Hull:
    """Tell for any point whether it lies in the hull, in the enlarged hull, or beyond."""

    def __init__(self, A: Array, enlargement: float) -> None:
        self.eps = 0.5 * enlargement
        self.low, self.high = A.min(axis=0), A.max(axis=0)
        self.A = A.copy()
        self.H, self.b = half_spaces(A)

    def level(self, X: Array) -> Array:
        """Return how far outside the hull each point lies, <= 0 inside, inf far away."""
        near = np.ones(len(X), dtype=bool)
        for x, low, high in zip(X.T, self.low, self.high, strict=True):
            near &= x >= low - self.eps - TOLERANCE
            near &= x <= high + self.eps + TOLERANCE
        level = np.full(len(X), np.inf)
        where = np.flatnonzero(near)
        rows = max(1, CHUNK // len(self.H))
        for i in range(0, len(where), rows):
            part = where[i:i + rows]
            # Faces first: the maximum over them is fast along the long axis only.
            level[part] = np.max(self.H @ X[part].T - self.b[:, None], axis=0)
        return level

    def innermost(self, X: Array) -> Array:
        """Return 0 for points in the hull, 1 in the enlarged hull, 2 elsewhere in the box."""
        level = self.level(X)
        return 2 - (level <= self.eps + TOLERANCE).astype(int) - (level <= TOLERANCE)

    def with_sample(self, x: Array) -> Hull:
        """Return the hull of the samples and one more; itself if the point lies inside."""
        if np.max(self.H @ x - self.b) <= 0.0:
            return self
        return Hull(np.vstack([self.A, x]), 2.0 * self.eps)

    def enlarged_half_spaces(self) -> tuple[Array, Array]:
        """Return H and b of the enlarged hull: half-spaces moved outwards, cut by the boxes."""
        eye = np.eye(self.A.shape[1])
        return np.vstack([self.H, eye, -eye]), np.concatenate(
            [self.b + self.eps, np.minimum(self.high + self.eps, 1.0),
             -np.maximum(self.low - self.eps, 0.0)])

    def vertices(self, enlarged: bool = False) -> Array:
        """Return the corners, counter-clockwise in the plane, for drawing; shape (C, n)."""
        n = self.A.shape[1]
        if not enlarged:
            return _corners(self.A)
        H, b = self.enlarged_half_spaces()
        if n > MOST_DIRECTIONS:
            return self.A
        if n == 1:
            return np.array([[max(-b[i] for i in range(len(b)) if H[i, 0] < 0)],
                             [min(b[i] for i in range(len(b)) if H[i, 0] > 0)]])
        middle = 0.5 * (np.maximum(self.low - self.eps, 0) + np.minimum(self.high + self.eps, 1))
        middle = 0.999 * self.A.mean(axis=0) + 0.001 * middle
        cut = HalfspaceIntersection(np.column_stack([H, -b]), middle)
        return _corners(np.unique(cut.intersections.round(12), axis=0))


@dataclass(frozen=True, eq=False)
class Domains:
    """Know the innermost domain of every candidate, for one hull."""

    names: tuple[str, ...]  # innermost first
    hull: Hull
    where: np.ndarray  # (G,) index of the innermost domain
    masks: dict[str, np.ndarray]  # (G,) candidates of each domain
    inside: Array  # (D, G) the same as numbers

    @classmethod
    def sort(cls, names: tuple[str, ...], hull: Hull, X: Array,
             before: Domains | None = None) -> Domains:
        """Find the domains of the candidates; what was in the hull before stays there."""
        if before is None:
            where = innermost(names, hull, X)
        else:
            where = before.where.copy()
            outside = np.flatnonzero(where)
            where[outside] = innermost(names, hull, X[outside])
        masks = {d: where <= j for j, d in enumerate(names)}
        return cls(names, hull, where, masks, np.array(list(masks.values()), dtype=float))


def innermost(names: tuple[str, ...], hull: Hull, X: Array) -> np.ndarray:
    """Return the index in `names` of the innermost domain of each point."""
    return _positions(names)[hull.innermost(X)]


@lru_cache
def _positions(names: tuple[str, ...]) -> np.ndarray:
    """Return for hull, enlarged hull and box the index of the innermost that is in use."""
    return np.array([min(names.index(d) for d in DOMAINS[k:] if d in names)
                     for k in range(len(DOMAINS))])


def half_spaces(A: Array) -> tuple[Array, Array]:
    """Return unit normals H and offsets b with hull(A) = {x : H x <= b}."""
    if A.shape[1] > MOST_DIRECTIONS:
        eye = np.eye(A.shape[1])
        return np.vstack([eye, -eye]), np.concatenate([A.max(axis=0), -A.min(axis=0)])
    centre = A.mean(axis=0)
    _, spread, axes = np.linalg.svd(A - centre, full_matrices=len(A) < A.shape[1])
    rank = int(np.sum(spread > FLAT))
    while True:
        try:
            inner, b = _full_hull((A - centre) @ axes[:rank].T)
            break
        except QhullError:  # flatter than qhull's own tolerance
            rank -= 1
    missing = axes[rank:]
    H = np.vstack([inner @ axes[:rank], missing, -missing])
    b = np.concatenate([b, np.zeros(2 * len(missing))])
    return H, b + H @ centre


def _full_hull(Z: Array) -> tuple[Array, Array]:
    """Return the half-spaces of points that span all their directions (none, one or more)."""
    r = Z.shape[1]
    if r == 0:
        return np.empty((0, 0)), np.empty(0)
    if r == 1:
        return np.array([[1.0], [-1.0]]), np.array([Z.max(), -Z.min()])
    equations = ConvexHull(Z).equations
    if r > 2:  # faces come as simplices there, and many share a plane
        equations = np.unique(equations.round(14), axis=0)
    return equations[:, :-1], -equations[:, -1]


def _corners(A: Array) -> Array:
    """Return the extreme points among A; all of them where the hull is flat or a line."""
    n = A.shape[1]
    if n == 1:
        return np.array([A.min(axis=0), A.max(axis=0)])
    if n > MOST_DIRECTIONS:
        return A
    try:
        return A[ConvexHull(A).vertices]
    except QhullError:
        _, _, axes = np.linalg.svd(A - A.mean(axis=0))
        along = A @ axes[0]
        return A[[int(along.argmin()), int(along.argmax())]]
