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
No bound: the predictor alone decides, never below ‖μ_A‖, which the data show.

    B = max(η(history), ‖μ_A‖)

Spends nothing: the guarantee is as good as the predictor.
"""

from __future__ import annotations

from pacsbo_ros.core.norm_rule import Bound, Evidence, NormRule
from pacsbo_ros.core.rule import rule, Setup


@rule('none')
class PredictorAlone(NormRule):
    """Add nothing to what the data show and the predictor says."""

    name = 'none'
    assumption = 'the predictor never says less than the norm'
    spends = 'nothing: holds as often as the predictor is right'

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.predictor is None:
            raise ValueError("rule is 'none'; without a bound the optimiser needs a predictor")

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Return the norm of the mean on every domain."""
        norms = evidence.gp.mean_norms().tolist()
        return {domain: [Bound(x, x, x, x, 0, 0.0) for x in norms]
                for domain in evidence.domains.names}
