# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Trajectories on random RKHS functions, as in Algorithm 1: what the predictor learns from.

  symbol       meaning                                                          shape
  h            random RKHS function, norm U(0.5, 30)                            callable
  mean_norm    ‖μ_A‖ after N samples; 0 where the run has ended                 (T, S)
  r            1/∫σ² on hull, enlarged hull, box                                (T, S, 3)
  share        share of the box that hull, enlarged hull and box cover          (T, S, 3)
  label        true norm of h on hull, enlarged hull, box                       (T, S, 3)
  count        number of samples N; 0 where the run has ended                   (T, S)
  points       samples in their order; zeros after the end                      (T, S, n)
  values       what was measured there                                          (T, S)
  T, S         trajectories, samples and most steps (updates of the bands)      scalars

The norm of h on a sub-domain is that of its restriction, which is the norm of the smoothest
function with the same values there: evaluated on the samples that span the hull, on the point of
the domain next to each centre of h, on `REFERENCE` more points of each domain, and never more than
the norm on the box, which is known exactly. That is about 1 % low.

Everything about trajectory number i follows from (seed, i), so neither the number of workers
nor the order in which they finish can change the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from pacsbo_ros.core import (
    Kernel,
    NothingToPropose,
    Pacsbo,
    RkhsFunction,
    Settings,
    random_function,
)
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.optimizer import Predictor
from pacsbo_ros.core.rkhs import JITTER
from pacsbo_ros.core.settings import DOMAINS, NO_BOUND

NORMS = (0.5, 30.0)
SAFE_QUANTILE = 0.3  # h is safe above this quantile of its values, as in the paper
REFERENCE = 64  # points of each sub-domain, besides the samples, that its norm is evaluated on
NEARING = 40  # steps towards the nearest point of a hull
LOOK = 512  # points of the box from which threshold and starts are taken


@dataclass(frozen=True)
class Family:
    """Say which problems a checkpoint is made for; lengths in unit-cube lengths."""

    kernel: str
    dimension: int
    length_scales: tuple[float, float]  # lowest and highest
    lam: tuple[float, float] = (0.002, 0.05)  # λ/k(x, x), lowest and highest
    centres: int = 100  # of a random function
    noise: float = 0.01  # standard deviation of the Gaussian noise


@dataclass(frozen=True)
class Plan:
    """Say how to make one set of trajectories; `length_scale` None draws it from the family."""

    family: Family
    seed: int
    samples: int = 30
    candidates: int = 0  # 0: the optimiser's own choice
    length_scale: float | None = None
    lam: float | None = None
    starts: int = 3  # number of safe starts
    norm_bound: str = NO_BOUND  # the predictor decides alone


@dataclass(frozen=True)
class Problem:
    """Hold one random function, the settings of the loop and the safe starts."""

    h: RkhsFunction
    norm: float
    threshold: float  # h is safe where it is at least this
    settings: Settings
    starts: Array  # (A, n)


@dataclass(frozen=True)
class Trajectories:
    """Hold T runs of the loop; see the table of symbols above."""

    index: np.ndarray  # (T,) number of the function
    norm: Array  # (T,)
    length_scales: Array  # (T, n)
    lam: Array  # (T,)
    count: np.ndarray  # (T, S)
    mean_norm: Array  # (T, S)
    r: Array  # (T, S, 3)
    share: Array  # (T, S, 3)
    label: Array  # (T, S, 3)
    points: Array  # (T, S, n)
    values: Array  # (T, S)
    unsafe: np.ndarray  # (T,) evaluations below the threshold

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def steps(self) -> np.ndarray:
        """Give the number of recorded steps of every run, shape (T,)."""
        return np.sum(self.count > 0, axis=1)

    def take(self, where: Any) -> Trajectories:
        """Give some of the runs."""
        return Trajectories(*(getattr(self, f.name)[where] for f in fields(self)))

    def arrays(self) -> dict[str, np.ndarray]:
        """Give the arrays by name, for a file."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def join(cls, parts: Sequence[Trajectories]) -> Trajectories:
        """Put runs together, in the order of their numbers within each part."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def make_problem(plan: Plan, index: int) -> Problem:
    """Draw the problem number `index` of the plan."""
    family, n = plan.family, plan.family.dimension
    rng = np.random.default_rng([plan.seed, index])
    low, high = np.log(family.length_scales)
    centre, spread = rng.uniform(low, high), rng.uniform(-0.5, 0.5, size=n)
    lam = float(np.exp(rng.uniform(*np.log(family.lam))))
    if plan.length_scale is None:
        scales = np.exp(np.clip(centre + spread - spread.mean(), low, high))
    else:
        scales = np.full(n, plan.length_scale)
    lam = lam if plan.lam is None else plan.lam
    kernel = Kernel(family.kernel, tuple(scales.tolist()))
    norm = float(rng.uniform(*NORMS))
    h = random_function(kernel, family.centres, rng, norm)
    X = rng.random((LOOK, n))
    H = h(X)
    threshold = float(np.quantile(H, SAFE_QUANTILE))
    starts = X[rng.choice(np.flatnonzero(threshold <= H), size=plan.starts, replace=False)]
    settings = Settings(
        dimension=n, constraints=0, reward_threshold=threshold, kernel=family.kernel,
        length_scales=kernel.length_scales, lam=lam, noise_bound=family.noise,
        candidates=plan.candidates, window=plan.samples, norm_bound=plan.norm_bound)
    return Problem(h, norm, threshold, settings, starts)


def run(plan: Plan, index: int, predictor: Predictor | None = None) -> Trajectories:
    """
    Run the optimiser itself on one function; record what a predictor sees, and the true norms.

    Without a predictor every B is the true norm on its domain: the SafeOpt runs of Algorithm 1.
    """
    problem = make_problem(plan, index)
    noise, rng = random_streams(plan, index)
    threshold = problem.threshold
    S, step, unsafe = plan.samples, 0, 0
    count, mean_norm = np.zeros(S, dtype=int), np.zeros(S)
    r, share, label = np.zeros((3, S, 3))
    optimizer = Pacsbo(problem.settings, seed=plan.seed, predictor=predictor or (
        lambda history, settings, domain: float(label[step, DOMAINS.index(domain)])))
    hull = Hull(problem.starts[:1], problem.settings.enlargement)
    for x in problem.starts:
        hull = hull.with_sample(x)
        # A start is safe by assumption: noise may not contradict it.
        value = float(problem.h(x[None])[0]) + noise.standard_normal() * plan.family.noise
        optimizer.tell(x, [max(value, threshold)])
    label[0] = local_norms(problem, hull, rng)
    for step in range(S):
        A, _ = optimizer.samples
        if step:
            label[step] = label[step - 1]
            wider = hull.with_sample(A[-1])
            if wider is not hull:
                hull, label[step] = wider, local_norms(problem, wider, rng)
        state = optimizer.state()
        count[step], mean_norm[step] = len(A), state.norms[0].mean_norm
        r[step] = [e.reciprocal for e in state.norms]
        share[step] = [state.domain_share[d] for d in DOMAINS]
        proposal = optimizer.ask() if len(A) < plan.samples else None
        if proposal is None or isinstance(proposal, NothingToPropose):
            break
        value = float(problem.h(np.array([proposal.point]))[0])
        unsafe += value < threshold
        optimizer.tell(proposal.point, [value + noise.standard_normal() * plan.family.noise])
    points, values = np.zeros((S, plan.family.dimension)), np.zeros(S)
    A, Y = optimizer.samples
    points[:len(A)], values[:len(A)] = A, Y[:, 0]
    return Trajectories(*(np.array([value]) for value in (
        index, problem.norm, problem.h.kernel.length_scales, problem.settings.lam, count,
        mean_norm, r, share, label, points, values, unsafe)))


def random_streams(
    plan: Plan, index: int,
) -> tuple[np.random.Generator, np.random.Generator]:
    """Give the generators of the noise and of the reference points of one trajectory."""
    return (np.random.default_rng([plan.seed, index, 1]),
            np.random.default_rng([plan.seed, index, 2]))


def local_norms(problem: Problem, hull: Hull, rng: np.random.Generator) -> Array:
    """Give the true norm of h on hull, enlarged hull and box, shape (3,)."""
    inner, outer = reference_points(hull, problem.h, rng)
    kernel, U = problem.h.kernel, np.vstack([hull.A, inner, outer])
    K = kernel(U, U)
    K[np.diag_indices_from(K)] += JITTER * kernel.output_scale
    z = solve_triangular(np.linalg.cholesky(K), problem.h(U), lower=True, check_finite=False)
    # The sets are nested, so one factor serves both: a prefix of z belongs to the inner set.
    squares = np.cumsum(z * z)
    ends = [len(hull.A) + len(inner) - 1, len(U) - 1]
    return np.array([*np.minimum(np.sqrt(squares[ends]), problem.norm), problem.norm])


def reference_points(
    hull: Hull, h: RkhsFunction, rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Choose points of the hull (also a flat one) and of the shell, to evaluate norms on."""
    A, n, eps = hull.A, hull.A.shape[1], hull.eps
    if n == 1:
        low, high = A.min(), A.max()
        inner = np.linspace(low, high, REFERENCE + 2)[1:-1]
        shell = np.concatenate([np.linspace(max(low - eps, 0.0), low, REFERENCE // 2 + 1)[:-1],
                                np.linspace(high, min(high + eps, 1.0), REFERENCE // 2 + 1)[1:]])
        outside = (shell < low) | (shell > high)
        return inner[:, None], shell[outside, None]
    # Few vertices at a time reach the faces as well as the middle of the hull.
    inner = rng.dirichlet(np.full(len(A), 2.0 / len(A) ** 0.5), size=REFERENCE) @ A
    # A ray from each point leaves the hull through a face; the shell is up to eps beyond it.
    ray = rng.standard_normal((REFERENCE, n))
    face, way = _exits(inner, ray, hull.H, hull.b)
    beyond = inner + way[:, None] * ray + eps * rng.random((REFERENCE, 1)) * hull.H[face]
    # A centre is felt most at the point next to it: in the hull, and on the way out of it.
    scales = np.array(h.kernel.length_scales)
    near = _nearest(A / scales, h.centres / scales) * scales
    near = np.where(hull.level(h.centres)[:, None] <= 0.0, h.centres, near)
    box = np.vstack([np.eye(n), -np.eye(n)])
    _, way = _exits(near, h.centres - near, np.vstack([hull.H, box]), np.concatenate(
        [hull.b + eps, np.minimum(hull.high + eps, 1.0), -np.maximum(hull.low - eps, 0.0)]))
    edge = near + np.minimum(way, 1.0)[:, None] * (h.centres - near)
    shell = np.clip(np.vstack([beyond, edge]), 0.0, 1.0)
    return np.vstack([inner, near]), shell[hull.innermost(shell) == 1]


def _exits(X: Array, ray: Array, H: Array, b: Array) -> tuple[np.ndarray, Array]:
    """Give the face through which each ray leaves {x : H x <= b}, and how far along it."""
    speed, room = ray @ H.T, np.maximum(b - X @ H.T, 0.0)
    way = np.where(speed > 1e-12, room / np.maximum(speed, 1e-12), np.inf)
    face = np.argmin(way, axis=1)
    return face, way[np.arange(len(X)), face]


def _nearest(A: Array, X: Array) -> Array:
    """Give the point of the hull of A next to each X, nearly, by the method of Frank and Wolfe."""
    found = np.repeat(A.mean(axis=0)[None], len(X), axis=0)
    for _ in range(NEARING):
        away = found - X
        step = A[np.argmin(away @ A.T, axis=1)] - found
        length = np.maximum(np.sum(step * step, axis=1), np.finfo(float).tiny)
        found += np.clip(-np.sum(away * step, axis=1) / length, 0.0, 1.0)[:, None] * step
    return found
