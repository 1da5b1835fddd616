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
Physical parameters of a rotary pendulum, and the constants of its equations of motion.

Symbol     Field                Unit        Meaning
mr, Lr     arm_mass, ..length   kg, m       rotary arm
Jr         arm_inertia          kg m^2      arm about the motor shaft
mp, Lp     pendulum_mass, ..    kg, m       pendulum, a slim rod of full length Lp
Rm         resistance           ohm         motor terminals
kt, km     torque_constant, ..  N m/A, V s  motor torque and back-EMF
Dr, Dp     arm_damping, ..      N m s/rad   viscous friction
tau_c      coulomb_torque       N m         dry friction of the arm
omega_c    coulomb_speed        rad/s       speed at which 71 % of it act
kc         cable_stiffness      N m/rad     cable between base and arm, a spring
theta_c    cable_rest           rad         arm angle at which it does not pull
a0 .. a4   Coefficients         SI          as in the equations of dynamics.py
"""
from __future__ import annotations

from dataclasses import dataclass, fields
import math
from typing import NamedTuple


class Coefficients(NamedTuple):
    """Hold the constants of the equations of motion, divided by a3 so that it drops out."""

    b0: float  # a0 / a3
    b1: float  # a1 / a3
    b2: float  # a2 / a3
    b4: float  # a4 / a3, 1/s^2
    drive: float  # kt / (Rm a3), 1/(V s^2)
    arm_damping: float  # (Dr + kt km / Rm) / a3: viscous friction and back-EMF together, 1/s
    pendulum_damping: float  # Dp / a3, 1/s
    coulomb: float  # tau_c / a3, 1/s^2
    coulomb_speed_squared: float  # omega_c^2
    cable: float  # kc / a3, 1/s^2
    cable_rest: float  # theta_c, rad
    a3: float  # kg m^2


@dataclass(frozen=True)
class Parameters:
    """Describe one rotary pendulum; the defaults are Quanser's courseware for Qube-Servo 2."""

    arm_mass: float = 0.095
    arm_length: float = 0.085
    arm_inertia: float = 0.095 * 0.085 ** 2 / 12
    pendulum_mass: float = 0.024
    pendulum_length: float = 0.129
    resistance: float = 8.4
    torque_constant: float = 0.042
    back_emf: float = 0.042
    arm_damping: float = 2.7e-4
    pendulum_damping: float = 5e-5
    coulomb_torque: float = 0.0
    coulomb_speed: float = 0.5
    cable_stiffness: float = 0.0
    cable_rest: float = 0.0
    gravity: float = 9.81

    def __post_init__(self) -> None:
        may_be_zero = {'arm_damping', 'pendulum_damping', 'coulomb_torque', 'back_emf',
                       'torque_constant', 'cable_stiffness'}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == 'cable_rest':  # an angle: any sign
                wrong, wanted = False, ''
            elif field.name in may_be_zero:
                wrong, wanted = value < 0, ' and zero or more'
            else:
                wrong, wanted = value <= 0, ' and more than zero'
            if wrong or not math.isfinite(value):
                raise ValueError(f'{field.name} is {value}; it must be finite{wanted}')

    @property
    def coefficients(self) -> Coefficients:
        """Return the constants of the equations of motion."""
        mp, Lp, Lr = self.pendulum_mass, self.pendulum_length, self.arm_length
        a0 = self.arm_inertia + mp * Lr ** 2
        a1 = mp * Lp ** 2 / 4
        a2 = mp * Lp * Lr / 2
        a3 = mp * Lp ** 2 / 12 + a1
        a4 = mp * Lp * self.gravity / 2
        kt, km, Rm = self.torque_constant, self.back_emf, self.resistance
        return Coefficients(
            b0=a0 / a3, b1=a1 / a3, b2=a2 / a3, b4=a4 / a3, drive=kt / (Rm * a3),
            arm_damping=(self.arm_damping + kt * km / Rm) / a3,
            pendulum_damping=self.pendulum_damping / a3, coulomb=self.coulomb_torque / a3,
            coulomb_speed_squared=self.coulomb_speed ** 2, cable=self.cable_stiffness / a3,
            cable_rest=self.cable_rest, a3=a3)
