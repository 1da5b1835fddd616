# Copyright the pacsbo_ros developers. Apache-2.0.
"""The true norms of a known function on the domains of an optimiser, to judge its estimates."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pacsbo_ros.core import Kernel
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rkhs import local_norm

DENSE = 160  # points on which a true local norm is evaluated
RESOLUTION = 0.99  # so it is known to about 1 %


class LocalNorms:
    """Measure the norm of h on hull and enlarged hull, anew only when the hull has changed."""

    def __init__(self, h: Callable[[Array], Array], norm: float, kernel: Kernel,
                 X: Array) -> None:
        """Take a function, its norm on the box, and points X that fill the box."""
        self._h, self._norm, self._kernel, self._X = h, norm, kernel, X
        self._hull: Hull | None = None
        self._norms: dict[str, float] = {}

    def on(self, hull: Hull | None) -> dict[str, float]:
        """Give the norm on each domain of the samples that span this hull."""
        if hull is None:
            raise ValueError('no sample was told: the domains are not known yet')
        if hull is not self._hull:
            level = hull.innermost(self._X)
            self._norms = {domain: self._measure(hull, self._X[level <= j])
                           for j, domain in enumerate(('hull', 'enlarged'))}
            self._hull = hull
        return {**self._norms, 'box': self._norm}

    def _measure(self, hull: Hull, inside: Array) -> float:
        step = max(1, -(-len(inside) // DENSE))
        U = np.unique(np.vstack([hull.A, inside[::step]]), axis=0)
        return min(local_norm(self._kernel, U, self._h(U)), self._norm)
