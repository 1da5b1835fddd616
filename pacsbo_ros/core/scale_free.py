# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The scale-free norm bound: what the data show, plus what a library says they cannot show.

  symbol    meaning                                                             shape
  y         measured values of one output at the samples A                      (N,)
  e²        yᵀ(K + λI)⁻¹y, the energy that the data show; e <= ‖h‖ without noise scalar
  f_j, c_j  library functions at A, their norms                                 (N, q), (q,)
  C         covariance of f_j/c_j over the library at A                         (N, N)
  rho       (R/norm)², noise of a function scaled to norm one                   scalar
  t²        yᵀ(C + rho·I)⁻¹y, about N·‖h‖²: how large the data say h is          scalar
  c_D²      squared norm of a function on the domain D                          (q,)
  u_D       (c_D² - e²)/t²: energy the data do not show, per scale              (q,)
  tau_D     largest u_D among the library functions that are still alive        scalar

Pythagoras splits the norm on a domain into what the interpolant shows and what it cannot:
‖h‖²_D = ‖μ_A‖² + ‖h - μ_A‖²_D. The first term is measured. The second is proportional to the
squared scale of h, and t² measures that scale with N degrees of freedom, also where samples
lie close together and e² hardly grows. Hence

    B_D² = e² + tau_D · t²

and u_D does not depend on the scale of h at all: no prior norm, only the assumption that the
shape of h is like the shapes in the library. A function rougher than the library has a larger
t², hence a larger B.

One share of delta for all iterations and domains: a library function dies when it would have
exceeded its bound. In every round the worst of the living die, by the largest u_D relative to its
median over the domains, until the share δ·rounds/(rounds + PATIENCE) of the library is dead, and
tau_D is the maximum over the survivors. So a function like those of the library has a B that is
too small, anywhere in the run, with probability δ. (For a library of q functions, and samples
that do not depend on h: h survives a round that leaves k' of k with probability k'/(k + 1), and
one minus the product over the rounds is what an estimate reports as its `delta`.) The first
rounds get least, because the starts of a run are not random: safe starts whose values are close
to each other hide the scale of h.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from pacsbo_ros.core.confidence import DeltaSplit
from pacsbo_ros.core.gp import Row
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.library import shared_library
from pacsbo_ros.core.norm_bounds import Bound, Evidence, NormBound
from pacsbo_ros.core.settings import Settings

PATIENCE = 6  # rounds after which half of the share is spent
RESIDUAL_JITTER = 1e-8  # relative to k(x, x): keeps close reference points apart
FIRST_SCALE = 3.0  # norm over e before the first round; only the small noise term uses it


class Survivors:
    """Spend one share of delta on a library, round by round, for one output."""

    def __init__(self, size: int) -> None:
        self.alive = np.ones(size, dtype=bool)
        self.kept = 1.0  # probability that nothing failed so far
        self.rounds = 0

    def cull(self, score: Array, share: float) -> np.ndarray:
        """Let the worst die as far as the share allows and give those who live."""
        self.rounds += 1
        living = int(np.sum(self.alive))
        doomed = int(share * self.rounds / (self.rounds + PATIENCE) * len(self.alive))
        left = min(living, len(self.alive) - doomed)
        if left < living:
            worst = np.argsort(np.where(self.alive, -score, np.inf), kind='stable')
            self.alive[worst[:living - left]] = False
        self.kept *= left / (living + 1)
        return self.alive


class ScaleFree(NormBound):
    """Bound every output on every domain by data energy and library."""

    def __init__(self, settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> None:
        super().__init__(settings, split, kernel, seed)
        self.library = shared_library(kernel, settings.library_size, settings.centres, seed)
        q = self.library.size
        self.count = 0
        self._seed = seed
        self._survivors: list[Survivors] = []
        self._scale: list[float] = []
        self._e2 = np.zeros(q)  # what A shows of each function scaled to norm one
        self._rows = np.empty((3, 16, q))  # per sample: values, whitened values, noise
        self._C = np.zeros((16, 16))
        self._reference: dict[int, Array] = {}

    def observe(self, row: Row) -> None:
        """Let every library function, scaled to norm one, be sampled at the new point."""
        N = self.count
        if self._rows.shape[1] == N:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
            self._C = np.pad(self._C, ((0, N), (0, N)))
        values, whitened, noise = self._rows[:, N]
        values[:] = self._unit_values(row.x[None])[0]
        whitened[:] = (values - row.ell @ self._rows[1, :N]) / row.pivot
        noise[:] = np.random.default_rng([self._seed, 6, N]).standard_normal(len(noise))
        self._e2 += whitened ** 2
        self._C[N, :N + 1] = self._C[:N + 1, N] = self._rows[0, :N + 1] @ values / len(values)
        self.count += 1

    def forget(self, where: slice) -> None:
        """Drop the values at candidates that were drawn again."""
        for i in [i for i in self._reference if where.start <= i < where.stop]:
            del self._reference[i]

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Add to the energy that the data show the most that the survivors hide."""
        e2, unseen = evidence.gp.data_norms() ** 2, self.unseen(evidence)
        if not self._survivors:
            self._survivors = [Survivors(self.library.size) for _ in e2]
            self._scale = [FIRST_SCALE * float(np.sqrt(x)) for x in e2]
        found: dict[str, list[Bound]] = {domain: [] for domain in unseen}
        for i, survivors in enumerate(self._survivors):
            t2, u2 = self._scale_squares(evidence.gp.Y[:, i], self._scale[i])
            ratios = {domain: u / u2 for domain, u in unseen.items()}
            middles = {domain: max(_middle(u), 1e-12) for domain, u in ratios.items()}
            score = np.max([u / middles[d] for d, u in ratios.items()], axis=0)
            alive = survivors.cull(score, self.split.norm)
            for domain, u in ratios.items():
                middle, tau = np.sqrt(e2[i] + t2 * np.array([middles[domain], u[alive].max()]))
                self._scale[i] = float(middle)  # the outermost domain has the last word
                low, high = np.sqrt(e2[i] + t2 * np.array([u.min(), u.max()]))
                found[domain].append(Bound(
                    float(tau), float(middle), float(low), float(high), int(alive.sum()),
                    1.0 - survivors.kept))
        return found

    def unseen(self, evidence: Evidence) -> dict[str, Array]:
        """
        Give c_D² - e² of every library function, scaled to norm one, on each domain.

        On the box the norm is known. On a smaller domain it is that of the smoothest function
        with the same values on reference points, candidates of the domain; the reference set of
        an outer domain contains that of the inner one, so the norms are nested.
        """
        post, s2 = evidence.posterior, self.library.kernel.output_scale
        seen = np.zeros(len(post.X), dtype=bool)
        where, ends = np.empty(0, dtype=int), {}
        for domain in [d for d in evidence.masks if d != 'box']:
            new = evidence.masks[domain] & ~seen
            seen |= new
            chosen = evidence.order[new[evidence.order]][:self.settings.reference_points]
            where = np.concatenate([where, chosen])
            ends[domain] = len(where)
        found, total = {}, np.zeros((len(ends), self.library.size))
        if len(where):
            V = post.V[:, where]
            S = self.library.kernel(post.X[where], post.X[where]) - V.T @ V
            S[np.diag_indices_from(S)] += RESIDUAL_JITTER * s2
            rest = self._reference_values(where, post.X) - V.T @ self._rows[1, :self.count]
            Z = _inverse_root(S) @ rest
            parts = np.split(np.square(Z, out=Z), list(ends.values())[:-1])
            total = np.cumsum([part.sum(axis=0) for part in parts], axis=0)
        hidden = np.maximum(1.0 - self._e2, 0.0)
        for j, domain in enumerate(ends):
            found[domain] = np.minimum(total[j], hidden)
        if 'box' in evidence.masks:
            found['box'] = hidden
        return found

    def _scale_squares(self, y: Array, norm: float) -> tuple[float, Array]:
        """Give t² of the data and of the library with noise, at the noise of this norm."""
        N = self.count
        rho = max((self.settings.noise_bound / max(norm, 1e-12)) ** 2, 1e-9)
        root = _inverse_root(self._C[:N, :N] + rho * np.eye(N))
        noisy = root @ (self._rows[0, :N] + np.sqrt(rho) * self._rows[2, :N])
        return float(np.sum((root @ y) ** 2)), np.einsum('ij,ij->j', noisy, noisy)

    def _unit_values(self, X: Array) -> Array:
        return self.library.evaluate(X) / self.library.norms

    def _reference_values(self, where: np.ndarray, X: Array) -> Array:
        missing = [i for i in where.tolist() if i not in self._reference]
        if missing:
            self._reference.update(zip(missing, self._unit_values(X[missing]), strict=True))
        return np.array([self._reference[i] for i in where.tolist()])


def _inverse_root(M: Array) -> Array:
    """Give L⁻¹ of M = L Lᵀ: for a thousand right sides one product is faster than solving."""
    return solve_triangular(np.linalg.cholesky(M), np.eye(len(M)), lower=True, check_finite=False)


def _middle(values: Array) -> float:
    return float(np.partition(values, len(values) // 2)[len(values) // 2])
