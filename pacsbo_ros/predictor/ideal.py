# Copyright the pacsbo_ros developers. Apache-2.0.
"""
How tight an estimate could be: Bayes' rule, used by who knows how the functions are drawn.

  symbol   meaning                                                     shape
  A, y     samples and what was measured there                         (N, n), (N,)
  C        centres of the function                                     (P, n)
  a        coefficients of a function that may have been measured      (q, P)
  s        their scale: given s, a ~ N(0, s²I)                         (q,)
  weight   of a function: how likely its norm and its starts are       (q,)

The estimate is the quantile of the norms of all functions that may have been measured. Who is
*told* the centres, and that the norm is U(0.5, 30), cannot be beaten on average; who is not told
draws centres at random and holds every scale for possible, as a predictor has to.

In polar form a Gaussian direction with a free scale, p(s) = 1/s, has the density 1/‖h‖ in the
norm, hence the weight ‖h‖ for a uniform one. (Coefficients are U[-1, 1] in truth; sums of many are
nearly normal.) Starts are among the safe points, so a function of which they are not is out.
"""

from __future__ import annotations

import numpy as np

from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.local_norms import reference_points
from pacsbo_ros.core.rkhs import whitened_values
from pacsbo_ros.predictor.data import LOOK, NORMS, SAFE_QUANTILE, Plan, Trajectories, make_problem

DRAWS = 500
CENTRES = 300  # of who is not told them
SCALES = np.geomspace(1e-3, 1e2, 100)  # of coefficients; norms up to 30 have less than ten
LENIENT = 0.05  # of a rank, which other points of the box give a little differently


def ideal_ratios(
    runs: Trajectories, plan: Plan, level: float, told: bool, numbers: tuple[int, ...],
) -> Array:
    """Give estimate / true norm along one recorded run at some numbers of samples, (1, S, 3)."""
    ratios = np.full((1, runs.count.shape[1], 3), np.nan)
    problem = make_problem(plan, int(runs.index[0]))
    h, noise, n = problem.h, plan.family.noise, plan.family.dimension
    rng = np.random.default_rng([plan.seed, int(runs.index[0]), 3])
    C = h.centres if told else rng.random((CENTRES, n))
    look = h.kernel(rng.random((LOOK, n)), C)
    for N in numbers:
        if not np.any(runs.count[0] == N):
            continue
        hull = Hull(runs.points[0, :N], problem.settings.enlargement)
        a = draw_coefficients(h.kernel, hull.A, runs.values[0, :N], C, noise, rng)
        norm = np.sqrt(np.einsum('qp,qp->q', a @ h.kernel(C, C), a))
        inner, shell = reference_points(hull, h, rng)
        U = np.vstack([hull.A, inner, shell])
        F = h.kernel(U, C) @ a.T  # (points, q)
        rank = np.mean(look @ a.T < F[:plan.starts].min(axis=0), axis=0)  # of the lowest start
        weight = (rank >= SAFE_QUANTILE - LENIENT).astype(float)
        if told:
            weight *= norm * ((NORMS[0] < norm) & (norm < NORMS[1]))
        ends = [len(hull.A) + len(inner) - 1, len(U) - 1]
        whitened = whitened_values(h.kernel, U, np.column_stack([F, h(U)]))
        local = np.sqrt(np.cumsum(whitened ** 2, axis=0)[ends])
        every = np.append(norm, problem.norm)
        norms = np.vstack([np.minimum(local, every), every])
        if weight.any():
            step = int(np.flatnonzero(runs.count[0] == N)[0])
            ratios[0, step] = [_quantile(row[:-1], weight, level) / row[-1] for row in norms]
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


def _quantile(values: Array, weight: Array, level: float) -> float:
    order = np.argsort(values)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][np.searchsorted(share, level)])
