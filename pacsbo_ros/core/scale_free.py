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

from pacsbo_ros.core.confidence import DeltaSplit
from pacsbo_ros.core.gp import Row, solve_lower
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.library import shared_library
from pacsbo_ros.core.norm_bounds import Bound, Evidence, NormBound
from pacsbo_ros.core.settings import Settings
from pacsbo_ros.core.whitening import Whitening

PATIENCE = 6  # rounds after which half of the share is spent
RESIDUAL_JITTER = 1e-8  # relative to k(x, x): keeps close reference points apart
FIRST_SCALE = 3.0  # norm over e before the first round; only the small noise term uses it
RHO_STEP = 1.5  # rho stays while the wanted one is within this factor: a new one costs N rows
RHO_LEAST = 1e-9


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
            dying = living - left
            worst = np.argpartition(np.where(self.alive, -score, np.inf), dying - 1)
            self.alive[worst[:dying]] = False
        self.kept *= left / (living + 1)
        return self.alive


class LocalEnergy:
    """Know the energy of the library functions on one domain, sampled there densely."""

    def __init__(self, whitening: Whitening, points: Array, reference: int) -> None:
        self.whitening, self.points = whitening, points  # the points are scaled, (P, n)
        self.reference = reference  # how many of them are no samples

    def copy(self) -> LocalEnergy:
        """Give an independent copy that can take other points."""
        return LocalEnergy(self.whitening.copy(), self.points, self.reference)

    def add_reference(self, kernel: Kernel, points: Array, values: Array) -> None:
        """Take reference points of the domain, where the functions are known exactly."""
        block = kernel.between_scaled(points, points)
        block[np.diag_indices_from(block)] += RESIDUAL_JITTER * kernel.output_scale
        self.whitening.add_block(kernel.between_scaled(points, self.points), block, values)
        self.points = np.vstack([self.points, points])
        self.reference += len(points)

    @property
    def samples(self) -> int:
        """Count the samples among the points."""
        return len(self.points) - self.reference

    def add_sample(self, kernel: Kernel, point: Array, values: Array, lam: float) -> None:
        """Take a sample, which is known up to the λ of the Gaussian process."""
        cross = kernel.between_scaled(point, self.points)[0]
        self.whitening.add(cross, kernel.output_scale + lam, values, lam)
        self.points = np.vstack([self.points, point])


class ScaleFree(NormBound):
    """Bound every output on every domain by data energy and library."""

    def __init__(self, settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> None:
        super().__init__(settings, split, kernel, seed)
        self.library = shared_library(kernel, settings.library_size, settings.centres, seed)
        q = self.library.size
        self._seed = seed
        self._survivors: list[Survivors] = []
        self._rho: list[float] = []  # of every output
        self._values = np.empty((16, q))  # the library, scaled to norm one, at the samples
        self._noise = np.empty((16, q))
        self._C = np.zeros((16, 16))
        self._shown = Whitening(q)  # by K + λI: square is e²
        self._scales: dict[float, Whitening] = {}  # by C + rho·I: square is t²
        self._local: dict[str, LocalEnergy] = {}
        self._judged: dict[str, np.ndarray] = {}  # the domains for which _local was made
        self._reference: dict[int, Array] = {}  # library values at candidates

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
        values[:] = self._unit_values(row.x[None])[0]
        noise[:] = np.random.default_rng([self._seed, 6, N]).standard_normal(len(noise))
        self._C[N, :N + 1] = self._C[:N + 1, N] = self._values[:N + 1] @ values / len(values)
        self._shown.add_row(row.ell, row.pivot, values)

    def forget(self, where: slice) -> None:
        """Drop what rests on candidates that were drawn again."""
        if where.stop > where.start:
            self._judged = {}
            for i in [i for i in self._reference if where.start <= i < where.stop]:
                del self._reference[i]

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Add to the energy that the data show the most that the survivors hide."""
        shown, hidden = evidence.gp.data_norms() ** 2, self.hidden(evidence)
        if not self._survivors:
            self._survivors = [Survivors(self.library.size) for _ in shown]
            self._rho = [self._wanted_rho(FIRST_SCALE * np.sqrt(e2)) for e2 in shown]
        used: dict[float, Whitening] = {}
        found: dict[str, list[Bound]] = {domain: [] for domain in evidence.masks}
        for i, (e2, survivors) in enumerate(zip(shown, self._survivors, strict=True)):
            scale = used[self._rho[i]] = self._scale(self._rho[i])
            w = solve_lower(scale.L, evidence.gp.Y[:, i])
            t2, u = float(w @ w), hidden / scale.square
            middle = np.maximum(np.partition(u, u.shape[1] // 2)[:, u.shape[1] // 2], 1e-12)
            alive = survivors.cull(np.max(u / middle[:, None], axis=0), self.split.norm)
            tau = np.max(np.where(alive, u, 0.0), axis=1)
            squares = e2 + t2 * np.stack([tau, middle, u.min(axis=1), u.max(axis=1)], axis=1)
            for domain, numbers in zip(evidence.masks, np.sqrt(squares).tolist(), strict=True):
                found[domain].append(Bound(
                    *numbers, int(np.count_nonzero(alive)), 1.0 - survivors.kept))
            # The outermost domain says how large the noise is beside the function.
            wanted = self._wanted_rho(float(np.sqrt(squares[-1, 1])))
            if not 1 / RHO_STEP < wanted / self._rho[i] < RHO_STEP:
                self._rho[i] = wanted
        self._scales = used
        return found

    def hidden(self, evidence: Evidence) -> Array:
        """
        Give c_D² - e² of every library function, scaled to norm one, shape (domains, q).

        On the box the norm is known. On a smaller domain it is that of the smoothest function
        with the same values on reference points, candidates of the domain; the reference set of
        an outer domain contains that of the inner one, so the norms are nested.
        """
        kernel, gp = self.library.kernel, evidence.gp
        if self._judged is not evidence.masks:
            self._survey(evidence)
        for local in self._local.values():
            for n in range(local.samples, self.count):
                local.add_sample(kernel, kernel.scaled(gp.A[n]), self._values[n], gp.lam)
        box = np.maximum(1.0 - self._shown.square, 0.0)
        return np.array([
            np.clip(self._local[d].whitening.square - self._shown.square, 0.0, box)
            if d in self._local else box for d in evidence.masks])

    def _survey(self, evidence: Evidence) -> None:
        """Choose the reference points of the inner domains anew, since the domains changed."""
        kernel, post = self.library.kernel, evidence.posterior
        inner = LocalEnergy(self._shown, kernel.scaled(evidence.gp.A), 0)
        seen = np.zeros(len(post.X), dtype=bool)
        self._local, self._judged = {}, evidence.masks
        for domain in [d for d in evidence.masks if d != 'box']:
            new = evidence.masks[domain] & ~seen
            seen |= new
            where = evidence.order[new[evidence.order]][:self.settings.reference_points]
            local = inner.copy()
            local.add_reference(kernel, kernel.scaled(post.X[where]),
                                self._reference_values(where, post.X))
            self._local[domain] = inner = local

    def _scale(self, rho: float) -> Whitening:
        """Give the library, with the noise of this rho, whitened by C + rho·I."""
        N, scale = self.count, self._scales.get(rho)
        if scale is None:
            scale = Whitening(self.library.size)
            scale.add_block(np.empty((N, 0)), self._C[:N, :N] + rho * np.eye(N),
                            self._values[:N] + np.sqrt(rho) * self._noise[:N])
        for n in range(scale.count, N):
            noisy = self._values[n] + np.sqrt(rho) * self._noise[n]
            scale.add(self._C[n, :n], self._C[n, n] + rho, noisy, rho)
        return scale

    def _wanted_rho(self, norm: float) -> float:
        return max((self.settings.noise_bound / max(norm, 1e-12)) ** 2, RHO_LEAST)

    def _unit_values(self, X: Array) -> Array:
        return self.library.evaluate(X) / self.library.norms

    def _reference_values(self, where: np.ndarray, X: Array) -> Array:
        missing = [i for i in where.tolist() if i not in self._reference]
        if missing:
            self._reference.update(zip(missing, self._unit_values(X[missing]), strict=True))
        return np.array([self._reference[i] for i in where.tolist()])
