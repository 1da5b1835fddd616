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
When all that is safe has been measured: repeat what opens the way, or say in words what is wrong.

Measuring a point again makes the band around it narrower, down to what its neighbours need at
best. If a few repeats of one point would let a new candidate be safe, all else equal, the point is
measured again, on purpose and by that name. If not, repeats would go on for ever: then the words
say which output, which part of its band, and what helps.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.choice import View
from pacsbo_ros.core.proposals import (
    ESTIMATE_GREW,
    NOTHING_UNCERTAIN,
    NothingToPropose,
    SAFE_SET_EMPTY,
)
from pacsbo_ros.core.run import Run
from pacsbo_ros.core.safe_sets import nearest_to_safe

AHEAD = 3  # repeats that must be enough
MOST = 5  # measurements of one point, after which it is left alone


def only_measured_is_safe(run: Run) -> bool:
    """Tell whether all that is safe has been measured already."""
    safe, known = np.flatnonzero(run.S), set(run.samples.repeats.points)
    return len(safe) <= run.samples.count + len(known) and all(
        tuple(x) in known for x in run.X[safe].tolist())


def opening_repeat(run: Run, view: View) -> int | None:
    """Return the measured candidate of which some repeats would make another one safe."""
    band, rule, h_min = view.band, view.rule, view.h_min
    x = np.array([i for i in np.flatnonzero(view.S).tolist()
                  if run.samples.repeats.count(tuple(run.X[i].tolist())) < MOST], dtype=int)
    z = nearest_to_safe(band, view.S, h_min, view.settings.expander_targets)
    if not len(x) or not len(z):
        return None
    opened = np.ones((len(x), len(z)), dtype=bool)
    for i in np.flatnonzero(np.isfinite(h_min)):
        c = rule.covariance(rule.groups[i], x, z)
        heard = band.sigma[i, x] ** 2 + rule.nugget(rule.groups[i]) / AHEAD
        var = np.maximum(band.sigma[i, z] ** 2 - c ** 2 / heard[:, None], 0.0)
        opened &= band.mu[i, z] - band.beta[i, z] * np.sqrt(var) >= h_min[i]
    gain = opened.sum(axis=1)
    return int(x[np.argmax(gain)]) if np.any(gain) else None


def why_nothing(run: Run, view: View) -> NothingToPropose:
    """Explain that no candidate is both safe and worth measuring."""
    known = set(run.samples.repeats.points)
    fresh = [i for i in np.flatnonzero(view.S).tolist() if tuple(run.X[i].tolist()) not in known]
    if fresh:
        return NothingToPropose(
            NOTHING_UNCERTAIN,
            f'all maximisers and expanders among {len(fresh)} safe candidates are known to within '
            f'tolerance = {view.settings.tolerance:g}')
    grew = run.rule.grew()
    first = f'{grew} with the last sample, and ' if grew else ''
    return NothingToPropose(
        ESTIMATE_GREW if grew else SAFE_SET_EMPTY,
        f'{first}no point besides the measured ones is known to be safe, and measuring those '
        f'again cannot change that: {_too_wide(run, view)}')


def _too_wide(run: Run, view: View) -> str:
    """Name the output and the term that keep the nearest point from being safe."""
    band, h_min = view.band, view.h_min
    free = np.flatnonzero(np.isfinite(h_min))
    outside = np.flatnonzero(~view.S)
    if not len(outside):
        return 'all candidates have been measured; give more candidates'
    miss = (band.low[free][:, outside] - h_min[free, None]).min(axis=0)
    at = outside[int(np.argmax(miss))]
    i = free[int(np.argmin(band.low[free, at] - h_min[free]))]
    name, mean, low = view.settings.names[i], band.mu[i, at] - h_min[i], band.low[i, at] - h_min[i]
    where = f'next to them {name} is expected {mean:.2g} above its limit'
    if mean <= 0:
        return (f'next to them {name} is expected {-mean:.2g} below its limit; give starts with '
                'more margin')
    terms = run.rule.terms(int(i), int(band.where[at]))
    if not terms:
        return f'{where}, but only known to within {mean - low:.2g}; give more starts'
    widest = max(terms, key=lambda term: term.size)
    parts = ', '.join(f'{t.size * band.sigma[i, at]:.2g} {t.name}' for t in terms)
    return (f'{where}, but only known to within {mean - low:.2g} ({parts}); what would help most: '
            f'starts with more margin, {widest.remedy}')
