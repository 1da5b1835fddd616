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
The closed-form mean: B = sqrt(E‖ρ‖²) >= E‖ρ‖, Theorem 1's premise with certainty (Jensen).

    E‖ρ‖² = ‖μ_A‖² + T·(a_bar²/3)·mean_D(v)

Spends nothing: it is no statement of probability, and no 90 % bound where ‖h‖ nears the prior
norm that (a_bar, N-hat) encode.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.interpolant_rule import InterpolantRule
from pacsbo_ros.core.norm_rule import Bound, Evidence
from pacsbo_ros.core.rkhs import Interpolants
from pacsbo_ros.core.rule import rule


@rule('mean')
class Mean(InterpolantRule):
    """Take the root of the closed-form mean square, without draws."""

    name = 'mean'
    assumption = 'the norm is at most the expected norm of a random interpolant (Assumption 1)'
    spends = 'nothing: certain, given its assumption'

    def bound(self, evidence: Evidence, domain: str, model: Interpolants, j: int,
              rng: np.random.Generator) -> Bound:
        """Bound one output on one domain."""
        B = float(np.sqrt(model.mean_square(j)))
        return Bound(B, B, *model.support(j), 0, 0.0)
