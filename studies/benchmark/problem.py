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
What a problem is: what is maximised, what is safe, how it is measured.

  symbol      meaning                                                           shape
  h           the one function: reward, and safe where h >= threshold           (G, n) -> (G,)
  starts      points that are known to be safe                                  (s, n)
  best        highest safe value on the points of the problem                   scalar
  reachable   the same among points connected with a start through safe ones    scalar

With constraints h is the reward alone, and `experiment` says what was safe.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pacsbo_ros.core import Kernel
from pacsbo_ros.core.kernels import Array

Function = Callable[[Array], Array]
DRIFT_AT = 15  # samples after which the function of the family `drift` has moved


class Trial(NamedTuple):
    """What one experiment was: two truths, which judge, and the values that the method is told."""

    value: float  # of the reward
    margin: float  # the least of the values that have to be safe, less the threshold
    told: Array  # (1 + constraints,)


@dataclass(frozen=True)
class Problem:
    """Hold one problem; a method sees `Told` only."""

    name: str
    h: Function
    threshold: float
    starts: Array
    budget: int  # samples, the starts among them
    noise: Callable[[Array, np.random.Generator], float]
    noise_bound: float  # R, told to the methods
    kernel: Kernel  # told to the methods
    norm: float  # RKHS norm, for methods that are told the truth
    lipschitz: float  # the same for the Lipschitz constant
    best: float
    reachable: float
    later: Function | None = None  # the function from sample DRIFT_AT on
    constraints: int = 0  # values beside the reward; with none the reward itself has to be safe

    def experiment(self, x: Array, samples: int, rng: np.random.Generator) -> Trial:
        """Make the next experiment after so many samples."""
        h = self.later if self.later is not None and samples >= DRIFT_AT else self.h
        value = float(h(np.atleast_2d(x))[0])
        return Trial(value, value - self.threshold, np.array([value + self.noise(x, rng)]))
