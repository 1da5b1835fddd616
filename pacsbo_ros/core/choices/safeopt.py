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
The choice of SafeOpt and of the paper, with a share of caution.

The most uncertain point of M ∪ G sets the level; of the maximisers that reach the share `caution`
of it, the one with the highest upper bound is chosen. With caution = 1 that is the paper's choice,
the most uncertain point itself. Without a reward, expanders alone count, and the most uncertain
safe point where there is none.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.choice import choice, View
from pacsbo_ros.core.proposals import EXPANDER, MAXIMISER
from pacsbo_ros.core.safe_sets import (
    EXPANDER_TESTS,
    first_expander,
    maximisers,
    nearest_to_safe,
)


@choice('safeopt')
def choose(view: View) -> tuple[int, str] | None:
    """Return the most promising of the uncertain maximisers, or the most uncertain expander."""
    s, band, S = view.settings, view.band, view.S
    sigma = band.doubt
    open_ = np.max(band.up - band.low, axis=0) > s.tolerance
    M = (maximisers(band, S) if s.reward else np.zeros_like(S)) & open_
    level = np.where(M, sigma, 0.0).max()
    queue = np.flatnonzero(S & open_ & ~M & (sigma > level))
    chosen = None
    if len(queue):
        targets = nearest_to_safe(band, S, view.h_min, s.expander_targets)
        chosen = first_expander(queue, sigma, targets, EXPANDER_TESTS[s.expander](view))
    level = level if chosen is None else sigma[chosen]
    bold = np.flatnonzero(M & (sigma >= s.caution * level))
    if len(bold):
        return int(bold[np.argmax(band.up[0, bold])]), MAXIMISER
    if chosen is None and not s.reward and np.any(S & open_):
        chosen = int(np.argmax(np.where(S & open_, sigma, -1.0)))
    return None if chosen is None else (chosen, EXPANDER)
