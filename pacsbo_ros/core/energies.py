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
What the samples show, and what they hide, of every function of a library.

  symbol    meaning                                                             shape
  f_j       library functions at the samples A, scaled to norm one              (N, q)
  e_j²      f_jᵀ(K + λI)⁻¹f_j, the energy that samples would show               (q,)
  C         covariance of f_j over the library at A                             (N, N)
  rho       (R/norm)², noise of a function scaled to norm one                   scalar
  t_j²      (f_j + noise)ᵀ(C + rho·I)⁻¹(f_j + noise), less the scatter          (q,)
  scatter   what repeats of one point differ by, over rho: noise and no energy  (q,)
  c_D²      squared norm of f_j on the domain D                                 (q,)

A sample appends one row to each factor. For repeats of a point, yᵀ(C + rho·I)⁻¹y is that of their
mean plus their scatter over rho: taking it out leaves what is known of the function.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.gp import GaussianProcess, Posterior, Row, solve_lower
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.library import Library
from pacsbo_ros.core.whitening import Whitening

RESIDUAL_JITTER = 1e-8  # relative to k(x, x): keeps close reference points apart


class LocalEnergy:
    """Know the energy of the library functions on one domain, sampled there densely."""

    def __init__(self, functions: int) -> None:
        self.whitening = Whitening(functions)
        self.order: list[int] = []  # of the points, as rows of (all reference points, samples)
        self.samples = 0

    def restart(self, shown: Whitening, order: list[int], samples: int) -> None:
        """Begin with what is known at some points."""
        self.whitening.copy_from(shown)
        self.order, self.samples = order.copy(), samples

    def add_reference(self, K: Array, new: list[int], values: Array) -> None:
        """Take points of the domain, where the functions are known (nearly) exactly."""
        block = K[np.ix_(new, new)]
        self.whitening.add_block(K[np.ix_(new, self.order)], block, values)
        self.order.extend(new)

    def add_sample(self, k: Array, new: int, variance: float, values: Array, lam: float) -> None:
        """Take a sample, which is known up to the λ of the Gaussian process."""
        self.whitening.add(k[self.order], variance, values, lam)
        self.order.append(new)
        self.samples += 1


class Energies:
    """Sample a library where the unknown function is sampled."""

    def __init__(self, library: Library, domains: tuple[str, ...], reference_points: int,
                 seed: int) -> None:
        self.library, self.reference_points = library, reference_points
        q = library.size
        self._rng = np.random.default_rng([seed, 6])  # one stream: samples come in order
        self._values, self._noise = np.empty((2, 16, q))
        self._C = np.zeros((16, 16))
        self._shown = Whitening(q)  # by K + λI: square is e²
        self._scales: dict[float, Whitening] = {}  # by C + rho·I
        self._repeats: dict[tuple[float, ...], tuple[int, Array]] = {}  # count, mean noise
        self.scatter = np.zeros(q)
        self._local = {d: LocalEnergy(q) for d in domains if d != 'box'}
        self._judged: Domains | None = None  # the domains for which _local was made
        self._reference: dict[int, Array] = {}  # library values at candidates
        self._reference_points = np.empty((0, library.kernel.dimension))  # scaled

    @property
    def count(self) -> int:
        """Count the samples."""
        return self._shown.count

    def observe(self, row: Row) -> None:
        """Let every library function, scaled to norm one, be sampled at the new point."""
        N = self.count
        if len(self._values) == N:
            self._values, self._noise = (
                np.concatenate([F, np.empty_like(F)]) for F in (self._values, self._noise))
            self._C = np.pad(self._C, ((0, N), (0, N)))
        values, noise = self._values[N], self._noise[N]
        values[:] = self.library.evaluate(row.x[None])[0]
        self._rng.standard_normal(out=noise)
        self._C[N, :N + 1] = self._C[:N + 1, N] = self._values[:N + 1] @ values / len(values)
        self._shown.add_row(row.ell, row.pivot, values)
        count, mean = self._repeats.get(tuple(row.x.tolist()), (0, np.zeros_like(noise)))
        self.scatter += (noise - mean) ** 2 * count / (count + 1)
        self._repeats[tuple(row.x.tolist())] = count + 1, mean + (noise - mean) / (count + 1)

    def forget(self, where: slice) -> None:
        """Drop what rests on candidates that were drawn again."""
        self._judged = None
        for i in [i for i in self._reference if where.start <= i < where.stop]:
            del self._reference[i]

    def hidden(self, gp: GaussianProcess, posterior: Posterior, domains: Domains,
               order: np.ndarray) -> Array:
        """
        Return c_D² - e² of every library function, scaled to norm one, shape (domains, q).

        On the box the norm is known. On a smaller domain it is that of the smoothest function
        with the same values on reference points, candidates of the domain; the reference set of
        an outer domain contains that of the inner one, so the norms are nested.
        """
        kernel = self.library.kernel
        if self._judged is not domains:
            self._survey(gp, posterior, domains, order)
        known = min((local.samples for local in self._local.values()), default=self.count)
        for n in range(known, self.count):
            points = np.vstack([self._reference_points, kernel.scaled(gp.A[:n])])
            k = kernel.between_scaled(kernel.scaled(gp.A[n]), points)[0]
            for local in self._local.values():
                local.add_sample(k, len(points), kernel.output_scale + gp.lam,
                                 self._values[n], gp.lam)
        norms = [local.whitening.square for local in self._local.values()]
        hidden = np.array([*norms, np.ones(self.library.size)]) - self._shown.square
        return np.minimum(np.maximum(hidden, 0.0, out=hidden), hidden[-1], out=hidden)

    def scales(self, rhos: list[float], Y: Array, scatter: Array) -> tuple[Array, Array]:
        """Return t_j² of the library (outputs, q) and t² of the data (outputs,), at their rho."""
        self._scales = {rho: self._scale(rho) for rho in set(rhos)}
        ours = np.array([self._scales[rho].square for rho in rhos]) - self.scatter
        w = [solve_lower(self._scales[rho].L, y) for rho, y in zip(rhos, Y.T, strict=True)]
        data = np.array([x @ x for x in w]) - scatter / np.array(rhos)
        tiny = np.finfo(float).tiny
        return np.maximum(ours, tiny), np.maximum(data, 0.0)

    def _survey(self, gp: GaussianProcess, posterior: Posterior, domains: Domains,
                order: np.ndarray) -> None:
        """Choose the reference points of the inner domains anew, since the domains changed."""
        kernel = self.library.kernel
        self._judged, N = domains, self.count
        seen, chosen = np.zeros(len(posterior.X), dtype=bool), []
        for domain in self._local:
            new = domains.masks[domain] & ~seen
            seen |= new
            chosen.append(order[new[order]][:self.reference_points])
        where = np.concatenate(chosen or [np.empty(0, dtype=int)])
        values, P = self._reference_values(where, posterior.X), len(where)
        self._reference_points = kernel.scaled(posterior.X[where])
        points = np.vstack([self._reference_points, kernel.scaled(gp.A)])
        K = kernel.between_scaled(self._reference_points, points)
        K[np.diag_indices(P)] += RESIDUAL_JITTER * kernel.output_scale
        shown, indices, start = self._shown, list(range(P, P + N)), 0
        for local, part in zip(self._local.values(), chosen, strict=True):
            local.restart(shown, indices, N)
            end = start + len(part)
            local.add_reference(K, list(range(start, end)), values[start:end])
            shown, indices, start = local.whitening, local.order, end

    def _scale(self, rho: float) -> Whitening:
        """Return the library, with the noise of this rho, whitened by C + rho·I."""
        N, scale = self.count, self._scales.get(rho)
        if scale is None:
            scale = Whitening(self.library.size)
            scale.add_block(np.empty((N, 0)), self._C[:N, :N] + rho * np.eye(N),
                            self._values[:N] + np.sqrt(rho) * self._noise[:N])
        for n in range(scale.count, N):
            noisy = self._values[n] + np.sqrt(rho) * self._noise[n]
            scale.add(self._C[n, :n], self._C[n, n] + rho, noisy, rho)
        return scale

    def _reference_values(self, where: np.ndarray, X: Array) -> Array:
        missing = [i for i in where.tolist() if i not in self._reference]
        if missing:
            self._reference.update(zip(missing, self.library.evaluate(X[missing]), strict=True))
        return np.array([self._reference[i] for i in where.tolist()])
