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
Random problems of the safety study: some as the theory assumes, some not.

  symbol    meaning                                                        shape
  X, H      points of the box and the values of h on them                  (G, n), (G,)
  norm      RKHS norm of h for the model's kernel; for a function that is  scalar
            not in its RKHS, the norm of the least function with the same
            values at DENSE points
  noise     standard deviation 0.01, which is also the noise bound R told to the optimiser
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from pacsbo_ros.core import Kernel, random_function
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rkhs import local_norm
from scipy.stats import qmc

LENGTH_SCALE = {1: 0.1, 2: 0.3, 4: 0.5}
SIDE = {1: 1000, 2: 50}  # points per axis of the grid; above two dimensions Sobol points
SOBOL = 13  # 2^13 points
CENTRES = 100
NOISE = 0.01
DENSE = 400

# What each world is; the assumptions hold in the first two.
WORLDS = {
    'assumed': 'norm U(1, 10)',
    'large': 'norm U(10, 50)',
    'rough': "norm U(1, 10), half of the model's length scale",
    'smooth': 'RBF kernel where the model has Matérn-3/2',
    'jump': 'norm U(1, 10), and a jump down of half the range across a random plane',
    'heavy tails': 'norm U(1, 10), noise Student-t with two degrees of freedom',
    'uneven noise': 'norm U(1, 10), noise grows to five times R across the box',
}
HOLDS = ('assumed', 'large')

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class World:
    """Hold one problem: the function, what is safe, how it is measured."""

    kernel: Kernel  # of the model
    h: Function
    norm: float
    threshold: float
    starts: Array  # (3, n)
    best: float  # highest value on the points
    noise: Callable[[Array, np.random.Generator], float]


@lru_cache
def points(n: int) -> Array:
    """Return the points on which threshold, starts and optimum are defined."""
    if n in SIDE:
        axes = [np.linspace(0.0, 1.0, SIDE[n])] * n
        return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)
    return qmc.Sobol(n, seed=np.random.default_rng(0)).random_base2(SOBOL)


def make_world(name: str, n: int, index: int) -> World:
    """Draw the problem number `index`; safe is what lies above the 30 % quantile."""
    rng = np.random.default_rng([index, n, sorted(WORLDS).index(name)])
    ell, model = LENGTH_SCALE[n], Kernel('matern32', (LENGTH_SCALE[n],) * n)
    kernel = {'rough': Kernel('matern32', (ell / 2,) * n),
              'smooth': Kernel('rbf', (ell,) * n)}.get(name, model)
    norm = float(rng.uniform(10.0, 50.0) if name == 'large' else rng.uniform(1.0, 10.0))
    smooth = random_function(kernel, CENTRES, rng, norm)
    X, h = points(n), smooth
    if name == 'jump':
        normal, anchor = rng.standard_normal(n), rng.uniform(0.25, 0.75, n)
        drop = 0.5 * float(np.ptp(smooth(X)))
        h = partial(_broken, h=smooth, normal=normal, anchor=anchor, drop=drop)
    H = h(X)
    if kernel != model or name == 'jump':
        chosen = X[::max(1, len(X) // DENSE)]
        norm = local_norm(model, chosen, h(chosen))
    low, high = np.quantile(H, [0.4, 0.5])
    starts = X[rng.choice(np.flatnonzero((low <= H) & (high >= H)), size=3, replace=False)]
    noise = {'heavy tails': _heavy, 'uneven noise': _uneven}.get(name, _even)
    return World(model, h, norm, float(np.quantile(H, 0.3)), starts, float(H.max()), noise)


def _broken(X: Array, h: Function, normal: Array, anchor: Array, drop: float) -> Array:
    return h(X) - drop * ((X - anchor) @ normal > 0)


def _even(x: Array, rng: np.random.Generator) -> float:
    return float(NOISE * rng.standard_normal())


def _heavy(x: Array, rng: np.random.Generator) -> float:
    return float(NOISE * rng.standard_t(2))


def _uneven(x: Array, rng: np.random.Generator) -> float:
    return float(NOISE * (1.0 + 4.0 * x[0]) * rng.standard_normal())
