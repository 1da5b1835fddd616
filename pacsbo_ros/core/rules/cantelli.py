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
Cantelli: the (1 - κ)-quantile of ‖ρ‖ by mean and variance of ‖ρ‖², without draws.

    B² = E‖ρ‖² + sqrt(1/κ - 1)·sd(‖ρ‖²), capped by the largest norm that can be drawn

Spends κ = 0.9·δ/(m·D·(1 + log2(max_samples))) for every output and domain whenever the number of
samples has doubled; between, the proof is carried over.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.interpolant_rule import QuantileRule
from pacsbo_ros.core.norm_rule import Bound, Evidence
from pacsbo_ros.core.rkhs import Interpolants
from pacsbo_ros.core.rule import rule


@rule('cantelli')
class Cantelli(QuantileRule):
    """Add sqrt(1/κ - 1) standard deviations to the mean square."""

    name = 'cantelli'
    assumption = 'the function is a random interpolant of its samples, prior (a_bar, N-hat)'
    spends = 'its share in equal parts, whenever the number of samples has doubled'

    def bound(self, evidence: Evidence, domain: str, model: Interpolants, j: int,
              rng: np.random.Generator) -> Bound:
        """Bound one output on one domain."""
        mean, (low, high) = model.mean_square(j), model.support(j)
        square = mean + np.sqrt((1 / self.kappa - 1) * model.variance_of_square(j))
        return Bound(min(float(np.sqrt(square)), high), float(np.sqrt(mean)), low, high, 0,
                     self.kappa)
