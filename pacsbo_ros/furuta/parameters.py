# Copyright the pacsbo_ros developers. Apache-2.0.
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
omega_c    coulomb_speed        rad/s       width of the tanh that smooths it
a0 .. a4   Coefficients         SI          as in the equations of dynamics.py
"""
from __future__ import annotations

from dataclasses import dataclass, fields
import math
from typing import NamedTuple


class Coefficients(NamedTuple):
    """Hold what one evaluation of the equations of motion needs, products taken once."""

    a0: float  # kg m^2
    a1: float  # kg m^2
    a2: float  # kg m^2
    a3: float  # kg m^2
    a4: float  # N m
    torque_per_volt: float  # kt / Rm
    arm_damping: float  # Dr + kt km / Rm, viscous friction and back-EMF together
    pendulum_damping: float
    coulomb_torque: float
    coulomb_speed: float


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
    coulomb_speed: float = 0.05
    gravity: float = 9.81

    def __post_init__(self) -> None:
        may_be_zero = {'arm_damping', 'pendulum_damping', 'coulomb_torque', 'back_emf',
                       'torque_constant'}
        for field in fields(self):
            value = getattr(self, field.name)
            lowest = 'zero or more' if field.name in may_be_zero else 'more than zero'
            if not math.isfinite(value) or value < 0 or (value == 0 and lowest[0] == 'm'):
                raise ValueError(f'{field.name} is {value}; it must be finite and {lowest}')

    @property
    def coefficients(self) -> Coefficients:
        """Return the constants of the equations of motion."""
        mp, Lp, Lr = self.pendulum_mass, self.pendulum_length, self.arm_length
        a1 = mp * Lp ** 2 / 4
        return Coefficients(
            a0=self.arm_inertia + mp * Lr ** 2,
            a1=a1,
            a2=mp * Lp * Lr / 2,
            a3=mp * Lp ** 2 / 12 + a1,
            a4=mp * Lp * self.gravity / 2,
            torque_per_volt=self.torque_constant / self.resistance,
            arm_damping=self.arm_damping
            + self.torque_constant * self.back_emf / self.resistance,
            pendulum_damping=self.pendulum_damping,
            coulomb_torque=self.coulomb_torque,
            coulomb_speed=self.coulomb_speed,
        )
