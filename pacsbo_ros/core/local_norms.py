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
The true norms of a known function on the domains of an optimiser: to train and to judge by.

  symbol   meaning                                            shape
  A        samples that span the hull                         (N, n)
  inner    points of the hull on which a norm is evaluated    (P, n)
  shell    points of the enlarged hull outside of the hull    (Q, n)

The norm of h on a sub-domain is that of its restriction, which is the norm of the smoothest
function with the same values there: evaluated on the samples that span the hull, on the point of
the domain next to each centre of h, on `REFERENCE` more points of each domain, and never more than
the norm on the box, which is known exactly. That is about 1 % low, with four parameters 3 to 4 %.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.norm_rule import Bound, Evidence, NormRule
from pacsbo_ros.core.rkhs import RkhsFunction, whitened_values
from pacsbo_ros.core.rule import RuleMaker, Setup
from pacsbo_ros.core.settings import DOMAINS

REFERENCE = 64  # points of each sub-domain
NEARING = 40  # steps towards the nearest point of a hull
RESOLUTION = 0.99  # what counts as below a norm that is known to about 1 %


class LocalNorms:
    """Measure the norm of h on every domain, anew only when the hull has changed."""

    def __init__(self, h: RkhsFunction, norm: float, rng: np.random.Generator) -> None:
        self._h, self._norm, self._rng = h, norm, rng
        self._hull: Hull | None = None
        self._norms: dict[str, float] = {}

    def on(self, hull: Hull | None) -> dict[str, float]:
        """Return the norm on each domain of the samples that span this hull."""
        if hull is None:
            raise ValueError('no sample was told: the domains are not known yet')
        if hull is not self._hull:
            self._norms = dict(zip(DOMAINS, self._measure(hull), strict=True))
            self._hull = hull
        return self._norms

    def _measure(self, hull: Hull) -> list[float]:
        inner, shell = reference_points(hull, self._h, self._rng)
        parts = (np.vstack([hull.A, inner]), shell)
        return domain_norms(self._h.kernel, parts, self._h(np.vstack(parts)), self._norm).tolist()


class TrueNorms(NormRule):
    """Rely on the true norm of the one output on every domain, as nobody can but a study."""

    name = 'true norms'
    assumption = 'none'
    spends = 'nothing: certain'

    def __init__(self, setup: Setup, truth: LocalNorms) -> None:
        super().__init__(setup)
        self._truth = truth

    @classmethod
    def of(cls, truth: LocalNorms) -> RuleMaker:
        """Return what makes the rule for one function."""
        return lambda setup: cls(setup, truth)

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Return the norms on the domains of the present hull, never below what the data show."""
        norms, (shown,) = self._truth.on(evidence.domains.hull), evidence.gp.mean_norms()
        found = {d: max(norms[d], float(shown)) for d in evidence.domains.names}
        return {d: [Bound(B, B, B, B, 0, 0.0)] for d, B in found.items()}


def domain_norms(
    kernel: Kernel, parts: tuple[Array, Array], values: Array, on_box: float | Array,
) -> Array:
    """
    Return the norms on hull, enlarged hull and box, (3,), of the function with these values.

    The parts are points of the hull and of the shell around it. One column of values for each of q
    functions gives (3, q).
    """
    # The sets are nested, so one factor serves both: a prefix belongs to the inner set.
    squares = np.cumsum(whitened_values(kernel, np.vstack(parts), values) ** 2, axis=0)
    ends = np.cumsum([len(part) for part in parts]) - 1
    return np.concatenate([np.minimum(np.sqrt(squares[ends]), on_box), np.asarray(on_box)[None]])


def reference_points(
    hull: Hull, h: RkhsFunction, rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Choose points of the hull (also a flat one) and of the shell, to evaluate norms on."""
    A, n, eps = hull.A, hull.A.shape[1], hull.eps
    if n == 1:
        low, high = A.min(), A.max()
        inner = np.linspace(low, high, REFERENCE + 2)[1:-1]
        shell = np.concatenate([np.linspace(max(low - eps, 0.0), low, REFERENCE // 2 + 1)[:-1],
                                np.linspace(high, min(high + eps, 1.0), REFERENCE // 2 + 1)[1:]])
        outside = (shell < low) | (shell > high)
        return inner[:, None], shell[outside, None]
    # Few vertices at a time reach the faces as well as the middle of the hull.
    inner = rng.dirichlet(np.full(len(A), 2.0 / len(A) ** 0.5), size=REFERENCE) @ A
    # A ray from each point leaves the hull through a face; the shell is up to eps beyond it.
    ray = rng.standard_normal((REFERENCE, n))
    face, way = _exits(inner, ray, hull.H, hull.b)
    beyond = inner + way[:, None] * ray + eps * rng.random((REFERENCE, 1)) * hull.H[face]
    # A centre is felt most at the point next to it: in the hull, and on the way out of it.
    scales = np.array(h.kernel.length_scales)
    near = _nearest(A / scales, h.centres / scales) * scales
    near = np.where(hull.level(h.centres)[:, None] <= 0.0, h.centres, near)
    _, way = _exits(near, h.centres - near, *hull.enlarged_half_spaces())
    edge = near + np.minimum(way, 1.0)[:, None] * (h.centres - near)
    shell = np.clip(np.vstack([beyond, edge]), 0.0, 1.0)
    return np.vstack([inner, near]), shell[hull.innermost(shell) == 1]


def _exits(X: Array, ray: Array, H: Array, b: Array) -> tuple[np.ndarray, Array]:
    """Return the face through which each ray leaves {x : H x <= b}, and how far along it."""
    speed, room = ray @ H.T, np.maximum(b - X @ H.T, 0.0)
    way = np.where(speed > 1e-12, room / np.maximum(speed, 1e-12), np.inf)
    face = np.argmin(way, axis=1)
    return face, way[np.arange(len(X)), face]


def _nearest(A: Array, X: Array) -> Array:
    """Return the point of the hull of A next to each X, nearly, by Frank and Wolfe."""
    found = np.repeat(A.mean(axis=0)[None], len(X), axis=0)
    for _ in range(NEARING):
        away = found - X
        step = A[np.argmin(away @ A.T, axis=1)] - found
        length = np.maximum(np.sum(step * step, axis=1), np.finfo(float).tiny)
        found += np.clip(-np.sum(away * step, axis=1) / length, 0.0, 1.0)[:, None] * step
    return found
