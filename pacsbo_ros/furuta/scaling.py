# Copyright the pacsbo_ros developers. Apache-2.0.
"""Turn what an episode measured into numbers that suit a Gaussian process."""
from __future__ import annotations

from dataclasses import dataclass
import math


@dataclass(frozen=True)
class Scaling:
    """Map reward and margins to zero-mean, order-one values; the sign of a margin is kept."""

    reward_offset: float = 0.95  # reward that maps to zero
    reward_scale: float = 0.05  # reward difference that maps to one

    def reward(self, reward: float) -> float:
        """Return the reward as the optimiser sees it."""
        return (reward - self.reward_offset) / self.reward_scale

    def constraint(self, peak: float, limit: float) -> float:
        """Return a value that is >= 0 exactly if peak <= limit, within [-1, 1]."""
        return max(-1.0, (limit - peak) / limit)

    def values(self, reward: float, alpha: tuple[float, float], theta: tuple[float, float],
               cut_short: bool) -> tuple[float, float, float]:
        """Return reward, angle and arm constraint from the (peak, limit) of alpha and theta."""
        angle, arm = self.constraint(*alpha), self.constraint(*theta)
        if cut_short and angle >= 0 and arm >= 0:
            angle = -1.0  # a limit ended the episode that neither constraint has seen
        return self.reward(reward), angle, arm


def wrap(angle: float) -> float:
    """Return the angle within [-pi, pi]; angles already inside stay bit for bit the same."""
    return angle - 2 * math.pi * round(angle / (2 * math.pi))
