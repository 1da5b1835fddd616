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

Everything about trajectory number i follows from (seed, i), so neither the number of workers
nor the order in which they finish can change the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from pacsbo_ros.core import (
    Kernel,
    NothingToPropose,
    Predictor,
    random_function,
    REPEAT,
    RkhsFunction,
    SafeOptimizer,
    Settings,
)
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.local_norms import LocalNorms, TrueNorms
from pacsbo_ros.core.settings import DOMAINS

NORMS = (0.5, 30.0)
SAFE_QUANTILE = 0.3  # h is safe above this quantile of its values, as in the paper
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
    rule: str = 'none'  # the predictor decides alone


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
        """Return the number of recorded steps of every run, shape (T,)."""
        return np.sum(self.count > 0, axis=1)

    def take(self, where: Any) -> Trajectories:
        """Return some of the runs."""
        return Trajectories(*(getattr(self, f.name)[where] for f in fields(self)))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, for a file."""
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
        candidates=plan.candidates, window=plan.samples, rule=plan.rule,
        starts=plan.starts)
    return Problem(h, norm, threshold, settings, starts)


def run(plan: Plan, index: int, predictor: Predictor | None = None) -> Trajectories:
    """
    Run the optimiser itself on one function; record what a predictor sees, and the true norms.

    Without a predictor every B is the true norm on its domain: the SafeOpt runs of Algorithm 1.
    """
    problem = make_problem(plan, index)
    noise, rng = random_streams(plan, index)
    threshold = problem.threshold
    S, unsafe = plan.samples, 0
    count, mean_norm = np.zeros(S, dtype=int), np.zeros(S)
    r, share, label = np.zeros((3, S, 3))
    truth = LocalNorms(problem.h, problem.norm, rng)
    optimizer = SafeOptimizer(problem.settings, plan.seed, predictor,
                              None if predictor else TrueNorms.of(truth))
    for x in problem.starts:
        # A start is safe by assumption: noise may not contradict it.
        value = float(problem.h(x[None])[0]) + noise.standard_normal() * plan.family.noise
        optimizer.tell(x, [max(value, threshold)])
    for step in range(S):
        A, _ = optimizer.samples
        state = optimizer.state()
        label[step] = list(truth.on(optimizer.hull).values())
        count[step], mean_norm[step] = len(A), state.norms[0].mean_norm
        r[step] = [e.reciprocal for e in state.norms]
        share[step] = [state.domain_share[d] for d in DOMAINS]
        proposal = optimizer.ask() if len(A) < plan.samples else None
        if proposal is None or isinstance(proposal, NothingToPropose) or proposal.role == REPEAT:
            break  # a history of repeats teaches nothing
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
    """Return the generators of the noise and of the reference points of one trajectory."""
    return (np.random.default_rng([plan.seed, index, 1]),
            np.random.default_rng([plan.seed, index, 2]))
