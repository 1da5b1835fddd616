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
A yardstick for estimates of norms: Bayes' rule, if one knows how the functions are drawn.

  symbol   meaning                                                     shape
  A, y     samples and what was measured there                         (N, n), (N,)
  C        centres of the function                                     (P, n)
  a        coefficients of a function that may have been measured      (q, P)
  s        their scale: given s, a ~ N(0, s²I)                         (q,)
  weight   of a function: how likely its norm and its starts are       (q,)

The estimate is a quantile of the norms of the functions that may have been measured. The
*informed* one is told the centres of the very function, and that norms are U(0.5, 30): who covers
every history alike cannot have less. The other one has centres of its own and holds every scale
for possible, as a predictor has to. Neither is told the threshold.

In polar form a Gaussian direction with a free scale, p(s) = 1/s, has the density 1/‖h‖ in the
norm, hence the weight ‖h‖ for a uniform one. (Coefficients are U[-1, 1] in truth; sums of many are
nearly normal.) Starts are among the safe points, so a function of which they are not is out.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.local_norms import domain_norms, reference_points
from pacsbo_ros.predictor.data import LOOK, make_problem, NORMS, Plan, SAFE_QUANTILE, Trajectories

DRAWS = 500
CENTRES = 300  # of the uninformed: one large set in place of many sets of 100 to average over
SCALES = np.geomspace(1e-3, 1e2, 100)  # of coefficients; norms up to 30 have less than ten
LENIENT = 0.05  # of a rank, which other points of the box give a little differently


def ideal_ratios(
    runs: Trajectories, plan: Plan, level: float, informed: bool, numbers: tuple[int, ...],
) -> Array:
    """Return estimate / true norm along one recorded run at some numbers of samples, (1, S, 3)."""
    ratios = np.full((1, runs.count.shape[1], 3), np.nan)
    problem = make_problem(plan, int(runs.index[0]))
    h, kernel, n = problem.h, problem.h.kernel, plan.family.dimension
    rng = np.random.default_rng([plan.seed, int(runs.index[0]), 3])
    C = h.centres if informed else rng.random((CENTRES, n))
    across_box, gram = kernel(rng.random((LOOK, n)), C), kernel(C, C)
    for step in np.flatnonzero(np.isin(runs.count[0], numbers)):
        N = runs.count[0, step]
        hull = Hull(runs.points[0, :N], problem.settings.enlargement)
        a = draw_coefficients(
            kernel, hull.A, runs.values[0, :N], C, plan.family.noise, rng).T
        on_box = np.sqrt(np.einsum('pq,pq->q', gram @ a, a))
        weight = _starts_are_safe(across_box @ a, kernel(hull.A[:plan.starts], C) @ a)
        if informed:
            weight *= on_box * ((NORMS[0] < on_box) & (on_box < NORMS[1]))
        if not weight.any():  # once in many thousands no draw will do: then all count alike
            weight = np.ones_like(weight)
        inner, shell = reference_points(hull, h, rng)  # where drawn and true norms are evaluated
        parts = (np.vstack([hull.A, inner]), shell)
        U = np.vstack(parts)
        drawn = domain_norms(kernel, parts, kernel(U, C) @ a, on_box)
        true = domain_norms(kernel, parts, h(U), problem.norm)
        ratios[0, step] = [weighted_quantile(row, weight, level) for row in drawn] / true
    return ratios


def draw_coefficients(
    kernel: Kernel, A: Array, y: Array, C: Array, noise: float, rng: np.random.Generator,
) -> Array:
    """Draw the coefficients of functions that may have been measured, (q, P)."""
    K = kernel(A, C)
    values, E = np.linalg.eigh(K @ K.T)
    variance = SCALES[:, None] ** 2 * np.maximum(values, 0.0) + noise ** 2
    likelihood = -0.5 * np.sum(np.log(variance) + (y @ E) ** 2 / variance, axis=1)
    p = np.exp(likelihood - likelihood.max())  # the grid is even in ln s: p(s) = 1/s
    chosen = rng.choice(len(SCALES), size=DRAWS, p=p / p.sum())
    # Matheron's rule: draw freely, then correct by what the measurements say.
    a = SCALES[chosen, None] * rng.standard_normal((DRAWS, len(C)))
    error = y - a @ K.T - noise * rng.standard_normal((DRAWS, len(A)))
    return a + SCALES[chosen, None] ** 2 * (error @ E / variance[chosen]) @ (K.T @ E).T


def _starts_are_safe(across_box: Array, at_starts: Array) -> Array:
    """Return 1 for functions (columns) that are high enough at all starts, else 0."""
    rank = np.mean(across_box < at_starts.min(axis=0), axis=0)
    return (rank >= SAFE_QUANTILE - LENIENT).astype(float)


def weighted_quantile(values: Array, weight: Array, level: float) -> float:
    """Return the least value with this share of the weight at or below it."""
    order = np.argsort(values)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][np.searchsorted(share, level)])
