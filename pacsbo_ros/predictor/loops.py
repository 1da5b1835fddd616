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
Runs of the optimiser on random functions, some of which its model is wrong about.

  symbol     meaning                                                              shape
  history    what the optimiser shows to a predictor, see `core.history`          (T, S, 5)
  error      (μ - h)/(μ - low): how much of the plain band the truth takes up,    (T, S, K)
             at the proposal (first) and at candidates on the edge of the safe set
  slack      (μ - threshold)/(μ - low) at the proposal: it is unsafe if its error (T, S)
             is larger, and a band that is wider by that factor would not propose it
  steps      proposals of a run                                                   (T,)
  unsafe     evaluations below the threshold                                      (T,)
  left       (best - best found)/(best - best start)                              (T,)

In a run the band is m times as wide as without a predictor, m drawn at random or said by the
predictor under test, so that it learns from histories like those that it will cause. A function
is numbered by (seed, index); the same number gives the same function whatever predictor is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
import math

import numpy as np
from pacsbo_ros.core import Kernel, NothingToPropose, random_function, SafeOptimizer, Settings
from pacsbo_ros.core.history import COLUMNS, Multiplier
from pacsbo_ros.core.kernels import Array
from scipy.stats import qmc

STRETCH = (0.5, 2.0)  # of the told length scale, in units of the usual one
LENGTH_SCALE = {1: 0.1, 2: 0.3, 3: 0.4, 4: 0.5}
CANDIDATES = {1: 200, 2: 900, 3: 1500, 4: 1500}
LOG_POINTS = 11  # 2^11 points on which threshold, starts and optimum are defined
CENTRES, NOISE = 100, 0.01
EDGE = 0.3  # share of the band below the threshold or above that counts as edge
LOOK, EDGE_POINTS = 256, 6  # points among which the edge is looked for, and how many are kept
MULTIPLIERS = (0.7, 2.5)  # of the runs that are trained on
SAFE, START = 0.3, (0.4, 0.5)  # quantiles of the function: threshold, values of the starts


@dataclass(frozen=True)
class Kind:
    """Say in which way a function differs from what the model assumes."""

    share: float  # of the runs that are trained on
    truth: float = 1.0  # true length scale in units of the told one
    jump: bool = False  # down by half of the range across a random plane
    tails: bool = False  # noise is Student-t with two degrees of freedom
    uneven: bool = False  # noise grows to five times R across the box


KINDS = {
    'assumed': Kind(0.3),
    'shorter': Kind(0.25, truth=0.5),
    'longer': Kind(0.15, truth=2.0),
    'jump': Kind(0.2, jump=True),
    'heavy tails': Kind(0.05, tails=True),
    'uneven noise': Kind(0.05, uneven=True),
}


class Witness:
    """Say always the same, or what another says, and keep what was shown and said last."""

    def __init__(self, says: float | Multiplier) -> None:
        self.says, self.last, self.row = says, 1.0, np.zeros(len(COLUMNS))

    def multiplier(self, history: Array, settings: Settings) -> float:
        """Return the multiplier."""
        self.row, says = history[-1], self.says
        self.last = says if isinstance(says, float) else says.multiplier(history, settings)
        return self.last


@dataclass(frozen=True)
class Loops:
    """Hold T runs of at most S proposals; beyond the end of a run error is NaN."""

    history: Array
    error: Array
    slack: Array
    steps: np.ndarray
    unsafe: np.ndarray
    left: Array

    def __len__(self) -> int:
        return len(self.steps)

    @classmethod
    def join(cls, parts: Iterable[Loops]) -> Loops:
        """Put runs of the same shape behind each other."""
        kept = list(parts)
        return cls(*(np.concatenate([getattr(p, f.name) for p in kept]) for f in fields(cls)))

    def take(self, which: slice | np.ndarray) -> Loops:
        """Return some of the runs."""
        return Loops(*(getattr(self, f.name)[which] for f in fields(self)))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, for a file."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@lru_cache
def points(n: int) -> Array:
    """Return the points on which threshold, starts and optimum are defined."""
    return qmc.Sobol(n, seed=np.random.default_rng(0)).random_base2(LOG_POINTS)


@dataclass(frozen=True)
class Plan:
    """Number a set of runs."""

    dimension: int
    seed: int
    kind: str = ''  # of all runs; '' draws it for each
    varied: bool = True  # draw length scale, number of starts and prior, too
    samples: int = 30


def run(plan: Plan, index: int, predictor: Multiplier | None = None, explore: bool = False,
        ) -> Loops:
    """Make one run; if it explores, its multiplier is drawn and no predictor is asked."""
    n, rng = plan.dimension, np.random.default_rng([plan.seed, index, plan.dimension])
    shares = np.array([k.share for k in KINDS.values()])
    name = str(rng.choice(list(KINDS), p=shares / shares.sum()))
    kind = KINDS[plan.kind or name]
    stretch = math.exp(rng.uniform(*np.log(STRETCH)))
    count = int(rng.choice([1, 3, 6], p=[0.2, 0.6, 0.2]))
    size, known = math.exp(0.4 * rng.standard_normal()), rng.random() < 0.3
    drawn = math.exp(rng.uniform(*np.log(MULTIPLIERS)))
    if not plan.varied:
        stretch, count, known = 1.0, 3, False
    ell = LENGTH_SCALE[n] * stretch
    norm = math.exp(rng.uniform(0.0, math.log(30.0)))
    smooth = random_function(Kernel('matern32', (ell * kind.truth,) * n), CENTRES, rng, norm)
    X = points(n)
    H = smooth(X)
    normal, anchor = rng.standard_normal(n), rng.uniform(0.25, 0.75, n)
    drop = 0.5 * float(np.ptp(H)) if kind.jump else 0.0

    def h(x: Array) -> Array:
        return np.asarray(smooth(x) - drop * ((x - anchor) @ normal > 0))

    def measure(x: Array) -> float:
        noise = rng.standard_t(2) if kind.tails else rng.standard_normal()
        return float(h(x[None])[0] + NOISE * noise * (1 + 4 * x[0] if kind.uneven else 1.0))

    H = h(X)
    threshold, low, high = np.quantile(H, [SAFE, *START])
    starts = X[rng.choice(np.flatnonzero((low <= H) & (high >= H)), size=count, replace=False)]
    settings = Settings(
        dimension=n, constraints=0, reward_threshold=float(threshold), noise_bound=NOISE,
        length_scales=(ell,), candidates=CANDIDATES[n], starts=count, budget=plan.samples,
        domains=('box',))
    if known:
        settings = replace(settings, scale_prior=size * float(np.std(H)))
    witness = Witness(drawn if explore else predictor or 1.0)
    optimizer = SafeOptimizer(settings, index % 16, witness)
    for x in starts:  # safe by assumption: noise may not contradict it
        optimizer.tell(x, [max(measure(x), float(threshold))])
    return _recorded(optimizer, witness, h, measure, float(H.max()), float(h(starts).max()))


def _recorded(optimizer: SafeOptimizer, witness: Witness, h: Callable[[Array], Array],
              measure: Callable[[Array], float], top: float, best: float) -> Loops:
    """Run it to its end; return what was seen."""
    s = optimizer.settings
    S, threshold = s.budget, s.thresholds[0]
    history, error = np.zeros((S, len(COLUMNS))), np.full((S, 1 + EDGE_POINTS), np.nan)
    slack = np.zeros(S)
    gap, steps, unsafe = max(top - best, 1e-12), 0, 0
    for step in range(S - s.starts):
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        x = np.array(proposal.point)
        value = float(h(x[None])[0])
        look = np.vstack([x, points(s.dimension)[:LOOK]])
        band = optimizer.predict(look)
        reach = (band.mu[0] - band.low[0]) / witness.last
        edge = np.flatnonzero(np.abs(band.low[0, 1:] - threshold) < EDGE * reach[1:])
        at = np.r_[0, 1 + edge[:: max(1, len(edge) // EDGE_POINTS)][:EDGE_POINTS]]
        error[step, :len(at)] = (band.mu[0, at] - h(look[at])) / reach[at]
        slack[step] = (band.mu[0, 0] - threshold) / reach[0]
        history[step] = witness.row
        steps, unsafe, best = step + 1, unsafe + (value < threshold), max(best, value)
        optimizer.tell(x, [measure(x)])
    return Loops(history[None], error[None], slack[None], np.array([steps]), np.array([unsafe]),
                 np.array([max(top - best, 0.0) / gap]))
