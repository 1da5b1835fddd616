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
Algorithm 3 with the empirical Bernstein deviation of Maurer and Pontil.

    B >= mean(‖ρ‖) + sqrt(2 var ln(2/δ_t)/q) + 7 range ln(2/δ_t)/(3(q - 1)),  δ_t as in `hoeffding`
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rule import rule
from pacsbo_ros.core.rules.hoeffding import Hoeffding


@rule('bernstein')
class Bernstein(Hoeffding):
    """Let the drawn variance replace most of the range."""

    name = 'bernstein'

    def deviation(self, norms: Array, width: float, delta: float) -> float:
        """Return sqrt(2 var ln(2/δ)/q) + 7 range ln(2/δ)/(3(q - 1))."""
        q, log = len(norms), np.log(2 / delta)
        return float(np.sqrt(2 * norms.var(ddof=1) * log / q) + 7 * width * log / (3 * (q - 1)))
