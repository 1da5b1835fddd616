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
Safe set, maximisers and expanders on the candidate set, as in SafeOpt.

  symbol    meaning                                                          shape
  mu        posterior means                                                  (m, G)
  sigma     posterior standard deviations                                    (m, G)
  low, up   confidence band of every output                                  (m, G)
  h_min     thresholds: safe means low >= h_min                              (m,)
  S         safe: every low >= h_min, or a safe start                        (G,) bool
  M         maximisers: safe, and up[0] >= the best safe low[0]              (G,) bool
  G         expanders: safe, and could make an unsafe candidate safe         tested lazily

G is never computed whole: only its most uncertain point matters, so the safe points are tested
in the order of their uncertainty until one is an expander.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.choice import View
from pacsbo_ros.core.kernels import Array

CHUNK = 8  # safe points tested first
LARGEST = 128  # and tested at once


def maximisers(band: Band, S: np.ndarray) -> np.ndarray:
    """Return M from output 0."""
    best = np.where(S, band.low[0], -np.inf).max()
    return S & (band.up[0] >= best)


Expands = Callable[[np.ndarray, np.ndarray], np.ndarray]


def first_expander(
    queue: np.ndarray, sigma: Array, targets: np.ndarray, expands: Expands,
) -> int | None:
    """Return the most uncertain candidate of the queue that expands; None if there is none."""
    if not len(targets):
        return None
    # Most often one of the best few expands: sort and test only as far as needed.
    size = CHUNK
    while len(queue):
        size = min(size, len(queue))
        part = np.argpartition(-sigma[queue], size - 1)[:size]
        part = part[np.argsort(-sigma[queue[part]], kind='stable')]
        chunk = queue[part]
        for i in range(0, size, LARGEST):
            piece = chunk[i:i + LARGEST]
            hits = np.flatnonzero(expands(piece, targets))
            if len(hits):
                return int(piece[hits[0]])
        queue = np.delete(queue, part)
        size *= 4
    return None


def nearest_to_safe(band: Band, S: np.ndarray, h_min: Array, count: int) -> np.ndarray:
    """Return the unsafe candidates whose lower bounds miss the thresholds least."""
    outside = np.flatnonzero(~S)
    if len(outside) <= count:
        return outside
    free = np.isfinite(h_min)
    miss = np.min(band.low[free][:, outside] - h_min[free, None], axis=0)
    return outside[np.argpartition(-miss, count)[:count]]


def one_step(view: View) -> Expands:
    """
    Make the optimistic test: measure up(x) at x; would the new band call a target safe.

    With c = cov(x, z) and s = sigma²(x) + λ, the mean at z moves by c/s·(up(x) - mu(x)) and the
    variance falls by c²/s.
    """
    band, rule, h_min = view.band, view.rule, view.h_min

    def expands(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        reached = np.ones((len(x), len(z)), dtype=bool)
        moves: dict[int, tuple[Array, Array]] = {}
        for i in np.flatnonzero(np.isfinite(h_min)):
            group = rule.groups[i]
            if group not in moves:
                c = rule.covariance(group, x, z)
                gain = c / (band.sigma[i, x] ** 2 + rule.nugget(group))[:, None]
                moves[group] = gain, np.maximum(band.sigma[i, z] ** 2 - gain * c, 0.0)
            gain, var = moves[group]
            mean = band.mu[i, z] + gain * (band.up[i, x] - band.mu[i, x])[:, None]
            reached &= mean - band.beta[i, z] * np.sqrt(var) >= h_min[i]
        return np.any(reached, axis=1)
    return expands


def metric(view: View) -> Expands:
    """Make the RKHS-metric test: up_i(x) - B_i·d_k(x, z) >= h_min for all outputs of a target."""
    band, kernels, h_min = view.band, view.settings.kernels(), view.h_min
    B = band.B

    def expands(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        reached = np.ones((len(x), len(z)), dtype=bool)
        for i in np.flatnonzero(np.isfinite(h_min)):
            distance = kernels[i].distance(view.X[x], view.X[z])
            reached &= band.up[i, x][:, None] - B[i, z] * distance >= h_min[i]
        return np.any(reached, axis=1)
    return expands


EXPANDER_TESTS = {'one_step': one_step, 'metric': metric}
