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
The loop of the optimiser on many functions at once: cheap trajectories for training.

  symbol    meaning                                                        shape
  X         candidates: a regular or low-discrepancy set, and the starts   (F, G, n)
  Z         candidates divided by the length scales                        (F, G, n)
  V, W      rows L⁻¹ k(A, X) and L⁻¹ y, as in the Gaussian process         (F, N, G), (F, N)
  L         Cholesky factor of K + λI                                      (F, N, N)
  low, up   the bands                                                      (F, G)
  where     innermost domain of every candidate                            (F, G)
  S         safe candidates                                                (F, G)

One reward, safe above a threshold, one kernel: with the same candidates it proposes what
`SafeOptimizer` proposes. Every sample is a candidate, so a new row of L is a column of V and no
triangular system has to be solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.core.candidates import make_candidates, refine
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array, SHAPES
from pacsbo_ros.core.ledger import noise_share
from pacsbo_ros.core.local_norms import LocalNorms
from pacsbo_ros.predictor.data import (
    make_problem,
    Plan,
    Problem,
    random_streams,
    Trajectories,
)

ANCHORS = 64  # most uncertain safe candidates around which some are drawn again
CHUNK = 16  # safe candidates tested at once for being expanders

# Gives the estimates (F, 3) of the norm on the domains from mean_norm (F, H), r (F, H, 3),
# length scales (F, n) and λ (F,).
Estimator = Callable[[Array, Array, Array, Array], Array]


class Batch:
    """Keep F Gaussian processes and F safe sets in step."""

    def __init__(self, plan: Plan, problems: Sequence[Problem]) -> None:
        self.plan, self.problems = plan, problems
        s = problems[0].settings
        sets = [make_candidates(p.settings, p.starts, plan.seed) for p in problems]
        self.X, self.refined = np.stack([c.X for c in sets]), sets[0].refined
        self.ell = np.array([p.h.kernel.length_scales for p in problems])
        self.lam = np.array([p.settings.lam for p in problems])
        self.threshold = np.array([[p.threshold] for p in problems])
        self.Z = self.X / self.ell[:, None]
        self.shape = SHAPES[s.kernel]
        F, G, S = *self.X.shape[:2], plan.samples
        self.rows, self.N = np.arange(F), 0
        self.V, self.W, self.L = np.empty((F, S, G)), np.empty((F, S)), np.zeros((F, S, S))
        self.mu, self.var = np.zeros((F, G)), np.ones((F, G))
        self.A, self.Y = np.zeros((F, S, s.dimension)), np.zeros((F, S))
        self.S: np.ndarray | None = None
        self.hulls: list[Hull] = []
        self.settings = s
        self.delta_noise = noise_share(s.delta, 1)

    def add(self, choice: np.ndarray, y: Array) -> None:
        """Take one sample of every function, at a candidate."""
        N, rows = self.N, self.rows
        ell = self.V[rows, :N, choice]
        pivot = np.sqrt(np.maximum(self.var[rows, choice], 0.0) + self.lam)
        d = np.linalg.norm(self.Z - self.Z[rows, choice][:, None], axis=2)
        v = self.shape(d)
        if N:
            v -= np.matmul(ell[:, None], self.V[:, :N])[:, 0]
        v /= pivot[:, None]
        w = (y - np.einsum('fn,fn->f', ell, self.W[:, :N])) / pivot
        self.V[:, N], self.W[:, N] = v, w
        self.L[:, N, :N], self.L[:, N, N] = ell, pivot
        self.A[:, N], self.Y[:, N] = self.X[rows, choice], y
        self.mu += w[:, None] * v
        self.var -= v * v
        self.N += 1
        before = self.hulls if N else [
            Hull(x[None], self.settings.enlargement) for x in self.A[:, 0]]
        self.hulls = [h.with_sample(x) for h, x in zip(before, self.A[:, N], strict=True)]

    def mean_norms(self) -> Array:
        """Return ‖μ_A‖ of every function."""
        W, L = self.W[:, :self.N], self.L[:, :self.N, :self.N]
        alpha = np.linalg.solve(L.transpose(0, 2, 1), W[..., None])[..., 0]
        square = np.sum(W ** 2, axis=1) - self.lam * np.sum(alpha ** 2, axis=1)
        return np.sqrt(np.maximum(square, 0.0))

    def measure(self, choice: np.ndarray) -> Array:
        """Return the true values at one candidate of every function."""
        return np.array([p.h(x[None])[0] for p, x in zip(
            self.problems, self.X[self.rows, choice], strict=True)])

    def redraw(self) -> None:
        """Draw a part of the candidates again, as the optimiser does above three dimensions."""
        part, N = self.refined, self.N
        count = part.stop - part.start
        if not count:
            return
        for f in self.rows:
            anchors = self.A[f, :N][self.Y[f, :N] >= self.threshold[f]]
            if self.S is not None:
                S = np.flatnonzero(self.S[f])
                by_doubt = S[np.argsort(-self.sigma[f, S])]
                anchors = np.vstack([anchors, self.X[f, by_doubt[:ANCHORS]]])
            rng = np.random.default_rng([self.plan.seed, 5, N])
            self.X[f, part] = refine(anchors, tuple(self.ell[f]), count, rng)
        self.Z[:, part] = self.X[:, part] / self.ell[:, None]
        d = np.linalg.norm(
            (self.A[:, :N] / self.ell[:, None])[:, :, None] - self.Z[:, None, part], axis=3)
        V = np.linalg.solve(self.L[:, :N, :N], self.shape(d))
        self.V[:, :N, part] = V
        self.mu[:, part] = np.matmul(self.W[:, None, :N], V)[:, 0]
        self.var[:, part] = 1.0 - np.sum(V * V, axis=1)

    def locate(self) -> tuple[Array, Array]:
        """Find the innermost domain of every candidate; give r and share of the domains."""
        self.where: NDArray[np.intp] = np.stack([
            h.innermost(X) for h, X in zip(self.hulls, self.X, strict=True)])
        var = np.maximum(self.var, 0.0)
        inside = np.stack([self.where <= d for d in range(3)], axis=1)
        integral = np.matmul(inside, var[..., None])[..., 0] / var.shape[1]
        spread = inside[:, :, :self.refined.start]  # the others lie where the search goes
        return (1.0 / np.maximum(integral, np.finfo(float).tiny ** 0.5), spread.mean(axis=2))

    def choose(self, B: Array) -> np.ndarray:
        """Return the next candidate of every function, -1 where there is none."""
        s = self.settings
        diagonal = np.diagonal(self.L[:, :self.N, :self.N], axis1=1, axis2=2)
        log_det = 2 * np.sum(np.log(diagonal), axis=1) - self.N * np.log(self.lam)
        beta = B + (s.noise_bound / np.sqrt(self.lam) * np.sqrt(
            log_det + 2 * np.log(1 / self.delta_noise)))[:, None]
        self.sigma = sigma = np.sqrt(np.maximum(self.var, 0.0))
        self.beta = np.take_along_axis(beta, self.where, axis=1)
        self.low, self.up = self.mu - self.beta * sigma, self.mu + self.beta * sigma
        S = self.low >= self.threshold
        S[:, S.shape[1] - self.plan.starts:] = True
        self.S = S
        opened = self.up - self.low > s.tolerance
        best = np.max(self.low, axis=1, where=S, initial=-np.inf)
        M = S & (self.up >= best[:, None]) & opened
        level = np.max(sigma, axis=1, where=M, initial=0.0)
        choice = self._expanders(S, S & opened & ~M & (sigma > level[:, None]), sigma)
        found = choice >= 0
        level[found] = sigma[found, choice[found]]
        bold = M & (sigma >= s.caution * level[:, None])
        by_up = np.argmax(np.where(bold, self.up, -np.inf), axis=1)
        choice = np.where(np.any(bold, axis=1), by_up, choice)
        return np.where([self._only_measured_is_safe(f) for f in self.rows.tolist()], -1, choice)

    def _only_measured_is_safe(self, f: int) -> bool:
        """Tell whether all that is safe of one function has been measured already."""
        assert self.S is not None
        safe = np.flatnonzero(self.S[f])
        known = {tuple(x) for x in self.A[f, :self.N].tolist()}
        return len(safe) <= 2 * self.N and all(
            tuple(x) in known for x in self.X[f, safe].tolist())

    def _expanders(self, S: np.ndarray, eligible: np.ndarray, sigma: Array) -> np.ndarray:
        """Return the most uncertain eligible candidate that expands, -1 where none does."""
        count = min(self.settings.expander_targets, S.shape[1] - 1)
        miss = np.where(S, -np.inf, self.low - self.threshold)
        targets = np.argpartition(-miss, count, axis=1)[:, :count]
        choice = np.full(len(S), -1)
        order = np.argsort(-np.where(eligible, sigma, -1.0), axis=1, kind='stable')
        left = np.sum(eligible, axis=1)
        open_ = np.flatnonzero((left > 0) & np.any(~S, axis=1))
        for start in range(0, S.shape[1], CHUNK):
            open_ = open_[left[open_] > start]
            if not len(open_):
                break
            x = order[open_, start:start + CHUNK]
            hit = self._expands(open_, x, targets[open_], S) & (
                start + np.arange(x.shape[1]) < left[open_, None])
            done = np.any(hit, axis=1)
            choice[open_[done]] = x[done, np.argmax(hit[done], axis=1)]
            open_ = open_[~done]
        return choice

    def _expands(self, f: np.ndarray, x: np.ndarray, z: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Tell whether an optimistic measurement at x would make one of z safe."""
        rows, N = f[:, None], self.N
        Zx, Zz = self.Z[rows, x], self.Z[rows, z]
        d = np.linalg.norm(Zx[:, :, None] - Zz[:, None], axis=3)
        Vx = self.V[rows[..., None], np.arange(N)[:, None], x[:, None]]
        Vz = self.V[rows[..., None], np.arange(N)[:, None], z[:, None]]
        c = self.shape(d) - np.matmul(Vx.transpose(0, 2, 1), Vz)
        gain = c / (np.maximum(self.var[rows, x], 0.0) + self.lam[rows])[..., None]
        var = np.maximum(self.var[rows, z][:, None] - gain * c, 0.0)
        mean = self.mu[rows, z][:, None] + gain * (
            self.up[rows, x] - self.mu[rows, x])[..., None]
        safe = mean - self.beta[rows, z][:, None] * np.sqrt(var) >= self.threshold[f][..., None]
        return np.any(safe & ~S[rows, z][:, None], axis=2)


def run_batch(
    plan: Plan, indices: Sequence[int], estimator: Estimator | None = None,
) -> Trajectories:
    """
    Run the loop on some functions of the plan; record what a predictor sees, and true norms.

    Without an estimator every B is the true norm on its domain: the SafeOpt runs of Algorithm 1.
    """
    problems = [make_problem(plan, i) for i in indices]
    streams = [random_streams(plan, i) for i in indices]
    noise = plan.family.noise * np.stack([g.standard_normal(plan.samples) for g, _ in streams])
    truths = [LocalNorms(p.h, p.norm, g) for p, (_, g) in zip(problems, streams, strict=True)]
    batch = Batch(plan, problems)
    F, S = len(problems), plan.samples
    count, mean_norm = np.zeros((F, S), dtype=int), np.zeros((F, S))
    r, share, label = np.zeros((3, F, S, 3))
    unsafe, live = np.zeros(F, dtype=int), np.ones(F, dtype=bool)
    first = batch.X.shape[1] - plan.starts
    for i in range(plan.starts):
        choice = np.full(F, first + i)
        # A start is safe by assumption: noise may not contradict it.
        y = np.maximum(batch.measure(choice) + noise[:, i], batch.threshold[:, 0])
        batch.add(choice, y)
    for step in range(S - plan.starts + 1):
        N, at = batch.N, np.flatnonzero(live)
        batch.redraw()
        mean_norm[at, step], count[at, step] = batch.mean_norms()[at], N
        r[at, step], share[at, step] = (part[at] for part in batch.locate())
        for f in at:
            label[f, step] = list(truths[f].on(batch.hulls[f]).values())
        if S == N or not len(at):
            break
        # What has ended is estimated as well, of whatever, and not recorded.
        seen = r[:, :step + 1]
        estimate = label[:, step] if estimator is None else estimator(
            mean_norm[:, :step + 1], np.where(seen > 0, seen, 1.0), batch.ell, batch.lam)
        B = np.maximum(estimate, mean_norm[:, step, None])
        choice = batch.choose(np.minimum.accumulate(B[:, ::-1], axis=1)[:, ::-1])
        live &= choice >= 0
        # A function that has ended goes on at its first start, unrecorded, to keep in step.
        choice = np.where(live, choice, first)
        value = batch.measure(choice)
        unsafe += live & (value < batch.threshold[:, 0])
        batch.add(choice, value + noise[:, N])
    ended = np.arange(S) >= np.max(count, axis=1, keepdims=True)
    batch.A[ended], batch.Y[ended] = 0.0, 0.0
    return Trajectories(
        np.asarray(indices), np.array([p.norm for p in problems]), batch.ell, batch.lam,
        count, mean_norm, r, share, label, batch.A, batch.Y, unsafe)
