# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The ask/tell interface and all that PACSBO and SafeOpt share.

  symbol    meaning                                                        shape
  X         candidates                                                     (G, n)
  where     innermost domain of every candidate                            (G,)
  B         norm bound of every output on every domain                     (m, D)
  beta      hidden part of B + noise term, see `confidence`                (m, D)
  low, up   band of every output, each point with its innermost domain's B (m, G)

All samples lie in all three domains, so the domains share one posterior and differ in B alone.
The norm on a smaller domain is never larger, so B of an inner domain is capped by the outer
ones, and a point's band is that of the innermost domain which holds it: the union of the three
safe sets is one safe set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pacsbo_ros.core import proposals as said
from pacsbo_ros.core.candidates import make_candidates, refine
from pacsbo_ros.core.confidence import DeltaSplit, noise_term
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.gp import GaussianProcess, Posterior, Row
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.proposals import Best, NormEstimate, NothingToPropose, Proposal, State
from pacsbo_ros.core.safe_sets import (
    EXPANDER_TESTS,
    Band,
    first_expander,
    maximisers,
    nearest_to_safe,
    safe_set,
)
from pacsbo_ros.core.settings import DOMAINS, Settings


class Predictor(Protocol):
    """The paper's η: guess a norm from the history of one output on one domain."""

    def __call__(self, history: Array, settings: Settings, domain: str) -> float:
        """
        Give the estimated RKHS norm, a finite number; it is called again after every update.

        history: shape (H, 2), rows (‖μ_A‖, r) with r = 1/∫σ² over the domain, one per iteration,
        oldest first, the newest last, at most `settings.window` rows and at least one; not padded.
        settings: those of the run. domain: 'hull', 'enlarged' or 'box'. No state may be kept: the
        same history must give the same answer, or a record would not continue identically.
        """


class SafeOptimizer(ABC):
    """Propose experiments that are safe with high probability; tell it what they gave."""

    kind = ''

    def __init__(self, settings: Settings, seed: int = 0) -> None:
        self.settings, self.seed = settings, int(seed)
        kernels = settings.kernels()
        self._kernels = list(dict.fromkeys(kernels))
        self._group_of = [self._kernels.index(k) for k in kernels]
        self._members = [
            [i for i, g in enumerate(self._group_of) if g == group]
            for group in range(len(self._kernels))]
        self._gps = [
            GaussianProcess(k, settings.lam, len(members))
            for k, members in zip(self._kernels, self._members, strict=True)]
        self._h_min = np.array(settings.thresholds)
        self._split = DeltaSplit.of(settings.delta, settings.outputs, len(settings.domains))
        self._points: list[tuple[float, ...]] = []
        self._values: list[tuple[float, ...]] = []
        self._updates: list[int] = []  # sample counts at which the bands were renewed
        self._hull: Hull | None = None
        self._judged: Hull | None = None  # the hull by which the candidates were sorted
        self._posteriors: list[Posterior] = []
        self._norms: list[NormEstimate] = []

    # Tell ---------------------------------------------------------------------------------

    def tell(self, point: ArrayLike, values: ArrayLike) -> None:
        """Take the measured values of one experiment at a point of the unit cube."""
        x, y = self._checked(point, values)
        self._points.append(tuple(x.tolist()))
        self._values.append(tuple(y.tolist()))
        self._hull = self._hull.with_sample(x) if self._hull else Hull(
            x[None], self.settings.enlargement)
        for group, (gp, members) in enumerate(zip(self._gps, self._members, strict=True)):
            row = gp.add(x, y[members])
            self._observe(group, row)
            if self._posteriors:
                self._posteriors[group].extend(row)

    def _checked(self, point: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
        x = np.asarray(point, dtype=float).reshape(-1)
        y = np.asarray(values, dtype=float).reshape(-1)
        s = self.settings
        if x.shape != (s.dimension,):
            raise ValueError(f'point is {x.tolist()}; dimension is {s.dimension}')
        if not np.all((x >= 0) & (x <= 1)):
            raise ValueError(f'point is {x.tolist()}; it must lie in the unit cube')
        if y.shape != (s.outputs,):
            raise ValueError(
                f'values is {y.tolist()}; give {s.outputs}: '
                f'{"the reward and " if s.reward else ""}{s.constraints} constraints')
        if not np.all(np.isfinite(y)):
            raise ValueError(f'values is {y.tolist()}; tell finite numbers only')
        return x, y

    def _observe(self, group: int, row: Row) -> None:  # noqa: B027, SafeOpt needs none
        """Let the norm bound see the new row."""

    # Ask ----------------------------------------------------------------------------------

    def ask(self) -> Proposal | NothingToPropose:
        """
        Give the next experiment, or say why there is none.

        The most uncertain point of M ∪ G sets the level; of the maximisers that reach the share
        `caution` of it, the one with the highest upper bound is proposed. With caution = 1 that
        is the paper's choice, the most uncertain point itself. Without a reward, expanders alone
        count, and the most uncertain safe point where there is none.
        """
        self._update()
        s, band, S = self.settings, self._band, self._S
        sigma = self._relative_sigma()
        open_ = np.max(band.up - band.low, axis=0) > s.tolerance
        M = (maximisers(band, S) if s.reward else np.zeros_like(S)) & open_
        level = np.where(M, sigma, 0.0).max()
        queue = np.flatnonzero(S & open_ & ~M & (sigma > level))
        choice = None
        if len(queue):
            targets = nearest_to_safe(band, S, self._h_min, s.expander_targets)
            test = EXPANDER_TESTS[s.expander](
                band, self._posteriors, self._group_of, self._h_min)
            choice = first_expander(queue, sigma, targets, test)
        role = said.EXPANDER
        level = level if choice is None else sigma[choice]
        bold = np.flatnonzero(M & (sigma >= s.caution * level))
        if len(bold):
            choice = int(bold[np.argmax(band.up[0, bold])])
            role = said.MAXIMISER
        if choice is None and not s.reward and np.any(S & open_):
            choice = int(np.argmax(np.where(S & open_, sigma, -1.0)))
        if choice is None:
            return self._nothing()
        return Proposal(
            point=tuple(self._X[choice].tolist()),
            domain=s.domains[self._where[choice]],
            role=role,
            means=tuple(band.mu[:, choice].tolist()),
            lower=tuple(band.low[:, choice].tolist()),
            upper=tuple(band.up[:, choice].tolist()),
            B=tuple(self._B[:, self._where[choice]].tolist()))

    def _nothing(self) -> NothingToPropose:
        safe = int(np.sum(self._S)) - len(self._starts)
        if safe > 0:
            return NothingToPropose(
                said.NOTHING_UNCERTAIN,
                f'all maximisers and expanders among {safe} safe candidates are known to within '
                f'tolerance = {self.settings.tolerance:g}')
        if self._grew:
            return NothingToPropose(
                said.NORM_GREW,
                'the norm estimate grew with the last sample and no candidate besides the '
                'starts is known to be safe any more')
        return NothingToPropose(
            said.SAFE_SET_EMPTY,
            'no candidate besides the starts is known to be safe, and measuring a start again '
            'cannot change that; add safe samples, or look at noise_bound and length_scales')

    # Queries ------------------------------------------------------------------------------

    def best(self) -> Best | None:
        """Give the sample with the highest reward among those measured safe; None if none."""
        safe = [i for i, y in enumerate(self._values) if np.all(np.array(y) >= self._h_min)]
        if not safe:
            return None
        def merit(i: int) -> float:
            return self._values[i][0] if self.settings.reward else min(self._values[i])
        index = max(safe, key=merit)
        return Best(index, self._points[index], self._values[index])

    def state(self) -> State:
        """Give what a node publishes: shares of the domains, B and what each rests on."""
        self._update()
        names = self.settings.domains
        masks = self._masks
        return State(
            samples=len(self._points),
            safe_share={d: float(np.mean(self._S[masks[d]])) if np.any(masks[d]) else 0.0
                        for d in names},
            domain_share={d: float(np.mean(masks[d])) for d in names},
            beta={d: tuple(self._beta[:, j].tolist()) for j, d in enumerate(names)},
            norms=tuple(self._norms))

    def predict(self, points: ArrayLike) -> Band:
        """Give the band at any points of the unit cube, arrays of shape (outputs, points)."""
        self._update()
        X = np.atleast_2d(np.asarray(points, dtype=float))
        if X.shape[1] != self.settings.dimension:
            raise ValueError(f'points have shape {X.shape}; dimension is '
                             f'{self.settings.dimension}')
        mu = np.empty((self.settings.outputs, len(X)))
        sigma = np.empty_like(mu)
        for gp, members in zip(self._gps, self._members, strict=True):
            mean, var = gp.posterior(X)
            mu[members], sigma[members] = mean, np.sqrt(var)
        return self._make_band(mu, sigma, self._innermost(X))

    def safe(self, points: ArrayLike) -> np.ndarray:
        """Tell which points are known to be safe, shape (points,)."""
        band = self.predict(points)
        return np.all(band.low >= self._h_min[:, None], axis=0)

    @property
    def hull(self) -> Hull | None:
        """Give the hull of the samples, the same object as long as it does not change."""
        return self._hull

    def hull_vertices(self, enlarged: bool = False) -> Array:
        """Give the corners of the hull of the samples or of the enlarged hull, shape (C, n)."""
        if self._hull is None:
            return np.empty((0, self.settings.dimension))
        return self._hull.vertices(enlarged)

    @property
    def samples(self) -> tuple[Array, Array]:
        """Give the told points (N, n) and values (N, m)."""
        s = self.settings
        return (np.array(self._points).reshape(-1, s.dimension),
                np.array(self._values).reshape(-1, s.outputs))

    # Records ------------------------------------------------------------------------------

    def to_record(self) -> dict[str, Any]:
        """Give plain JSON-able data from which `from_record` continues identically."""
        return {
            'kind': self.kind, 'settings': self.settings.to_dict(), 'seed': self.seed,
            'points': [list(p) for p in self._points],
            'values': [list(v) for v in self._values], 'updates': list(self._updates)}

    @classmethod
    def _recorded_settings(cls, record: dict[str, Any]) -> Settings:
        """Give the settings of a record; refuse what is no record of this kind."""
        kind = record.get('kind') if isinstance(record, dict) else None
        if kind != cls.kind:
            raise ValueError(f'kind of the record is {kind!r}; this is {cls.kind!r}')
        return Settings.from_dict(record['settings'])

    def _replay(self, record: dict[str, Any]) -> None:
        """Tell the recorded samples and renew the bands where they were renewed."""
        updates = set(record['updates'])
        for point, values in zip(record['points'], record['values'], strict=True):
            self.tell(point, values)
            if len(self._points) in updates:
                self._update()

    # The bands ----------------------------------------------------------------------------

    def _update(self) -> None:
        """Renew domains, norms, bands and the safe set if samples came in."""
        if self._updates and self._updates[-1] == len(self._points):
            return
        if not self._posteriors:
            self._start()
        self._updates.append(len(self._points))
        self._refine()
        if self._judged is not self._hull or self._refined.stop > self._refined.start:
            self._sort_by_domain()
        old = self._norms
        self._norms = self._norm_estimates()
        D = len(self.settings.domains)
        B = np.array([e.B for e in self._norms]).reshape(self.settings.outputs, D)
        noise = [noise_term(gp, self.settings.noise_bound, self._split.noise)
                 for gp in self._gps]
        hidden = np.array([e.hidden for e in self._norms]).reshape(B.shape)
        self._B, self._beta = B, hidden + np.array([noise[g] for g in self._group_of])[:, None]
        grown = np.zeros(B.shape, dtype=bool)
        if old:
            before = np.array([e.B for e in old]).reshape(B.shape)
            grown = before * (1 + 1e-9) < B
        self._grew = bool(np.any(grown))
        mu, sigma = self._fields()
        fresh = self._make_band(mu, sigma, self._where)
        # The running intersection holds as long as no B on which it rests has grown.
        broken = np.any(grown, axis=1)
        self._low[broken], self._up[broken] = -np.inf, np.inf
        np.maximum(self._low, fresh.low, out=self._low)
        np.minimum(self._up, fresh.up, out=self._up)
        self._band = Band(
            mu, sigma, fresh.beta, self._B, self._where, self._low, self._up)
        self._S = safe_set(self._band, self._h_min, self._starts)

    def _start(self) -> None:
        """Lay out the candidates once the safe starts are known."""
        if not self._points:
            raise ValueError('safe start: no sample was told; tell at least one safe sample')
        A, Y = self.samples
        safe = np.all(self._h_min <= Y, axis=1)
        if not np.any(safe):
            closest = int(np.argmax(np.min(Y - np.where(
                np.isfinite(self._h_min), self._h_min, -np.inf), axis=1, initial=np.inf)))
            raise ValueError(
                f'safe start: none of the {len(A)} told samples is safe; the closest is '
                f'{list(self._points[closest])} with values {list(self._values[closest])}, '
                f'thresholds {list(self.settings.thresholds)}')
        starts = np.unique(A[safe], axis=0)
        chosen = make_candidates(self.settings, starts, self.seed)
        self._X, self._refined, self._order = chosen.X, chosen.refined, chosen.order
        G = len(self._X)
        self._starts = np.arange(G - len(starts), G)
        self._posteriors = [
            Posterior(gp, self._X, self.settings.max_samples) for gp in self._gps]
        self._low = np.full((self.settings.outputs, G), -np.inf)
        self._up = np.full((self.settings.outputs, G), np.inf)

    def _refine(self) -> None:
        """Draw a part of the candidates again around the safe frontier (n > 3)."""
        count = self._refined.stop - self._refined.start
        if not count:
            return
        A, Y = self.samples
        safe = A[np.all(self._h_min <= Y, axis=1)]
        anchors = safe
        if len(self._updates) > 1:
            S = np.flatnonzero(self._S)
            sigma = self._posteriors[0].sigma[S]
            anchors = np.vstack([safe, self._X[S[np.argsort(-sigma)[:64]]]])
        rng = np.random.default_rng([self.seed, 5, len(A)])
        X = refine(anchors, self._kernels[0].length_scales, count, rng)
        for posterior in self._posteriors:
            posterior.replace(self._refined, X)
        self._low[:, self._refined], self._up[:, self._refined] = -np.inf, np.inf

    def _fields(self) -> tuple[Array, Array]:
        if len(self._posteriors) == 1:
            post = self._posteriors[0]
            return post.mu, np.broadcast_to(post.sigma, post.mu.shape)
        mu = np.empty((self.settings.outputs, len(self._X)))
        sigma = np.empty_like(mu)
        for post, members in zip(self._posteriors, self._members, strict=True):
            mu[members], sigma[members] = post.mu, post.sigma
        return mu, sigma

    def _relative_sigma(self) -> Array:
        """Give the largest posterior standard deviation relative to the prior's, shape (G,)."""
        parts = [post.sigma / np.sqrt(post.gp.kernel.output_scale) for post in self._posteriors]
        return parts[0] if len(parts) == 1 else np.max(parts, axis=0)

    def _make_band(self, mu: Array, sigma: Array, where: np.ndarray) -> Band:
        beta = self._beta.take(where, axis=1)
        reach = beta * sigma
        return Band(mu, sigma, beta, self._B, where, mu - reach, mu + reach)

    def _sort_by_domain(self) -> None:
        """Find the innermost domain of every candidate; what is in the hull stays there."""
        if self._judged is None or self._refined.stop > self._refined.start:
            self._where = self._innermost(self._X)
        else:
            outside = np.flatnonzero(self._where)
            self._where[outside] = self._innermost(self._X[outside])
        self._judged = self._hull
        self._masks = {d: self._where <= j for j, d in enumerate(self.settings.domains)}
        self._inside = np.array(list(self._masks.values()), dtype=float)  # (D, G)

    def _innermost(self, X: Array) -> np.ndarray:
        """Give the index in `settings.domains` of the innermost domain of each point."""
        assert self._hull is not None
        names = self.settings.domains
        level = self._hull.innermost(X)
        table = np.array([min(names.index(d) for d in DOMAINS[k:] if d in names)
                          for k in range(len(DOMAINS))])
        return table[level]

    @abstractmethod
    def _norm_estimates(self) -> list[NormEstimate]:
        """Give B of every output (slow index) on every domain (fast index)."""
