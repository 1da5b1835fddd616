# Copyright the pacsbo_ros developers. Apache-2.0.
"""What PACSBO is compared with, behind the same ask/tell interface."""
from __future__ import annotations

import numpy as np

from pacsbo_ros.core import MAXIMISER, NormEstimate, Proposal, SafeOpt, SafeOptimizer, Settings
from pacsbo_ros.core.local_norms import LocalNorms

CONSTANT_BETA = 2.0  # of SafeOpt as its users run it


def constant_beta(settings: Settings) -> Settings:
    """
    Give the settings with which SafeOpt(settings, B=β) has the band μ ± βσ for ever.

    Its users give the noise variance to the Gaussian process and a constant β. In our terms
    λ = R², and a noise bound of zero leaves nothing to add to B.
    """
    return settings.replace(lam=settings.noise_bound ** 2, noise_bound=0.0)


class RandomSearch(SafeOpt):
    """Propose uniform points of the box, safe or not."""

    kind = 'RandomSearch'

    def __init__(self, settings: Settings, seed: int = 0) -> None:
        super().__init__(settings, 1.0, seed)

    def ask(self) -> Proposal:
        """Draw the next point; the same number of samples gives the same point."""
        count = len(self.samples[0])
        x = np.random.default_rng([self.seed, 8, count]).random(self.settings.dimension)
        return Proposal(tuple(x.tolist()), 'box', MAXIMISER, (), (), (), ())


class Oracle(SafeOptimizer):
    """Know the true norm of the one output on every domain, and keep the usual band."""

    kind = 'Oracle'

    def __init__(self, settings: Settings, truth: LocalNorms, seed: int = 0) -> None:
        super().__init__(settings, seed)
        self._truth = truth

    def _norm_estimates(self) -> list[NormEstimate]:
        norms = self._truth.on(self.hull)
        return [NormEstimate(0, d, norms[d], 'given', 'given', 0.0, 0.0, None, norms[d],
                             norms[d], norms[d], 0, 0.0) for d in self.settings.domains]
