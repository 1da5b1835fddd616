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
The ask/tell interface: one optimiser, with a rule for its bands and a choice for its next point.

`tell` is the only call that changes anything, and a `tell` that raises, for whatever reason,
changes nothing. All else are questions: they may be asked in any order and any number of times.
What is kept are the samples; the rest (`run`) is a cache that follows from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.choice import Choice, CHOICES, View
from pacsbo_ros.core.domains import Hull, innermost
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.proposals import (
    Best,
    NOISE_UNKNOWN,
    NothingToPropose,
    Proposal,
    REPEAT,
    State,
)
from pacsbo_ros.core.rule import Predictor, RuleMaker, RULES
from pacsbo_ros.core.run import Run
from pacsbo_ros.core.samples import Sample
from pacsbo_ros.core.settings import AUTO, Settings
from pacsbo_ros.core.stall import only_measured_is_safe, opening_repeat, why_nothing
from scipy.special import ndtri


class SafeOptimizer:
    """Propose experiments that are safe with high probability; tell it what they gave."""

    def __init__(self, settings: Settings, seed: int = 0, predictor: Predictor | None = None,
                 rule: RuleMaker | None = None, choice: Choice | None = None) -> None:
        """Take the rule and the choice that the settings name, or others (for studies)."""
        self.settings, self.seed, self.predictor = settings, int(seed), predictor
        self._make_rule = rule or RULES[settings.rule]
        self._choose = choice or CHOICES[settings.acquisition]
        self._told: tuple[Sample, ...] = ()
        self._cache: Run = self._made_from(())

    # Tell ---------------------------------------------------------------------------------

    def tell(self, point: ArrayLike, values: ArrayLike, noise: ArrayLike | None = None) -> None:
        """
        Take the measured values of one experiment at a point of the unit cube.

        noise: standard deviation of each value if the experiment knows it, 0 where it does not.
        """
        sample = self._checked(point, values, noise)
        told = (*self._told, sample)
        self._run.add(sample)
        self._told = told  # if anything was raised before this, the old samples are in force

    @property
    def _run(self) -> Run:
        """Return what follows from the samples, made anew if a tell was broken off."""
        if not self._cache.sound or self._cache.samples.count != len(self._told):
            self._cache = self._made_from(self._told)
        return self._cache

    def _made_from(self, told: tuple[Sample, ...]) -> Run:
        made = Run(self.settings, self.seed, self.predictor, self._make_rule)
        for sample in told:
            made.add(sample)
        return made

    def _checked(self, point: ArrayLike, values: ArrayLike, noise: ArrayLike | None) -> Sample:
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
        if noise is None:
            return Sample(tuple(x.tolist()), tuple(y.tolist()))
        t = np.asarray(noise, dtype=float).reshape(-1)
        if t.shape != y.shape or not np.all(np.isfinite(t) & (t >= 0)):
            raise ValueError(f'noise is {t.tolist()}; give {s.outputs} numbers >= 0')
        return Sample(tuple(x.tolist()), tuple(y.tolist()), tuple(t.tolist()))

    # Ask ----------------------------------------------------------------------------------

    def ask(self) -> Proposal | NothingToPropose:
        """Return the next experiment, or say why there is none."""
        run, s = self._run, self.settings
        missing = run.missing()
        if missing and s.noise_bound == AUTO and missing.startswith('noise_bound'):
            return NothingToPropose(NOISE_UNKNOWN, missing)
        if missing:
            raise ValueError(missing)
        view = View(s, self.seed, run.samples, run.rule, run.band, run.S, run.X, run.h_min)
        chosen = self._choose(view) if np.any(run.S) else None
        if chosen and run.S[chosen[0]] and only_measured_is_safe(run):
            repeat = opening_repeat(run, view)
            chosen = None if repeat is None else (repeat, REPEAT)
        if chosen is None:
            return why_nothing(run, view)
        at, role = chosen
        assert run.hull is not None
        band, where = run.band, innermost(s.domains, run.hull, run.X[at:at + 1])[0]
        return Proposal(
            point=tuple(run.X[at].tolist()), domain=s.domains[where], role=role,
            means=tuple(band.mu[:, at].tolist()), lower=tuple(band.low[:, at].tolist()),
            upper=tuple(band.up[:, at].tolist()), B=tuple(band.norms[:, band.where[at]].tolist()))

    def _require_bands(self) -> None:
        missing = self._run.missing()
        if missing:
            raise ValueError(missing)

    # Questions ----------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Tell whether enough was told for bands, that is for `ask`, `state` and `predict`."""
        return self._run.missing() is None

    def best(self) -> Best | None:
        """
        Return the measured point with the best expected reward among those known to be safe.

        Known to be safe is what the safe set holds or what keeps all limits with probability
        1 - delta by belief, and no measurement contradicts; None if none.
        """
        run, repeats = self._run, self._run.samples.repeats
        A, safe = run.samples.A.tolist(), run.samples.safe
        unsafe = {tuple(x) for x, good in zip(A, safe, strict=True) if not good}
        points = [p for p in repeats.points if p not in unsafe]
        if not points:
            return None
        if self.ready:
            kept = [p for p, known in zip(points, self._credible(np.array(points)), strict=True)
                    if known]
            points = kept or points
            band = run.band_at(np.array(points))
            mu, low, up = band.mu, band.low, band.up
        else:
            mu = low = up = np.array([repeats.mean(p) for p in points]).T
        at = int(np.argmax(mu[0] if self.settings.reward else mu.min(axis=0)))
        point = points[at]
        return Best(point, repeats.count(point), tuple(repeats.mean(point).tolist()),
                    *(tuple(part[:, at].tolist()) for part in (mu, low, up)))

    def _credible(self, X: Array) -> np.ndarray:
        """
        Tell which measured points are known to be safe.

        The safe set is about points that were never tried, each at its small share of delta. A
        point that was tried need not go when the model learns that it was too stiff.
        """
        run = self._run
        known = run.safe_at(X)
        if run.rule.believes:
            free = np.isfinite(run.h_min)
            band, z = run.band_at(X), -float(ndtri(self.settings.delta / max(free.sum(), 1)))
            known |= np.all(band.mu[free] - z * band.sigma[free] >= run.h_min[free, None], axis=0)
        return known

    def state(self) -> State:
        """Return what a node publishes: shares of the domains, B, and the books."""
        self._require_bands()
        run, names = self._run, self.settings.domains
        # Shares of the box: those that crowd around the starts or the frontier do not count.
        masks = {d: mask[run.spread] for d, mask in run.domains().masks.items()}
        S = run.S[run.spread]
        return State(
            samples=run.samples.count,
            safe_share={d: float(np.mean(S[masks[d]])) if np.any(masks[d]) else 0.0
                        for d in names},
            domain_share={d: float(np.mean(masks[d])) for d in names},
            norms=run.rule.norms, delta=run.ledger.delta, spent=run.ledger.spent,
            entries=run.ledger.entries,
            length_scale_weights=run.rule.length_scale_weights(), notices=self.notices)

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what the user should know, on the noise and by the rule, in sentences."""
        return (*self._run.samples.notices(), *self._run.rule.notices())

    def predict(self, points: ArrayLike) -> Band:
        """Return the band at any points of the unit cube, arrays of shape (outputs, points)."""
        self._require_bands()
        return self._run.band_at(self._shaped(points))

    def safe(self, points: ArrayLike) -> np.ndarray:
        """Tell which points are known to be safe, shape (points,)."""
        self._require_bands()
        return self._run.safe_at(self._shaped(points))

    def _shaped(self, points: ArrayLike) -> Array:
        X = np.atleast_2d(np.asarray(points, dtype=float))
        if X.shape[1] != self.settings.dimension:
            raise ValueError(f'points have shape {X.shape}; dimension is '
                             f'{self.settings.dimension}')
        return X

    @property
    def hull(self) -> Hull | None:
        """Return the hull of the samples, the same object as long as it does not change."""
        return self._run.hull

    def hull_vertices(self, enlarged: bool = False) -> Array:
        """Return the corners of the hull of the samples or of the enlarged hull, shape (C, n)."""
        hull = self._run.hull
        return np.empty((0, self.settings.dimension)) if hull is None else hull.vertices(enlarged)

    @property
    def samples(self) -> tuple[Array, Array]:
        """Return the told points (N, n) and values (N, m)."""
        return self._run.samples.A.copy(), self._run.samples.Y.copy()

    # Records ------------------------------------------------------------------------------

    def to_record(self) -> dict[str, Any]:
        """Return plain JSON-able data from which `from_record` continues identically."""
        return {
            'settings': self.settings.to_dict(), 'seed': self.seed,
            'points': [list(t.point) for t in self._told],
            'values': [list(t.values) for t in self._told],
            'noise': [None if t.noise is None else list(t.noise) for t in self._told]}

    @classmethod
    def from_record(cls, record: dict[str, Any],
                    predictor: Predictor | None = None) -> SafeOptimizer:
        """Continue a recorded run; the predictor is not part of the record."""
        if not isinstance(record, dict) or 'settings' not in record:
            raise ValueError(f'record is {str(record)[:60]!r}; it has no settings')
        made = cls(Settings.from_dict(record['settings']), record['seed'], predictor)
        for told in zip(record['points'], record['values'], record['noise'], strict=True):
            made.tell(*told)
        return made
