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
from pacsbo_ros.core.gp import solve_lower
from pacsbo_ros.core.kernels import Array
from scipy.spatial.distance import cdist
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

    def tell(self, x: Array, y: Array) -> None:
        """Take measured values."""
        self.model.tell(x, y)

    def _safe(self) -> np.ndarray:
        raise NotImplementedError

    def _with_starts(self, safe: np.ndarray) -> np.ndarray:
        safe[-len(self.model.starts):] = True
        return safe

    def ask(self) -> Array | None:
        """Return the safe point with the highest upper bound."""
        post = self.model.posterior
        safe = self._with_starts(self._safe())
        up = post.mu[0] + BETA * post.sigma
        return post.X[int(np.argmax(np.where(safe, up, -np.inf)))]


@method('LoSBO, true L')
class LoSBO(_OnGrid):
    """Use the Lipschitz constant for safety and the model for progress alone."""

    def _safe(self) -> np.ndarray:
        gp, X = self.model.gp, self.model.posterior.X
        away = self.told.lipschitz * cdist(X, gp.A)
        # Gaussian noise has no bound; two standard deviations as in the study of LoSBO.
        sure = gp.Y[:, self.told.safety] - 2 * self.told.noise_bound
        low = [(y[None] - away).max(axis=1) for y in sure.T]
        return np.min(low, axis=0) >= self.told.threshold


@method('StageOpt, β = 2')
class StageOpt(_OnGrid):
    """Expand for half of the budget, then maximise."""

    def _safe(self) -> np.ndarray:
        post = self.model.posterior
        return self.model.safety_mean - BETA * post.sigma >= self.told.threshold

    def ask(self) -> Array | None:
        """Return the most uncertain safe point next to unsafe ones, later the best upper bound."""
        if self.model.gp.count >= self.told.budget // 2:
            return super().ask()
        post, mean = self.model.posterior, self.model.safety_mean
        safe = self._with_starts(self._safe())
        optimistic = mean + BETA * post.sigma >= self.told.threshold
        frontier = np.flatnonzero(~safe & optimistic)
        if not len(frontier):
            return super().ask()
        near = frontier[np.argsort(BETA * post.sigma[frontier] - mean[frontier])[:256]]
        order = np.flatnonzero(safe)[np.argsort(-post.sigma[np.flatnonzero(safe)])[:256]]
        # An expander would, if its upper bound came true, make a point of the frontier safe.
        cov = post.covariance(order, near)
        gain = cov / (post.sigma[order] ** 2 + post.gp.lam)[:, None]
        then = mean[near][None] + gain * (BETA * post.sigma[order])[:, None]
        left = np.sqrt(np.maximum(post.sigma[near][None] ** 2 - gain * cov, 0.0))
        expands = np.any(then - BETA * left >= self.told.threshold, axis=1)
        return post.X[order[int(np.argmax(expands))]] if expands.any() else super().ask()


class _Drawn(_OnGrid):
    """
    Draw functions of the paper's kind through the data: kernels at random centres.

    By Matheron's rule such a function is the mean plus s·(f - f's own mean through the samples),
    with s the size of the mean's weights. So f is drawn once a run, and a step costs one product.
    """

    draws, tails = 200, 100

    def __init__(self, told: Told, seed: int) -> None:
        super().__init__(told, seed)
        self._tail = self.rng.random((self.tails, told.dimension))
        self._a = self.rng.uniform(-1.0, 1.0, (self.draws, self.tails))
        self._grid: Array | None = None
        self._at: list[Array] = []  # f at the samples

    def tell(self, x: Array, y: Array) -> None:
        """Take measured values."""
        super().tell(x, y)
        self._at.append((self._a @ self.told.kernel(self._tail, np.atleast_2d(x)))[:, 0])

    @property
    def _sizes(self) -> Array:
        """Return s of every value that has to be safe."""
        weights = self.model.gp.weights()[:, self.told.safety]
        return np.maximum(np.abs(weights).max(axis=0), 1e-9)

    def _residuals(self, where: np.ndarray | slice) -> tuple[Array, Array]:
        """Return f - its own mean at some grid points (q, G), and f at the samples (N, q)."""
        post = self.model.posterior
        if self._grid is None:
            self._grid = self._a @ self.told.kernel(self._tail, post.X)
        at = np.array(self._at)
        W = solve_lower(post.gp.L, at)
        return self._grid[:, where] - W.T @ post.V[:, where], at


@method('tubes of drawn functions')
class Tubes(_Drawn):
    """Discard as many of the lowest functions as the count of wait-and-judge allows."""

    def __init__(self, told: Told, seed: int) -> None:
        super().__init__(told, seed)
        self._allowed = 0
        while beta_distribution.ppf(1 - DELTA / 10, self._allowed + 2,
                                    self.draws - self._allowed - 1) < DELTA:
            self._allowed += 1

    def _safe(self) -> np.ndarray:
        residual = self._residuals(slice(None))[0]
        low = np.partition(residual, self._allowed, axis=0)[self._allowed]
        mean = self.model.posterior.mu[self.told.safety]
        return np.all(mean + self._sizes[:, None] * low >= self.told.threshold, axis=0)


@method('cubes with scenario norms')
class Cubes(_Drawn):
    """Bound the norm about each sample by an order statistic of the drawn functions."""

    def __init__(self, told: Told, seed: int) -> None:
        super().__init__(told, seed)
        # Of every sample: what is inside, some of it, and its kernel matrix inverted.
        self._cubes: list[tuple[np.ndarray, np.ndarray, Array]] = []

    def _grow(self) -> None:
        """Set a cube about every new sample."""
        post, k = self.model.posterior, self.told.kernel
        for centre in post.gp.A[len(self._cubes):]:
            inside = np.flatnonzero(np.all(
                np.abs(post.X - centre) <= 0.5 * np.array(k.length_scales) + 0.05, axis=1))
            some = inside[::max(1, len(inside) // 24)]
            K = k(post.X[some], post.X[some]) + 1e-6 * np.eye(len(some))
            self._cubes.append((inside, some, np.linalg.inv(K)))

    def _safe(self) -> np.ndarray:
        self._grow()
        post, k, threshold = self.model.posterior, self.told.kernel, self.told.threshold
        needed = np.unique(np.concatenate([some for _, some, _ in self._cubes]))
        residual, at = self._residuals(needed)
        A = post.gp.A
        Q_at = solve_lower(post.gp.L, solve_lower(post.gp.L, at), transposed=True)
        own, between, tails = k(A, A), k(A, self._tail), k(self._tail, self._tail)
        noise = self.told.noise_bound / np.sqrt(post.gp.lam) * np.sqrt(
            post.gp.log_det() + 2 * np.log(1 / DELTA))
        safe = np.ones(len(post.X), dtype=bool)
        for mean, weights, shown, s in zip(
                post.mu[self.told.safety], post.gp.weights().T[self.told.safety],
                post.gp.data_norms()[self.told.safety], self._sizes, strict=True):
            a, head = s * self._a, weights[None] - s * Q_at.T
            norms = np.sqrt(np.maximum(((a @ tails) * a).sum(axis=1)
                                       + ((head @ own) * head).sum(axis=1)
                                       + 2 * ((head @ between) * a).sum(axis=1), 0.0))
            covered = np.zeros(len(post.X), dtype=bool)
            for inside, some, inverse in self._cubes:
                if not len(inside):
                    continue
                drawn = mean[some] + s * residual[:, np.searchsorted(needed, some)]
                local = np.sqrt(np.maximum(((drawn @ inverse) * drawn).sum(axis=1), 0.0))
                B = max(float(np.quantile(np.minimum(local, norms), 1 - DELTA)), shown)
                covered[inside] |= mean[inside] - (B + noise) * post.sigma[inside] >= threshold
            safe &= covered
        return safe
