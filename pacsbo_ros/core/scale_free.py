# Copyright the pacsbo_ros developers. Apache-2.0.
"""The scale-free norm bound: our own, and the default."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from pacsbo_ros.core.confidence import DeltaSplit
from pacsbo_ros.core.gp import Row
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.library import shared_library
from pacsbo_ros.core.norm_bounds import Bound, Evidence, NormBound
from pacsbo_ros.core.settings import Settings


class ScaleFree(NormBound):
    """B = e · the largest c_j/e_j among the library functions that are still in the game."""

    def __init__(self, settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> None:
        super().__init__(settings, split, kernel, seed)
        self.library = shared_library(kernel, settings.library_size, settings.centres, seed)
        q = self.library.size
        self.alive = np.ones(q, dtype=bool)
        self.rounds = 0
        self._energy = np.zeros(q)
        self._W = np.empty((16, q))
        self._F_A = np.empty((16, q))
        self._count = 0
        self._F: dict[int, Array] = {}

    def observe(self, row: Row) -> None:
        """Let every library function be sampled at the new point."""
        N = self._count
        if len(self._W) == N:
            self._W = np.concatenate([self._W, np.empty_like(self._W)])
            self._F_A = np.concatenate([self._F_A, np.empty_like(self._F_A)])
        f = self.library.evaluate(row.x[None])[0]
        self._F_A[N] = f
        self._W[N] = (f - row.ell @ self._W[:N]) / row.pivot
        self._energy += self._W[N] ** 2
        self._count += 1

    def forget(self, where: slice) -> None:
        """Drop the values at candidates that were drawn again."""
        for i in [i for i in self._F if where.start <= i < where.stop]:
            del self._F[i]

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Compare local norm and data norm over the library, at the actual samples."""
        local = self.local_norms(evidence)
        e = np.sqrt(self._energy)
        ratios = {domain: c / e for domain, c in local.items()}
        self.rounds += 1
        found = {}
        data = evidence.gp.data_norms()
        for domain, ratio in ratios.items():
            tau = float(np.quantile(ratio, 1 - self.split.norm_per_domain))
            found[domain] = [
                Bound(tau * float(x), float(np.median(ratio)) * float(x),
                      float(ratio.min() * x), float(ratio.max() * x), len(ratio),
                      self.split.norm_per_domain) for x in data]
        return found

    def local_norms(self, evidence: Evidence) -> dict[str, Array]:
        """Give the norm of every library function on each domain, by nested reference sets."""
        A, X = evidence.gp.A, evidence.posterior.X
        U, F = [A], [self._F_A[:self._count]]
        size, ends = len(A), {}
        seen = np.zeros(len(X), dtype=bool)
        for domain, mask in evidence.masks.items():
            if domain == 'box':
                continue
            free = mask & ~seen
            seen |= mask
            where = evidence.order[free[evidence.order]][:self.settings.reference_points]
            self._lookup(where, X)
            if len(where):
                U.append(X[where])
                F.append(np.array([self._F[i] for i in where]))
            size += len(where)
            ends[domain] = size
        found = {}
        if ends:
            points = np.vstack(U)
            K = self.library.kernel(points, points)
            K[np.diag_indices_from(K)] += 1e-6 * self.library.kernel.output_scale
            Z = solve_triangular(np.linalg.cholesky(K), np.vstack(F), lower=True,
                                 check_finite=False, overwrite_b=True)
            np.square(Z, out=Z)
            total, start = np.zeros(Z.shape[1]), 0
            for domain, end in ends.items():
                total = total + Z[start:end].sum(axis=0)
                start = end
                found[domain] = np.minimum(np.sqrt(total), self.library.norms)
        if 'box' in evidence.masks:
            found['box'] = self.library.norms
        return found

    def _lookup(self, where: np.ndarray, X: Array) -> None:
        missing = [i for i in where if i not in self._F]
        if missing:
            for i, f in zip(missing, self.library.evaluate(X[missing]), strict=True):
                self._F[i] = f
