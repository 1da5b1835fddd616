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
What a rule says of every output at some points.

  symbol    meaning                                                     shape
  mu        expected values                                             (m, G)
  sigma     their standard deviations, before any factor                (m, G)
  low, up   the band: what is relied on                                 (m, G)
  beta      half of the band's width in standard deviations             (m, G)
  prior     sigma before the first sample: makes outputs comparable     (m,)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pacsbo_ros.core.kernels import Array


@dataclass(frozen=True)
class Band:
    """Hold the band and what it was made from."""

    mu: Array
    sigma: Array
    beta: Array
    low: Array
    up: Array
    prior: Array
    norms: Array  # (m, D) norm bounds on the domains, to show
    where: np.ndarray  # (G,) innermost domain of every point

    @property
    def B(self) -> Array:
        """Return the norm bound at every point, shape (m, G)."""
        return self.norms.take(self.where, axis=1)

    @property
    def doubt(self) -> Array:
        """Return the largest standard deviation relative to the prior's, shape (G,)."""
        if self.sigma.strides[0] == 0:  # the outputs share one
            return np.asarray(self.sigma[0] / self.prior.min())
        return np.asarray((self.sigma / self.prior[:, None]).max(axis=0))


def safe_by_band(low: Array, h_min: Array) -> np.ndarray:
    """Tell where every output is known to reach its threshold, shape (G,)."""
    # A loop over the outputs: reducing (m, G) along the short axis is slower.
    S = np.ones(low.shape[1], dtype=bool)
    for i in np.flatnonzero(np.isfinite(h_min)):
        S &= low[i] >= h_min[i]
    return S
