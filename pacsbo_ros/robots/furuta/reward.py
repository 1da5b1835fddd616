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

"""Rewards of one sample; an episode's reward is their mean."""
from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PaperReward:
    """Score max(1 - (0.8 |alpha| + 0.2 |theta|) / pi, 0)^2, as in the authors' experiment."""

    worst, best = 0.0, 1.0

    def sample(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float,
               volts: float) -> float:
        """Return the reward of one sample, within [0, 1]."""
        closeness = 1.0 - (0.8 * abs(alpha) + 0.2 * abs(theta)) / math.pi
        return closeness * closeness if closeness > 0.0 else 0.0

    def samples(self, theta: Array, alpha: Array, theta_dot: Array, alpha_dot: Array,
                volts: Array) -> Array:
        """Return the rewards of one sample of many episodes."""
        closeness = 1.0 - (0.8 * np.abs(alpha) + 0.2 * np.abs(theta)) / math.pi
        return np.where(closeness > 0.0, closeness * closeness, 0.0)


@dataclass(frozen=True)
class QuadraticReward:
    """Score -min(x' diag(q) x + r u^2, 1), the usual quadratic cost with a floor."""

    q: tuple[float, float, float, float] = (1.0, 4.0, 0.0, 0.0)  # per rad^2 and (rad/s)^2
    r: float = 1e-3  # per V^2
    worst, best = -1.0, 0.0

    def __post_init__(self) -> None:
        if len(self.q) != 4 or not all(0 <= w < math.inf for w in (*self.q, self.r)):
            raise ValueError(f'quadratic weights q {self.q}, r {self.r}: give four and one '
                             'finite numbers of zero or more')

    def sample(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float,
               volts: float) -> float:
        """Return the reward of one sample, within [-1, 0]."""
        q = self.q
        cost = (q[0] * theta * theta + q[1] * alpha * alpha + q[2] * theta_dot * theta_dot
                + q[3] * alpha_dot * alpha_dot + self.r * volts * volts)
        return -cost if cost < 1.0 else -1.0

    def samples(self, theta: Array, alpha: Array, theta_dot: Array, alpha_dot: Array,
                volts: Array) -> Array:
        """Return the rewards of one sample of many episodes."""
        q = self.q
        cost = (q[0] * theta * theta + q[1] * alpha * alpha + q[2] * theta_dot * theta_dot
                + q[3] * alpha_dot * alpha_dot + self.r * volts * volts)
        return -np.minimum(cost, 1.0)
