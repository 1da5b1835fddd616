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
Every told value tests the model: a sequential test that may be looked at after every sample.

  symbol    meaning                                                              shape
  p         two-sided p-value of a value by the model that did not know it       scalar
  e(p)      evidence against the model, E e <= 1 if p is uniform                 scalar
  M_j       product of e(p) of all samples from the j-th on                      (J,)
  E         Σ w_j·M_j, the weights of all first samples, also later ones, add up to one

If the model holds, p is uniform given all that was told before, whatever chose the point. So E is
a martingale that begins with 1, and by Ville's inequality it ever reaches 1/α with probability at
most α: α bounds the false alarms of a whole run. e(p) = ∫ κp^(κ-1) dκ over 0 < κ < 1, a bet that
needs no alternative. The mixture over j finds a change that comes late; the largest w_j·M_j names
the sample with which it began. After an alarm the test begins anew with half of its α.
"""

from __future__ import annotations

import math

import numpy as np

LEAST_P = 1e-12  # beyond it a p-value is rounding


def bet(p: float) -> float:
    """Return e(p) = (1 - p + p ln p)/(p ln² p)."""
    p = min(max(p, LEAST_P), 1.0)
    log = math.log(p)
    if log > -1e-3:
        return 0.5  # its limit for p = 1
    return (1.0 - p + p * log) / (p * log * log)


class Surprise:
    """Gather evidence against the model of one output."""

    def __init__(self, share: float, budget: int) -> None:
        self.share, self.budget = share, budget
        self._begin()

    def _begin(self) -> None:
        self._parts = np.empty(0)  # w_j·M_j
        self._first = 0  # sample with which the test began
        self._later = 1.0  # weight of first samples that are still to come

    @property
    def E(self) -> float:
        """Return the evidence."""
        return float(self._parts.sum()) + self._later

    def add(self, p: float, sample: int) -> int | None:
        """Take the p-value of a sample; give the first of those that the model got wrong."""
        if not len(self._parts):
            self._first = sample
        j = len(self._parts) + 1
        T = self.budget
        w = 0.5 / T if j <= T else 0.5 / ((j - T) * (j - T + 1))
        self._parts = np.append(self._parts, w) * bet(p)
        self._later = max(self._later - w, 0.0)
        if self.share * self.E < 1.0:
            return None
        begun = self._first + int(np.argmax(self._parts))
        self.share *= 0.5
        self._begin()
        return begun
