# Copyright the pacsbo_ros developers. Apache-2.0.
"""SafeOpt: the baseline that is told the norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pacsbo_ros.core.optimizer import SafeOptimizer
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rkhs import reciprocal_covariance_integral
from pacsbo_ros.core.settings import Settings


class SafeOpt(SafeOptimizer):
    """Optimise with known norms: the baseline. B is one number or one per output."""

    kind = 'SafeOpt'

    def __init__(self, settings: Settings, B: float | Sequence[float], seed: int = 0) -> None:
        super().__init__(settings.replace(domains=('box',)), seed)
        self.B = tuple(float(b) for b in np.broadcast_to(
            np.asarray(B, dtype=float), (settings.outputs,)))
        if not all(0 < b < np.inf for b in self.B):
            raise ValueError(f'B is {self.B}; give positive numbers')

    def _norm_estimates(self) -> list[NormEstimate]:
        found: dict[int, NormEstimate] = {}
        for gp, posterior, members in zip(
                self._gps, self._posteriors, self._members, strict=True):
            (r,) = reciprocal_covariance_integral(posterior.var, self._inside).tolist()
            for i, norm in zip(members, gp.mean_norms(), strict=True):
                B = self.B[i]
                found[i] = NormEstimate(
                    i, 'box', B, 'given', 'given', float(norm), r, None, B, B, B, 0, 0.0)
        return [found[i] for i in range(self.settings.outputs)]

    def to_record(self) -> dict[str, Any]:
        """Give plain JSON-able data from which `from_record` continues identically."""
        return {**super().to_record(), 'B': list(self.B)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> SafeOpt:
        """Continue a recorded run."""
        made = cls(cls._recorded_settings(record), record['B'], record['seed'])
        made._replay(record)
        return made
