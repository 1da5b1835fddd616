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

and the band needs sqrt(tau_D)·t alone, the part that the samples do not show (`confidence`).
Here u_D does not depend on the scale of h at all: no prior norm, only the assumption that the
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
PILOTS = 255  # library functions whose median makes domains comparable; all would take longer


class Survivors:
    """Spend one share of delta on a library, round by round, for one output."""

    def __init__(self, size: int) -> None:
        self.alive = np.ones(size, dtype=bool)
        self.living = size
        self.kept = 1.0  # probability that nothing failed so far
        self.rounds = 0

    def cull(self, score: Array, share: float) -> np.ndarray:
        """Let the worst die as far as the share allows and give those who live."""
        self.rounds += 1
        doomed = int(share * self.rounds / (self.rounds + PATIENCE) * len(self.alive))
        left = min(self.living, len(self.alive) - doomed)
        dying = self.living - left
        if dying:
            worst = np.argpartition(np.where(self.alive, -score, np.inf), dying - 1)
            self.alive[worst[:dying]] = False
        self.kept *= left / (self.living + 1)
        self.living = left
        return self.alive


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


class ScaleFree(NormBound):
    """Bound every output on every domain by data energy and library."""

    def __init__(self, settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> None:
        super().__init__(settings, split, kernel, seed)
        self.library = shared_library(kernel, settings.library_size, settings.centres, seed)
        q = self.library.size
        self._rng = np.random.default_rng([seed, 6])  # one stream: samples come in order
        self._survivors: list[Survivors] = []
        self._rho: list[float] = []  # of every output
        self._values = np.empty((16, q))  # the library, scaled to norm one, at the samples
        self._noise = np.empty((16, q))
        self._C = np.zeros((16, 16))
        self._shown = Whitening(q)  # by K + λI: square is e²
        self._scales: dict[float, Whitening] = {}  # by C + rho·I: square is t²
        self._local = {d: LocalEnergy(q) for d in settings.domains if d != 'box'}
        self._judged: dict[str, np.ndarray] = {}  # the domains for which _local was made
        self._reference: dict[int, Array] = {}  # library values at candidates
        self._reference_points = np.empty((0, kernel.dimension))  # scaled, of all domains

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
        scales = {rho: self._scale(rho) for rho in set(self._rho)}
        self._scales = scales
        u = hidden / np.array([scales[rho].square for rho in self._rho])[:, None]  # (m, D, q)
        half = min(PILOTS, self.library.size) // 2
        middle = np.maximum(np.partition(u[:, :, :PILOTS], half)[:, :, half], 1e-12)
        score = (u / middle[:, :, None]).max(axis=1)
        alive = np.array([survivors.cull(score[i], self.split.norm)
                          for i, survivors in enumerate(self._survivors)])
        w = [solve_lower(scales[rho].L, y)
             for rho, y in zip(self._rho, evidence.gp.Y.T, strict=True)]
        t2 = np.array([x @ x for x in w])
        parts = np.array([(u * alive[:, None]).max(axis=2), middle, u.min(axis=2), u.max(axis=2)])
        norms = np.sqrt(shown[:, None] + t2[:, None] * parts)  # (4, m, D)
        for i, norm in enumerate(norms[1, :, -1].tolist()):
            # The outermost domain says how large the noise is beside the function.
            wanted = self._wanted_rho(norm)
            if not 1 / RHO_STEP < wanted / self._rho[i] < RHO_STEP:
                self._rho[i] = wanted
        return {
            domain: [Bound(B, centre, low, high, survivors.living, 1.0 - survivors.kept, e)
                     for (B, centre, low, high), survivors, e in zip(
                         of_domain, self._survivors, np.sqrt(shown).tolist(), strict=True)]
            for domain, of_domain in zip(
                evidence.masks, norms.transpose(2, 1, 0).tolist(), strict=True)}

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

    def _survey(self, evidence: Evidence) -> None:
        """Choose the reference points of the inner domains anew, since the domains changed."""
        kernel, post = self.library.kernel, evidence.posterior
        self._judged, N = evidence.masks, self.count
        seen, chosen = np.zeros(len(post.X), dtype=bool), []
        for domain in self._local:
            new = evidence.masks[domain] & ~seen
            seen |= new
            chosen.append(evidence.order[new[evidence.order]][:self.settings.reference_points])
        where = np.concatenate(chosen or [np.empty(0, dtype=int)])
        values, P = self._reference_values(where, post.X), len(where)
        self._reference_points = kernel.scaled(post.X[where])
        points = np.vstack([self._reference_points, kernel.scaled(evidence.gp.A)])
        K = kernel.between_scaled(self._reference_points, points)
        K[np.diag_indices(P)] += RESIDUAL_JITTER * kernel.output_scale
        shown, order, start = self._shown, list(range(P, P + N)), 0
        for local, part in zip(self._local.values(), chosen, strict=True):
            local.restart(shown, order, N)
            end = start + len(part)
            local.add_reference(K, list(range(start, end)), values[start:end])
            shown, order, start = local.whitening, local.order, end

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

    def _reference_values(self, where: np.ndarray, X: Array) -> Array:
        missing = [i for i in where.tolist() if i not in self._reference]
        if missing:
            self._reference.update(zip(missing, self.library.evaluate(X[missing]), strict=True))
        return np.array([self._reference[i] for i in where.tolist()])
