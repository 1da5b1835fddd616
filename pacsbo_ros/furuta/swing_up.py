# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Swing the pendulum up by pumping energy into it, and say when to catch it.

    E = a3 alpha_dot^2 / 2 + a4 (cos alpha - 1)      zero upright at rest, -2 a4 hanging
    V = -gain E / a4 sign(alpha_dot cos alpha) - centring theta - damping theta_dot

The arm's acceleration does work a2 cos(alpha) alpha_dot theta'' on the pendulum, so accelerating
with the sign of alpha_dot cos(alpha) raises E as long as it is negative.
"""
from __future__ import annotations

from dataclasses import dataclass, field
import math

from pacsbo_ros.furuta.parameters import Parameters


@dataclass(frozen=True)
class SwingUp:
    """Describe the swing-up controller."""

    parameters: Parameters = field(default_factory=Parameters)
    gain: float = 4.0  # V per a4 of missing energy
    volts_max: float = 4.0  # V for pumping
    centring: float = 1.5  # V/rad, keeps the arm near its centre
    damping: float = 0.0  # V s/rad
    catch_angle: float = 0.3  # rad
    catch_speed: float = 6.0  # rad/s
    lost_angle: float = 0.7  # rad, swing again beyond it
    theta_limit: float = 2.2  # rad, give up beyond it

    def volts(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Return the pumping voltage for a state."""
        stiffness = self.parameters.coefficients.b4  # a4 / a3
        missing = 1.0 - math.cos(alpha) - 0.5 * alpha_dot * alpha_dot / stiffness
        # At rest there is no direction to pump in; any will do.
        direction = math.copysign(1.0, alpha_dot * math.cos(alpha))
        pump = max(-self.volts_max, min(self.volts_max, self.gain * missing))
        return pump * direction - self.centring * theta - self.damping * theta_dot

    def can_catch(self, alpha: float, alpha_dot: float) -> bool:
        """Tell whether state feedback can take over."""
        return abs(alpha) <= self.catch_angle and abs(alpha_dot) <= self.catch_speed
