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
One share of delta, spent on a library of functions round by round.

  symbol   meaning                                                       shape
  q        functions of the library                                      scalar
  K        floor(share·(q + 1)): so many may die in a run                scalar
  score    how much a function would need, here and now                  (q,)

Let q functions of the library and the unknown one be exchangeable. In a round the d worst of the
living die, and the limit is the score of the last one that dies. If the unknown function had been
among them and had not died, the same ones would have died, and its score would not exceed that
limit. By symmetry it dies with probability (all deaths)/(q + 1): a round costs d/(q + 1), no more
and no less, and a round in which nobody dies proves nothing and costs nothing. The first rounds
get least, because the starts of a run are not random: safe starts whose values are close to each
other hide the scale of h.
"""

from __future__ import annotations

import math

import numpy as np
from pacsbo_ros.core.kernels import Array

PATIENCE = 2  # rounds after which half of the share is spent


class Survivors:
    """Let functions die for one output, as far as its share allows."""

    def __init__(self, size: int, share: float) -> None:
        self.budget = math.floor(share * (size + 1) * (1 + 1e-12))
        if not self.budget:
            raise ValueError(f'library_size is {size}; a share of {share:g} of delta needs at '
                             f'least {math.ceil(1 / share)}')
        self.alive = np.ones(size, dtype=bool)
        self.dead = self.rounds = 0

    @property
    def living(self) -> int:
        """Count the survivors."""
        return len(self.alive) - self.dead

    def cull(self, score: Array, urgent: bool = False) -> tuple[float, float]:
        """
        Return the limit that the unknown function keeps, and what this costs; inf if nothing.

        urgent: one dies ahead of the schedule, because the last limit is about other domains.
        """
        self.rounds += 1
        allowed = max(1, int(self.budget * self.rounds / (self.rounds + PATIENCE)))
        dying = max(allowed - self.dead, int(urgent and self.dead < self.budget))
        if dying <= 0:
            return math.inf, 0.0
        worst = np.argpartition(np.where(self.alive, -score, np.inf), dying - 1)[:dying]
        self.alive[worst] = False
        self.dead += dying
        return float(score[worst].min()), dying / (len(self.alive) + 1)
