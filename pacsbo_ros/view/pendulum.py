# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Where the parts of a Furuta pendulum are, for every picture of it.

The arm turns by theta about z; at its end the pendulum turns by alpha about the arm, the right
hand's way, and alpha = 0 is upright. This is the sense in which the equations of motion couple
the two: an arm that accelerates positively makes alpha grow.

Lengths in m, angles in rad; x and y are horizontal, the base stands on z = 0.
"""
from __future__ import annotations

import math

from pacsbo_ros.furuta.parameters import Parameters

Point = tuple[float, float, float]

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
