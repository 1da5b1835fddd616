# Copyright the pacsbo_ros developers. Apache-2.0.
"""PACSBO: norms estimated from the data, on nested domains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pacsbo_ros.core.gp import Row
from pacsbo_ros.core.norm_bounds import Evidence, NormBound
from pacsbo_ros.core.optimizer import Predictor, SafeOptimizer
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rkhs import reciprocal_covariance_integral
from pacsbo_ros.core.rules import make_bound
from pacsbo_ros.core.settings import NO_BOUND, Settings


class Pacsbo(SafeOptimizer):
    """Optimise with norms that are estimated from the data on each domain."""

    kind = 'Pacsbo'

    def __init__(
        self, settings: Settings, seed: int = 0, predictor: Predictor | None = None,
    ) -> None:
        super().__init__(settings, seed)
        if settings.norm_bound == NO_BOUND and predictor is None:
            raise ValueError(
                f'norm_bound is {NO_BOUND!r}; without a bound Pacsbo needs a predictor')
        self.predictor = predictor
        self._bounds: list[NormBound] = [
            make_bound(settings, self._split, kernel, self.seed) for kernel in self._kernels]
        self._history: dict[tuple[int, str], list[tuple[float, float]]] = {}

    @classmethod
    def from_record(
        cls, record: dict[str, Any], predictor: Predictor | None = None,
    ) -> Pacsbo:
        """Continue a recorded run; the predictor is not part of the record."""
        made = cls(cls._recorded_settings(record), record['seed'], predictor)
        made._replay(record)
        return made

    def _observe(self, group: int, row: Row) -> None:
        self._bounds[group].observe(row)

    def _refine(self) -> None:
        super()._refine()
        for bound in self._bounds:
            bound.forget(self._refined)

    def _norm_estimates(self) -> list[NormEstimate]:
        found: dict[tuple[int, str], NormEstimate] = {}
        masks = self._masks
        for gp, posterior, bound, members in zip(
                self._gps, self._posteriors, self._bounds, self._members, strict=True):
            norms = gp.mean_norms()
            integrals = reciprocal_covariance_integral(posterior.var, self._inside)
            r = dict(zip(masks, integrals.tolist(), strict=True))
            eta = {d: [self._predict_norm(i, d, float(norm), r[d])
                       for i, norm in zip(members, norms, strict=True)] for d in masks}
            bounds = bound.bounds(Evidence(
                gp, posterior, masks, self._order, eta, self.seed))
            for d in masks:
                for j, (i, b) in enumerate(zip(members, bounds[d], strict=True)):
                    word = eta[d][j]
                    led = word is not None and word >= b.B
                    found[i, d] = NormEstimate(
                        i, d, max(b.B, word or 0.0), self.settings.norm_bound,
                        'predictor' if led else 'bound', float(norms[j]), r[d], word,
                        b.centre, b.low, b.high, b.draws, b.delta,
                        # A word is about the whole norm, and noise may feign energy.
                        0.0 if led else b.shown)
        return self._nested(found)

    def _predict_norm(self, output: int, domain: str, norm: float, r: float) -> float | None:
        """Append to the history and ask the predictor, if there is one."""
        history = self._history.setdefault((output, domain), [])
        history.append((norm, r))
        if self.predictor is None:
            return None
        window = np.array(history[-self.settings.window:])
        word = float(self.predictor(window, self.settings, domain))
        if not np.isfinite(word):
            raise ValueError(
                f'predictor gave {word} for output {output} on {domain}; history {window}')
        return max(word, 0.0)

    def _nested(self, found: dict[tuple[int, str], NormEstimate]) -> list[NormEstimate]:
        """Cap B of each domain by the domains around it: a local norm is never larger."""
        names = self.settings.domains
        result: list[NormEstimate] = []
        for i in range(self.settings.outputs):
            row: list[NormEstimate] = []
            for d in reversed(names):
                estimate = found[i, d]
                if row and row[-1].B < estimate.B:
                    estimate = replace(estimate, B=row[-1].B, shown=row[-1].shown,
                                       decided_by='outer domain')
                row.append(estimate)
            result.extend(reversed(row))
        return result
