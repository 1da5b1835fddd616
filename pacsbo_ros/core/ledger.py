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
The books of delta: who spent how much of it, on what, and after how many samples.

The run fails if any band of any output fails at any time, with probability at most delta. Whoever
says something that may be wrong enters its probability here first, and nothing can be entered
that delta does not cover: the sum holds by construction.

  part                          share                 entered
  noise, every rule of norms    0.1·δ/m per output    once, before the first sample
  all else                      what is left          by the rule, as its docstring says

The noise gets the smaller part because its share enters a logarithm, beside ln det(I + K/λ), while
what a rule says of the function is a quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

NOISE_PART = 0.1
ROUNDING = 1e-9  # relative: shares that add up to delta may do so in another order


@dataclass(frozen=True)
class Entry:
    """Name one spending."""

    who: str  # the rule, or 'noise'
    purpose: str  # what may be wrong
    samples: int  # told when it was spent
    amount: float  # probability


class Ledger:
    """Keep the entries of one run and refuse what delta does not cover."""

    def __init__(self, delta: float) -> None:
        self.delta, self.spent = delta, 0.0
        self._entries: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        return tuple(self._entries)

    @property
    def left(self) -> float:
        """Return what may still be spent."""
        return max(self.delta - self.spent, 0.0)

    def spend(self, who: str, purpose: str, samples: int, amount: float) -> float:
        """Enter a spending and give its amount; ValueError if delta does not cover it."""
        if not 0.0 <= amount <= self.left + ROUNDING * self.delta:
            raise ValueError(f'{who} wants {amount:g} of delta for {purpose}; {self.left:g} of '
                             f'{self.delta:g} is left')
        if amount:
            self._entries.append(Entry(who, purpose, samples, amount))
            self.spent = min(self.spent + amount, self.delta)
        return amount


def noise_share(delta: float, outputs: int) -> float:
    """Return the share of the noise of one output."""
    return NOISE_PART * delta / outputs


def norm_share(delta: float, outputs: int) -> float:
    """Return the share of the norm of one output, on all domains and at all times."""
    return (1.0 - NOISE_PART) * delta / outputs
