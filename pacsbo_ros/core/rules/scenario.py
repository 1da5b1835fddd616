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
The scenario approach: the order statistic of drawn norms that exceeds their (1 - κ)-quantile.

    P(k-th of q drawn norms < quantile at 1 - κ/2) = P(Binomial(q, 1 - κ/2) >= k) <= κ/2

Half of κ is spent on the quantile and half on its estimation, which needs about 2/κ·ln(2/κ)
draws; so many are drawn if `draws_high` is less. κ = 0.9·δ/(m·D·(1 + log2(max_samples))) is spent
for every output and domain whenever the number of samples has doubled; between, the proof is
carried over.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.interpolant_rule import QuantileRule
from pacsbo_ros.core.norm_rule import Bound, Evidence
from pacsbo_ros.core.rkhs import Interpolants
from pacsbo_ros.core.rule import rule
from scipy.special import bdtrc


@rule('scenario')
class Scenario(QuantileRule):
    """Draw random interpolants and take a high order statistic of their norms."""

    name = 'scenario'
    assumption = 'the function is a random interpolant of its samples, prior (a_bar, N-hat)'
    spends = 'its share in equal parts, whenever the number of samples has doubled'

    def bound(self, evidence: Evidence, domain: str, model: Interpolants, j: int,
              rng: np.random.Generator) -> Bound:
        """Bound one output on one domain."""
        kappa = self.kappa
        least = int(np.ceil(np.log(2 / kappa) / -np.log1p(-kappa / 2)))
        q = max(self.settings.draws_high, least)
        norms = np.sort(model.draw(j, q, rng))
        k = int(np.argmax(bdtrc(np.arange(q), q, 1 - kappa / 2) <= kappa / 2)) + 1
        B = float(norms[min(k, q) - 1])
        return Bound(B, B, *model.support(j), q, kappa)
