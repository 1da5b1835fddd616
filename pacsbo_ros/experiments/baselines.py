# Copyright the pacsbo_ros developers. Apache-2.0.
"""What PACSBO is compared with, behind the same ask/tell interface."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pacsbo_ros.core import MAXIMISER, NormEstimate, Proposal, SafeOpt, SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rkhs import local_norm

CONSTANT_BETA = 2.0  # of SafeOpt as its users run it
DENSE = 160  # points on which a true local norm is evaluated


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
    """Know the true norm of the one output on every domain: what no method can beat safely."""

    kind = 'Oracle'

    def __init__(self, settings: Settings, h: Callable[[Array], Array], norm: float,
                 seed: int = 0) -> None:
        super().__init__(settings, seed)
        self._h, self._norm = h, norm

    def _norm_estimates(self) -> list[NormEstimate]:
        found = []
        for j, domain in enumerate(self.settings.domains):
            B = self._norm if domain == 'box' else true_norm(
                self, self._h, self._norm, self._X[self._where <= j])
            found.append(NormEstimate(0, domain, B, 'given', 'given', 0.0, 0.0, None, B, B, B,
                                      0, 0.0))
        return found


def true_norm(optimizer: SafeOptimizer, h: Callable[[Array], Array], norm: float,
              inside: Array) -> float:
    """Give the norm of h on a domain, from its samples and a part of the points inside it."""
    step = max(1, -(-len(inside) // DENSE))
    U = np.unique(np.vstack([optimizer.samples[0], inside[::step]]), axis=0)
    return min(local_norm(optimizer.settings.kernels()[0], U, h(U)), norm)
