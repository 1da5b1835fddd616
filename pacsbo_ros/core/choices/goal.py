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
Learn what stands between the safe set and the best that could be.

  symbol   meaning                                                              shape
  top      optimistic reward: μ + 3σ where sigma is a belief, else the upper    (G,)
           end of the band
  targets  safe candidates, and the unsafe ones nearest to safe that could be   (T,)
           safe
  z        the goal: the target with the highest optimistic reward              index
  gain     cov(x, z)²/(σ²(x) + λ): by how much measuring x lowers var(z)        (S,)

If the goal is safe, it is measured. If it is not, the safe point is measured that tells most about
the goal's tightest constraint. A goal that no safe point tells anything about gives way to the
next one. A point is known well enough when its variance is a fraction of the noise of one more
measurement: repeating it would only average noise. Nothing is left to do when no target promises
more than `tolerance` above the best that is expected of a safe point, not even by the upper end of
the band: equal starts make a belief that all is flat.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.choice import choice, View
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.proposals import EXPANDER, MAXIMISER
from pacsbo_ros.core.safe_sets import nearest_to_safe

OPTIMISM = 3.0  # standard deviations
KNOWN = 0.01  # variance in units of the noise of one measurement below which a repeat is idle
LEAST_GAIN = 1e-5  # share of the goal's variance that a measurement must take away
GOALS = 8  # goals that are looked at before the most uncertain point is taken


@choice('goal')
def choose(view: View) -> tuple[int, str] | None:
    """Return the goal if it is safe, or the safe point that tells most about it."""
    band, S, s = view.band, view.S, view.settings
    near = nearest_to_safe(band, S, view.h_min, s.expander_targets)
    near = near[_could_be_safe(view, near)]
    safe = np.flatnonzero(S)
    fresh = safe[_unknown(view, safe)]
    if s.reward:
        targets = np.concatenate([fresh, near])
        enough = float(band.mu[0, safe].max()) + s.tolerance
        top = _optimistic(view, 0, slice(None))
        if not np.any(top[targets] > enough):
            top = band.up[0]  # a belief guides the search, only the band ends it
        targets = targets[top[targets] > enough]
        promise = top[targets]
    else:  # the nearest to safe is the goal
        targets, promise = near, np.min(_margins(view, near), axis=0)
    for _ in range(min(GOALS, len(targets))):
        at = int(np.argmax(promise))
        z = int(targets[at])
        if S[z]:
            return z, MAXIMISER
        x = _teacher(view, z, fresh)
        if x is not None:
            return x, EXPANDER
        promise[at] = -np.inf
    if not s.reward and len(fresh):
        return int(fresh[np.argmax(band.doubt[fresh])]), EXPANDER
    rest = targets[np.isfinite(promise) & S[targets]]
    return (int(rest[np.argmax(top[rest])]), MAXIMISER) if len(rest) else None


def _optimistic(view: View, i: int, where: slice | np.ndarray) -> Array:
    band = view.band
    if not view.rule.believes:
        return band.up[i, where]
    return np.minimum(band.up[i, where], band.mu[i, where] + OPTIMISM * band.sigma[i, where])


def _margins(view: View, where: np.ndarray) -> Array:
    """Return how far each constraint is from being known safe, in units of its size."""
    free = np.flatnonzero(np.isfinite(view.h_min))
    return np.array([(view.band.low[i, where] - view.h_min[i]) / view.band.prior[i]
                     for i in free])


def _could_be_safe(view: View, where: np.ndarray) -> np.ndarray:
    could = np.ones(len(where), dtype=bool)
    for i in np.flatnonzero(np.isfinite(view.h_min)):
        could &= _optimistic(view, int(i), where) >= view.h_min[i]
    return could


def _unknown(view: View, where: np.ndarray) -> np.ndarray:
    """Tell where a measurement would say something about some output."""
    rule = view.rule
    found = np.zeros(len(where), dtype=bool)
    for i, group in enumerate(rule.groups):
        found |= view.band.sigma[i, where] ** 2 > KNOWN * rule.nugget(group)
    return found


def _teacher(view: View, z: int, safe: np.ndarray) -> int | None:
    """Return the safe point that tells most about the goal's tightest constraint, if any does."""
    if not len(safe):
        return None
    free = np.flatnonzero(np.isfinite(view.h_min))
    tightest = int(free[np.argmin(_margins(view, np.array([z]))[:, 0])])
    group = view.rule.groups[tightest]
    cov = view.rule.covariance(group, np.array([z]), safe)[0]
    gain = cov ** 2 / (view.band.sigma[tightest, safe] ** 2 + view.rule.nugget(group))
    at = int(np.argmax(gain))
    if gain[at] < LEAST_GAIN * view.band.sigma[tightest, z] ** 2:
        return None
    return int(safe[at])
