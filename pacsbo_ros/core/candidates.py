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
The finite set of points on which the optimiser looks.

  symbol   meaning                                             shape
  X        candidates: [fixed | refined | near | starts]      (G, n)
  order    a fixed shuffle of the candidates, for sub-sampling (G,)

A regular grid for n <= 3. Above, low-discrepancy points, and a quarter of the set is drawn
again before each proposal around the safe frontier, where the next experiment will lie.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import Settings

DEFAULT_COUNT = {1: 1000, 2: 10_000, 3: 27_000}
DEFAULT_ABOVE = 20_000
REFINED_SHARE = 0.25
NEAR = (0.01, 0.03, 0.1, 0.2)  # length scales from a start
PER_POINT = 16  # numbers kept per candidate besides the rows of V


@dataclass(frozen=True)
class CandidateSet:
    """Hold the first candidates and say which slice may be drawn again."""

    X: Array
    refined: slice
    order: np.ndarray


def candidate_count(settings: Settings) -> int:
    """Return the number of candidates that the settings ask for and the memory allows."""
    n = settings.dimension
    count = settings.candidates or DEFAULT_COUNT.get(n, DEFAULT_ABOVE)
    groups = len(set(settings.kernels()))
    matrices = groups if settings.rule != 'student' else len(settings.length_scale_factors) * (
        groups + settings.outputs)
    per_candidate = 8 * (settings.max_samples * matrices + PER_POINT + n)
    allowed = int(settings.memory_limit / per_candidate)
    if allowed < 2 ** n:
        raise ValueError(
            f'memory_limit is {settings.memory_limit:g} bytes; it allows {allowed} candidates, '
            f'too few for {n} dimensions and max_samples = {settings.max_samples}')
    return min(count, allowed)


def make_candidates(settings: Settings, starts: Array, seed: int) -> CandidateSet:
    """Lay out the candidates; the safe starts are always among them."""
    n, count = settings.dimension, candidate_count(settings)
    if n <= 3:
        side = max(2, math.floor(count ** (1.0 / n) + 1e-9))
        axes = [np.linspace(0.0, 1.0, side)] * n
        fixed = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)
        refined = np.empty((0, n))
    else:
        from scipy.stats import qmc  # takes most of a second to load, and n <= 3 needs none
        points = qmc.Sobol(n, seed=np.random.default_rng([seed, 1])).random_base2(
            max(2, math.ceil(math.log2(count))))[:count]
        split = count - int(REFINED_SHARE * count)
        fixed, refined = points[:split], points[split:]
    near = np.empty((0, n))
    if settings.acquisition == 'goal':  # it walks in small steps; SafeOpt takes the grid as it is
        near = around(starts, settings.kernels()[0].length_scales)
    X = np.vstack([fixed, refined, near, starts])
    order = np.random.default_rng([seed, 2]).permutation(len(X))
    return CandidateSet(X, slice(len(fixed), len(fixed) + len(refined)), order)


def around(starts: Array, length_scales: tuple[float, ...]) -> Array:
    """Return points close to the starts along the axes: a grid may be too coarse to leave them."""
    n = starts.shape[1]
    steps = np.vstack([sign * d * np.diag(length_scales) for d in NEAR for sign in (1, -1)])
    X = (starts[:, None, :] + steps[None]).reshape(-1, n)
    return X[np.all((X >= 0) & (X <= 1), axis=1)]


def refine(
    anchors: Array, length_scales: tuple[float, ...], count: int, rng: np.random.Generator,
) -> Array:
    """Draw points around the anchors, at all scales up to one length scale, inside the box."""
    if not count:
        return np.empty((0, len(length_scales)))
    chosen = anchors[rng.integers(len(anchors), size=count)]
    reach = 10.0 ** rng.uniform(-2.0, 0.0, size=(count, 1)) * np.asarray(length_scales)
    return np.clip(chosen + reach * rng.standard_normal(chosen.shape), 0.0, 1.0)
