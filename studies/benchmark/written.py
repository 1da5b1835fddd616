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
Methods of others, written anew from their papers on a grid.

  LoSBO      Fiedler, Menn, Kreisköther, Trimpe: On safety in safe Bayesian optimization, 2024:
             safe where a sample minus noise minus L·distance stays above the threshold
  StageOpt   Sui, Zhuang, Burdick, Yue: Stagewise safe Bayesian optimization, ICML 2018:
             expand the safe set first, then maximise the upper bound in it
  tubes      functions drawn through the data as in Algorithm 3 of PACSBO; safe where all but the
             few that the wait-and-judge count allows lie above the threshold
  cubes      the same functions give a norm by a scenario bound, for each of some cubes about the
             samples, so that the band is narrow where the function is calm
"""
from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array
from scipy.stats import beta as beta_distribution
from studies.benchmark.method import GridModel, method, Told, Unable

DELTA = 0.1
BETA = 2.0


class _OnGrid:
    """Share what the methods on a grid have in common: a model, a safe set, an upper bound."""

    def __init__(self, told: Told, seed: int) -> None:
        if told.dimension > 4:
            raise Unable('a grid of more than four parameters is too coarse')
        self.told, self.rng = told, np.random.default_rng(seed)
        self.model = GridModel(told)

    def tell(self, x: Array, y: float) -> None:
        """Take a measured value."""
        self.model.tell(x, y)

    def _safe(self) -> np.ndarray:
        raise NotImplementedError

    def _with_starts(self, safe: np.ndarray) -> np.ndarray:
        safe[-len(self.model.starts):] = True
        return safe

    def ask(self) -> Array | None:
        """Give the safe point with the highest upper bound."""
        post = self.model.posterior
        safe = self._with_starts(self._safe())
        up = post.mu[0] + BETA * post.sigma
        return post.X[int(np.argmax(np.where(safe, up, -np.inf)))]


@method('LoSBO, true L')
class LoSBO(_OnGrid):
    """Use the Lipschitz constant for safety and the model for progress alone."""

    def _safe(self) -> np.ndarray:
        A, y = self.model.samples
        X = self.model.posterior.X
        distance = np.sqrt(((X[:, None] - A[None]) ** 2).sum(axis=2))
        # Gaussian noise has no bound; two standard deviations as in the study of LoSBO.
        low = y[None] - 2 * self.told.noise_bound - self.told.lipschitz * distance
        return low.max(axis=1) >= self.told.threshold


@method('StageOpt, β = 2')
class StageOpt(_OnGrid):
    """Expand for half of the budget, then maximise."""

    def _safe(self) -> np.ndarray:
        post = self.model.posterior
        return post.mu[0] - BETA * post.sigma >= self.told.threshold

    def ask(self) -> Array | None:
        """Give the most uncertain safe point next to unsafe ones, later the best upper bound."""
        if len(self.model.y) >= self.told.budget // 2:
            return super().ask()
        post = self.model.posterior
        safe = self._with_starts(self._safe())
        optimistic = post.mu[0] + BETA * post.sigma >= self.told.threshold
        frontier = np.flatnonzero(~safe & optimistic)
        if not len(frontier):
            return super().ask()
        near = frontier[np.argsort(-post.mu[0, frontier] + BETA * post.sigma[frontier])[:256]]
        order = np.flatnonzero(safe)[np.argsort(-post.sigma[np.flatnonzero(safe)])[:256]]
        # An expander would, if its upper bound came true, make a point of the frontier safe.
        cov = post.covariance(order, near)
        gain = cov / (post.sigma[order] ** 2 + post.gp.lam)[:, None]
        mean = post.mu[0, near][None] + gain * (BETA * post.sigma[order])[:, None]
        left = np.sqrt(np.maximum(post.sigma[near][None] ** 2 - gain * cov, 0.0))
        expands = np.any(mean - BETA * left >= self.told.threshold, axis=1)
        return post.X[order[int(np.argmax(expands))]] if expands.any() else super().ask()


class _Drawn(_OnGrid):
    """Draw functions of the paper's kind through the data: kernels at random centres."""

    draws, tails = 200, 100

    def _functions(self) -> tuple[Array, Array]:
        """Give values on the grid (q, G) and norms (q,)."""
        post, k = self.model.posterior, self.told.kernel
        A, y = self.model.samples
        tail = self.rng.random((self.tails, self.told.dimension))
        scale = max(float(np.abs(post.gp.weights()).max()), 1e-9)
        a = self.rng.uniform(-scale, scale, (self.draws, self.tails))
        # Matheron's rule: a random function, corrected so that it passes the samples.
        at_samples, on_grid = a @ k(tail, A), a @ k(tail, post.X)
        Q = np.linalg.inv(k(A, A) + max(post.gp.lam, 1e-6) * np.eye(len(A)))
        head = (y[None] - at_samples) @ Q
        values = on_grid + head @ k(A, post.X)
        norms = np.sqrt(np.maximum(np.einsum('qi,ij,qj->q', a, k(tail, tail), a)
                                   + np.einsum('qi,ij,qj->q', head, k(A, A), head)
                                   + 2 * np.einsum('qi,ij,qj->q', head, k(A, tail), a), 0.0))
        return values, norms


@method('tubes of drawn functions')
class Tubes(_Drawn):
    """Discard as many of the lowest functions as the count of wait-and-judge allows."""

    def _safe(self) -> np.ndarray:
        values = self._functions()[0]
        allowed = 0
        while beta_distribution.ppf(1 - DELTA / 10, allowed + 2, self.draws - allowed - 1) < DELTA:
            allowed += 1
        low = np.partition(values, allowed, axis=0)[allowed]
        return low >= self.told.threshold


@method('cubes with scenario norms')
class Cubes(_Drawn):
    """Bound the norm about each sample by an order statistic of the drawn functions."""

    def _safe(self) -> np.ndarray:
        values, norms = self._functions()
        post, A = self.model.posterior, self.model.samples[0]
        k = self.told.kernel
        safe = np.zeros(len(post.X), dtype=bool)
        noise = self.told.noise_bound / np.sqrt(post.gp.lam) * np.sqrt(
            post.gp.log_det() + 2 * np.log(1 / DELTA))
        shown = post.gp.data_norms()[0]
        for centre in A:
            inside = np.all(np.abs(post.X - centre) <= 0.5 * np.array(k.length_scales) + 0.05,
                            axis=1)
            if not inside.any():
                continue
            chosen = np.flatnonzero(inside)[::max(1, int(inside.sum()) // 24)]
            K = k(post.X[chosen], post.X[chosen]) + 1e-6 * np.eye(len(chosen))
            local = np.sqrt(np.einsum('qi,ij,qj->q', values[:, chosen], np.linalg.inv(K),
                                      values[:, chosen]))
            B = max(float(np.quantile(np.minimum(local, norms), 1 - DELTA)), shown)
            low = post.mu[0, inside] - (B + noise) * post.sigma[inside]
            safe[np.flatnonzero(inside)] |= low >= self.told.threshold
        return safe
