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
The best value that a safe method can reach: through connected safe points from the starts.

  symbol    meaning                                                    shape
  X, H      points and the values of h on them                         (G, n), (G,)
  radius    two points are neighbours within this distance             scalar

No method that stays in the safe set and moves through it can pass a gap of unsafe points, so the
optimum beyond one is nobody's regret. On a grid neighbours share a corner; among scattered points
they are as far apart as keeps all points of the box connected.
"""
from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

CORNER = 1.01  # of a grid cell's diagonal
SPREAD = 2.0  # times the median distance to the nearest neighbour, where points are scattered


def neighbour_radius(X: Array, side: int | None) -> float:
    """Return the distance within which points are neighbours; side is that of a grid."""
    n = X.shape[1]
    if side is not None:
        return CORNER * float(np.sqrt(n)) / (side - 1)
    nearest = cKDTree(X).query(X, k=2)[0][:, 1]
    return SPREAD * float(np.median(nearest))


def reachable_best(X: Array, H: Array, threshold: float, starts: Array, values: Array,
                   side: int | None = None) -> float:
    """Return the highest value among safe points connected with a start, starts included."""
    safe = threshold <= H
    points, heights = np.vstack([X[safe], starts]), np.concatenate([H[safe], values])
    pairs = cKDTree(points).query_pairs(neighbour_radius(X, side), output_type='ndarray')
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])),
                       shape=(len(points), len(points)))
    label = connected_components(graph, directed=False)[1]
    own = set(label[-len(starts):].tolist())
    return float(heights[[part in own for part in label.tolist()]].max())
