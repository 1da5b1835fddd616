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
Swing the pendulum up by pumping energy into it, and say when to catch it.

    e = 1 - cos alpha - alpha_dot^2 / (2 a4/a3)       missing energy over a4: 2 hanging, 0 upright
    a = a_max clamp(gain e) sign(alpha_dot cos alpha) - stiffness theta - damping theta_dot

and the voltage is the one that accelerates the arm by a, the pendulum's reaction included.

The arm's acceleration does work a2 cos(alpha) alpha_dot theta'' on the pendulum, so accelerating
with the sign of alpha_dot cos(alpha) raises its energy as long as some is missing.
"""
from __future__ import annotations

from dataclasses import dataclass
import math

from pacsbo_ros.robots.furuta.dynamics import volts_for_acceleration
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.presets import CALIBRATED


@dataclass(frozen=True)
class SwingUp:
    """Describe the swing-up controller."""

    parameters: Parameters = CALIBRATED.parameters
    acceleration: float = 65.0  # rad/s^2, the most the arm is asked for while pumping
    gain: float = 3.0  # share of it per missing energy
    stiffness: float = 130.0  # 1/s^2, keeps the arm near its centre
    damping: float = 5.0  # 1/s
    lag: float = 0.02  # s by which measured speeds trail: one over a cut-off of 50 rad/s
    catch_angle: float = 0.3  # rad
    catch_heading: float = 0.2  # rad, bound of alpha + alpha_dot / sqrt(a4/a3)
    lost_angle: float = 0.6  # rad, swing again beyond it
    theta_limit: float = 2.0  # rad, give up beyond it, before the monitor stops the plant

    def __post_init__(self) -> None:
        for name in ('acceleration', 'gain', 'catch_angle', 'catch_heading', 'theta_limit'):
            if not getattr(self, name) > 0:
                raise ValueError(f'swing-up {name} is {getattr(self, name)}; use a positive '
                                 'number')
        if not self.lost_angle > self.catch_angle:
            raise ValueError(f'swing-up lost_angle is {self.lost_angle} rad; it must exceed '
                             f'catch_angle, {self.catch_angle} rad')

    def volts(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Return the pumping voltage for a state, not yet clamped."""
        c = self.parameters.coefficients
        alpha_dot += self.lag * c.b4 * math.sin(alpha)
        missing = 1.0 - math.cos(alpha) - 0.5 * alpha_dot * alpha_dot / c.b4
        # At rest there is no direction to pump in; copysign takes one.
        direction = math.copysign(1.0, alpha_dot * math.cos(alpha))
        wanted = (self.acceleration * max(-1.0, min(1.0, self.gain * missing)) * direction
                  - self.stiffness * theta - self.damping * theta_dot)
        return volts_for_acceleration(wanted, theta, alpha, theta_dot, alpha_dot, c)

    def can_catch(self, alpha: float, alpha_dot: float) -> bool:
        """Tell whether state feedback can take over: alpha is heading for upright."""
        heading = alpha + alpha_dot / math.sqrt(self.parameters.coefficients.b4)
        return abs(alpha) <= self.catch_angle and abs(heading) <= self.catch_heading
