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
Where the parts of a Furuta pendulum are, for every picture of it.

The arm turns by theta about z; at its end the pendulum turns by alpha about the arm, the right
hand's way, and alpha = 0 is upright. This is the sense in which the equations of motion couple
the two: an arm that accelerates positively makes alpha grow.

Lengths in m, angles in rad; x and y are horizontal, the base stands on z = 0.
"""
from __future__ import annotations

from collections.abc import Mapping
import math

from pacsbo_ros.robots.drawing import Ball, Block, Part, Point, Rod, VERDICT
from pacsbo_ros.robots.furuta.parameters import Parameters

BASE = 0.1  # edge of the cube that holds the motor
PIVOT = 0.12  # height of the arm
RADIUS = 0.005  # of arm and pendulum
ARM = Parameters().arm_length
PENDULUM = Parameters().pendulum_length


def arm_end(theta: float) -> Point:
    """Return the joint between arm and pendulum."""
    return ARM * math.cos(theta), ARM * math.sin(theta), PIVOT


def tip(theta: float, alpha: float) -> Point:
    """Return the free end of the pendulum."""
    x, y, z = arm_end(theta)
    side = PENDULUM * math.sin(alpha)
    return (x + side * math.sin(theta), y - side * math.cos(theta),
            z + PENDULUM * math.cos(alpha))


class Pendulum:
    """The drawing of the pendulum."""

    height = 0.3  # m

    def parts(self, signals: Mapping[str, float]) -> tuple[Part, ...]:
        """Return base, hub, arm and pendulum; the pendulum has the colour of the verdict."""
        theta, alpha = signals.get('theta', 0.0), signals.get('alpha', 0.0)
        joint, end = arm_end(theta), tip(theta, alpha)
        return (Block((0.0, 0.0, BASE / 2), (BASE, BASE, BASE)),
                Rod((0.0, 0.0, BASE), (0.0, 0.0, PIVOT + 2 * RADIUS), 3 * RADIUS),
                Rod((0.0, 0.0, PIVOT), joint, RADIUS),
                Ball(joint, 1.6 * RADIUS),
                Rod(joint, end, RADIUS, VERDICT),
                Ball(end, 1.9 * RADIUS, VERDICT))


DRAWING = Pendulum()
