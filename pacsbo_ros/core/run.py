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
All that follows from the samples: candidates, domains, bands, the safe set, the books.

A run is made from (settings, seed) and grows by one sample after the other; nothing else changes
it. It is a cache: thrown away, it can be made again from the same samples and comes out the same.

  symbol    meaning                                             shape
  X         candidates: [fixed | drawn again | starts]          (G, n)
  S         called safe: by the band, or a safe start           (G,) bool
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.band import Band, safe_by_band
from pacsbo_ros.core.candidates import make_candidates, refine
from pacsbo_ros.core.domains import Domains, Hull, innermost
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.ledger import Ledger
from pacsbo_ros.core.rule import Predictor, RuleMaker, Setup
from pacsbo_ros.core.samples import Sample, Samples
from pacsbo_ros.core.settings import Settings
from pacsbo_ros.core.step import StepLimit

ANCHORS = 64  # uncertain safe candidates around which others are drawn


class Run:
    """Grow by samples; answer all else without a change."""

    def __init__(self, settings: Settings, seed: int, predictor: Predictor | None,
                 make_rule: RuleMaker) -> None:
        self.settings, self.seed = settings, seed
        self.ledger = Ledger(settings.delta)
        self.samples = Samples(settings)
        self.rule = make_rule(Setup(settings, seed, self.ledger, predictor))
        self.h_min = np.array(settings.thresholds)
        self.step = StepLimit(settings)
        self.hull: Hull | None = None
        self._domains: Domains | None = None
        self.ready = False  # are there bands
        self.sound = True  # False while a sample is taken in

    def add(self, sample: Sample) -> None:
        """Take one sample; if this raises, the run is no longer sound."""
        self.sound = False
        self.samples.add(sample)
        x = self.samples.A[-1]
        self.hull = self.hull.with_sample(x) if self.hull else Hull(
            x[None], self.settings.enlargement)
        if not self.step.off:
            if self.ready:
                self.step.judge(self.samples.Y[-1], self.band_at(x[None]))
            self.step.add(x, bool(self.samples.safe[-1]), self.X if self.ready else None)
        self.rule.add(self.samples)
        if self.ready or self.missing() is None:
            self._renew()
        self.sound = True

    def missing(self) -> str | None:
        """Say what must be told before there can be bands; None if nothing is."""
        N, s, safe = self.samples.count, self.settings, self.samples.safe
        if not N:
            return 'safe start: no sample was told; tell at least one safe sample'
        if s.starts > N:
            return f'safe start: {N} of {s.starts} starts were told; tell the others'
        if not np.any(safe):
            Y = self.samples.Y
            at = int(np.argmax(np.min(Y - np.where(
                np.isfinite(self.h_min), self.h_min, -np.inf), axis=1, initial=np.inf)))
            return (f'safe start: none of the {N} told samples is safe; the closest is '
                    f'{self.samples.A[at].tolist()} with values {Y[at].tolist()}, thresholds '
                    f'{list(s.thresholds)}')
        if self.samples.R is None:
            return ('noise_bound is auto, and no point was measured twice; measure a start '
                    'again, or give a number')
        return None

    def band_at(self, X: Array) -> Band:
        """Return the band at any points."""
        assert self.hull is not None
        return self.rule.band_at(X, innermost(self.settings.domains, self.hull, X))

    def safe_at(self, X: Array) -> np.ndarray:
        """Tell which points are known to be safe: the safe set, at any points."""
        held = {tuple(x) for x in self.X[self._held].tolist()}
        safe = safe_by_band(self.band_at(X).low, self.h_min)
        if not self.step.off:
            safe &= self.step.allowed_at(X)
        return safe | np.array(
            [tuple(x) in held for x in X.tolist()], dtype=bool)

    def _renew(self) -> None:
        if not self.ready:
            self._lay_out()
        if self._draw_again():
            self._domains = None
        self.band = self.rule.renew(self.samples, self.domains)
        self.S = safe_by_band(self.band.low, self.h_min)
        if not self.step.off:
            self.S = self.step.allowed(self.X, self.S)
        self._held = self._without_proof()
        self.S[self._held] = True
        self.ready = True

    @property
    def spread(self) -> slice:
        """Return which candidates are spread evenly over the box."""
        return slice(0, self._redrawn.start)

    def domains(self) -> Domains:
        """Return the candidates sorted into the domains, which is done when somebody asks."""
        assert self.hull is not None
        if self._domains is None or self._domains.hull is not self.hull:
            self._domains = Domains.sort(self.settings.domains, self.hull, self.X, self._domains)
        return self._domains

    def _without_proof(self) -> np.ndarray:
        """
        Return the candidates that are called safe whatever the band says.

        These are the starts, safe by assumption, which never leave. After a drift nothing is left
        of that: if the band calls nothing safe, it is the point with the largest margin, as long
        as it is not known to be unsafe.
        """
        if self.rule.starts_hold:
            return np.arange(self.starts.start, self.starts.stop)
        free, band = np.isfinite(self.h_min), self.band
        margin = ((band.low[free] - self.h_min[free, None]) / band.prior[free, None]).min(axis=0)
        refuge = np.array([int(np.argmax(margin))])
        known = self.S[refuge[0]] or not safe_by_band(band.up[:, refuge], self.h_min)[0]
        return refuge[:0] if known else refuge

    def _lay_out(self) -> None:
        """Lay out the candidates once the safe starts are known."""
        starts = np.unique(self.samples.A[self.samples.safe], axis=0)
        chosen = make_candidates(self.settings, starts, self.seed)
        self.X, self._redrawn = chosen.X, chosen.refined
        self.starts = slice(len(self.X) - len(starts), len(self.X))
        self.rule.start(self.X, chosen.order, self.samples)
        if not self.step.off:
            self.step.lay_out(self.X)

    def _draw_again(self) -> bool:
        """Draw a part of the candidates again around the safe frontier (n > 3)."""
        count = self._redrawn.stop - self._redrawn.start
        if not count:
            return False
        anchors = self.samples.A[self.samples.safe]
        if self.ready:
            S = np.flatnonzero(self.S)
            anchors = np.vstack([anchors, self.X[S[np.argsort(-self.band.doubt[S])[:ANCHORS]]]])
        rng = np.random.default_rng([self.seed, 5, self.samples.count])
        X = refine(anchors, self.settings.kernels()[0].length_scales, count, rng)
        self.X[self._redrawn] = X
        self.rule.replace(self._redrawn, X)
        if not self.step.off:
            self.step.replace(self._redrawn, self.X)
        return True
