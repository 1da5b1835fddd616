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
The problems, frozen by name and index.

`problem(name, index)` draws the same problem for ever; `digest(name)` is the hash of the first
ones, which a test compares with the committed one, so that a change cannot go unnoticed.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
import hashlib
import math

import numpy as np
from pacsbo_ros.core import Kernel, random_function
from pacsbo_ros.core.kernels import Array
from scipy.stats import qmc
from studies.benchmark.pendulum import KINDS, pendulum
from studies.benchmark.problem import Function, Problem
from studies.reachable import reachable_best
from studies.worlds import LENGTH_SCALE, make_world, points, SIDE, WORLDS


def _steepest(h: Function, n: int) -> float:
    """Return the largest slope between near points, a Lipschitz constant as good as known."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, n))
    step = rng.standard_normal((4000, n))
    step *= 1e-3 / np.linalg.norm(step, axis=1, keepdims=True)
    return float(np.max(np.abs(h(X + step) - h(X))) / 1e-3)


def _finish(name: str, h: Function, X: Array, side: int | None, threshold: float, starts: Array,
            kernel: Kernel, norm: float, budget: int, noise, noise_bound: float,
            later: Function | None = None) -> Problem:
    H = h(X)
    best = float(H.max())
    reachable = reachable_best(X, H, threshold, starts, h(starts), side)
    return Problem(name, h, threshold, starts, budget, noise, noise_bound, kernel, norm,
                   _steepest(h, X.shape[1]), best, reachable, later)


def _gaussian(size: float):
    def noise(x: Array, rng: np.random.Generator) -> float:
        return float(size * rng.standard_normal())
    return noise


def _world(name: str, world: str, n: int, index: int, factor: float = 1.0) -> Problem:
    """Return a problem of the safety study, perhaps with a wrong length scale told."""
    w = make_world(world, n, index)
    kernel = replace(w.kernel, length_scales=tuple(factor * s for s in w.kernel.length_scales))
    return _finish(name, w.h, points(n), SIDE.get(n), w.threshold, w.starts, kernel, w.norm, 30,
                   w.noise, 0.01)


def _losbo(name: str, kind: str, index: int) -> Problem:
    """Return a function as in the study of LoSBO: norm 10, one start, threshold mean - 0.2 sd."""
    ell, rng = 0.2 / math.sqrt(2), np.random.default_rng([index, 77, len(kind)])
    family = 'rbf' if kind.startswith('rbf') else 'matern32'
    kernel = Kernel(family, (ell,))
    if kind == 'rbf basis':
        h: Function = _basis_function(ell, rng, 10.0)
    else:
        h = random_function(kernel, int(rng.integers(50, 200)), rng, 10.0)
    X = points(1)
    H = h(X)
    threshold = float(H.mean() - 0.2 * H.std())
    start = X[rng.choice(np.flatnonzero(threshold + 0.05 * H.std() <= H), size=1)]
    return _finish(name, h, X, SIDE[1], threshold, start, kernel, 10.0, 21, _gaussian(0.01), 0.01)


def _basis_function(ell: float, rng: np.random.Generator, norm: float) -> Function:
    """Draw from the orthonormal basis of the RBF kernel's space, x^m exp(-x²/2ℓ²)/(ℓ^m √m!)."""
    order = np.sort(rng.choice(np.arange(1, 50), size=10, replace=False))
    coefficients = rng.standard_normal(10)
    coefficients *= norm / np.linalg.norm(coefficients)
    log_factorial = np.array([math.lgamma(m + 1) for m in order])

    def h(X: Array) -> Array:
        z = (np.atleast_2d(X)[:, :1] - 0.5) / ell
        with np.errstate(divide='ignore'):
            size = order * np.log(np.abs(z)) - 0.5 * log_factorial - 0.5 * z ** 2
        signs = np.where(order % 2, np.sign(z), 1.0)
        return (signs * np.exp(size)) @ coefficients
    return h


def _camelback(X: Array) -> Array:
    x, y = 4 * X[:, 0] - 2, 2 * X[:, 1] - 1
    f = (4 - 2.1 * x ** 2 + x ** 4 / 3) * x ** 2 + x * y + (-4 + 4 * y ** 2) * y ** 2
    return np.maximum(-f, -2.5) / 1.0316


_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
               [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
_P = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                      [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]])


def _hartmann(X: Array) -> Array:
    inner = np.sum(_A[None] * (X[:, None] - _P[None]) ** 2, axis=2)
    return np.exp(-inner) @ _ALPHA / 3.32237


def _bell(X: Array) -> Array:
    return np.exp(-4.0 * np.sum((X - 0.5) ** 2, axis=1))


# name: function, parameters, threshold, length scale told, budget
_SURFACES: dict[str, tuple[Function, int, float, float, int]] = {
    'camelback': (_camelback, 2, 0.0, 0.2, 60), 'hartmann': (_hartmann, 6, 0.3, 0.5, 100),
    'gaussian': (_bell, 10, 0.2, 1.0, 100)}


def _surface(name: str, kind: str, index: int) -> Problem:
    """Return a known surface with a start drawn a little above its threshold."""
    h, n, threshold, ell, budget = _SURFACES[kind]
    rng = np.random.default_rng([index, 91, n])
    side = 80 if n == 2 else None
    if side:
        axis = np.linspace(0.0, 1.0, side)
        X = np.stack(np.meshgrid(axis, axis, indexing='ij'), axis=-1).reshape(-1, 2)
    else:
        X = qmc.Sobol(n, seed=np.random.default_rng(0)).random_base2(13)
        spread = rng.normal(0.5, 0.15, (4096, n)).clip(0, 1)  # the bell's safe part is small
        X = np.vstack([X, spread])
    H = h(X)
    near = np.flatnonzero((threshold + 0.1 <= H) & (threshold + 0.3 >= H))
    start = X[rng.choice(near, size=1)]
    kernel = Kernel('matern32', (ell,) * n)
    # The peak is one by construction. Scattered points cannot show what is connected above four
    # dimensions, so the peak counts as reachable there.
    reachable = reachable_best(X, H, threshold, start, h(start), side) if side else 1.0
    return Problem(name, h, threshold, start, budget, _gaussian(0.01), 0.01, kernel, math.nan,
                   _steepest(h, n), 1.0, reachable)


def _drift(name: str, n: int, index: int) -> Problem:
    """Return a function of the world assumed that moves at sample DRIFT_AT."""
    w = make_world('assumed', n, index)
    other = random_function(w.kernel, 100, np.random.default_rng([index, 55, n]), 0.5 * w.norm)

    def later(X: Array) -> Array:
        return 0.8 * w.h(X) + other(X)
    return _finish(name, w.h, points(n), SIDE.get(n), w.threshold, w.starts, w.kernel, w.norm, 30,
                   w.noise, 0.01, later)


def _table() -> dict[str, Callable[[str, int], Problem]]:
    table: dict[str, Callable[[str, int], Problem]] = {}
    for n in LENGTH_SCALE:
        for world in WORLDS:
            table[f'{world}, n = {n}'] = lambda name, i, w=world, n=n: _world(name, w, n, i)
    for kind in ('matern32', 'rbf', 'rbf basis'):
        table[f'LoSBO {kind}'] = lambda name, i, k=kind: _losbo(name, k, i)
    for kind in _SURFACES:
        table[kind] = lambda name, i, k=kind: _surface(name, k, i)
    for n in (1, 2):
        for factor in (0.2, 0.5, 2.0, 4.0, 8.0):
            table[f'ell x {factor:g}, n = {n}'] = (
                lambda name, i, n=n, f=factor: _world(name, 'assumed', n, i, f))
        table[f'drift, n = {n}'] = lambda name, i, n=n: _drift(name, n, i)
    for kind in KINDS:
        table[kind] = lambda name, i: pendulum(name, i)
    return table


PROBLEMS = _table()


@lru_cache(maxsize=32)  # methods take turns on the same problems
def problem(name: str, index: int) -> Problem:
    """Return the problem number `index` of a family."""
    return PROBLEMS[name](name, index)


def digest(name: str, count: int = 3) -> str:
    """Return a hash of values, thresholds and starts of the first problems of a family."""
    made = hashlib.sha256()
    for index in range(count):
        p = problem(name, index)
        X = np.random.default_rng(1).random((16, p.starts.shape[1]))
        for numbers in (p.h(X), [p.threshold, p.best, p.reachable], p.starts):
            made.update((np.round(np.asarray(numbers, dtype=float), 4) + 0.0).tobytes())
    return made.hexdigest()[:16]
