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
Algorithm 3 of the paper: draws until B exceeds their mean plus Hoeffding's deviation.

    B >= mean(‖ρ‖) + range·sqrt(ln(2/δ_t)/(2q)),    δ_t = 0.9·δ·6/(πt)²

q grows by q_low up to q_high, then B is multiplied by F_safety and q starts again. Spends δ_t on
the t-th test of the run, counted over samples, outputs, domains and rounds: the shares of all
tests sum to 0.9·δ.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.interpolant_rule import InterpolantRule
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.ledger import norm_share
from pacsbo_ros.core.norm_rule import Bound, Evidence
from pacsbo_ros.core.rkhs import Interpolants
from pacsbo_ros.core.rule import rule, Setup


@rule('hoeffding')
class Hoeffding(InterpolantRule):
    """Start from the predictor; without one, the threshold at q_high itself is B."""

    name = 'hoeffding'
    assumption = 'the norm is at most the expected norm of a random interpolant (Assumption 1)'
    spends = '6/(πt)² of its share on the t-th test of the run'

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._tests = 0

    def bound(self, evidence: Evidence, domain: str, model: Interpolants, j: int,
              rng: np.random.Generator) -> Bound:
        """Bound one output on one domain."""
        s, eta = self.settings, evidence.eta[domain][j]
        low, high = model.support(j)
        purpose = f'norm of {s.names[evidence.members[j]]} on the {domain}'
        N, spent = evidence.gp.count, 0.0

        def threshold(norms: Array) -> float:
            nonlocal spent
            delta = self.ledger.spend(self.name, purpose, N, self._share_of_next_test())
            spent += delta
            return float(norms.mean()) + self.deviation(norms, high - low, delta)

        if eta is None or not eta > 0:
            norms = model.draw(j, s.draws_high, rng)
            return Bound(threshold(norms), float(norms.mean()), low, high, len(norms), spent)
        B, needed = eta, np.inf
        while True:
            norms = np.empty(0)
            while len(norms) + s.draws_low <= s.draws_high:
                norms = np.concatenate([norms, model.draw(j, s.draws_low, rng)])
                needed = threshold(norms)
                if needed <= B:
                    return Bound(B, float(norms.mean()), low, high, len(norms), spent)
            # Rounds that the last threshold rules out would only spend delta.
            B *= s.safety_factor ** max(1, np.ceil(np.log(needed / B) / np.log(s.safety_factor)))

    def deviation(self, norms: Array, width: float, delta: float) -> float:
        """Return Hoeffding's w = range·sqrt(ln(2/δ)/(2q))."""
        return float(width * np.sqrt(np.log(2 / delta) / (2 * len(norms))))

    def _share_of_next_test(self) -> float:
        """Return 6/(πt)² of the share of all outputs together."""
        self._tests += 1
        return norm_share(self.settings.delta, 1) * 6.0 / (np.pi * self._tests) ** 2
