# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Turn what an episode measured into numbers that suit a Gaussian process.

    reward      max(-1, (reward - offset) / scale)
    angle       gain (1 - peak/limit) / (1 + (ringing/r)^2)       all limits kept
                -max(share of the episode that was cut off, 0.001)  a limit was violated
    arm         max(-1, 1 - peak/limit)

A fall is a jump: on the lower edge of the gains max|alpha| is that of the push until the pendulum
drops. What tells the edge from afar is how long alpha keeps swinging after the push, so this
ringing discounts the margin; and how early an episode was cut off says how deep in the unsafe
region the gains are. The sign is untouched: angle >= 0 exactly if no limit was violated.
docs/furuta.md shows the numbers behind the defaults.
"""
from __future__ import annotations

from dataclasses import dataclass
import math


@dataclass(frozen=True)
class Scaling:
    """Map reward and margins to values of order one."""

    reward_offset: float = 0.95  # reward that maps to zero
    reward_scale: float = 0.04  # reward difference that maps to one
    angle_gain: float = 2.0
    ringing: float = 0.1  # rad of ringing that halves the margin; inf: the bare margin

    def __post_init__(self) -> None:
        for name in ('reward_scale', 'angle_gain', 'ringing'):
            if not getattr(self, name) > 0:
                raise ValueError(f'scaling {name} is {getattr(self, name)}; use a positive '
                                 'number')
        if not math.isfinite(self.reward_offset + self.reward_scale + self.angle_gain):
            raise ValueError(f'{self} has a number that is not finite')

    def values(self, reward: float, alpha: tuple[float, float], theta: tuple[float, float],
               ringing: float, cut_off: float | None) -> tuple[float, float, float]:
        """
        Return reward, angle and arm constraint as the optimiser sees them.

        Give (peak, limit) of alpha and theta, and the share of the episode that a violated limit
        has cut off, None if none was violated.
        """
        peak, limit = alpha
        if cut_off is not None:
            angle = -max(cut_off, 0.001)
        else:
            angle = self.angle_gain * (1.0 - peak / limit) / (1.0 + (ringing / self.ringing) ** 2)
        arm = max(-1.0, 1.0 - theta[0] / theta[1])
        return max(-1.0, (reward - self.reward_offset) / self.reward_scale), angle, arm


def wrap(angle: float) -> float:
    """Return the angle within [-pi, pi]; angles already inside stay bit for bit the same."""
    return angle - 2 * math.pi * round(angle / (2 * math.pi))
