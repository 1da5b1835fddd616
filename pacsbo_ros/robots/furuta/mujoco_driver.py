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
The same pendulum in MuJoCo: a second engine inside the same sensors, delay, hold and amplifier.

The model is MJCF made from Parameters. Two things in it need a word:

* Inertia. The equations of dynamics.py count the pendulum's own inertia Jp about its joint alone.
  No slim rod does so: turned about the vertical it adds Jp sin^2 alpha to the arm. The body that
  obeys the equations has Jp about its joint and Jp/2 about both other axes, which adds Jp/2 to the
  arm wherever the pendulum is, so the arm's own inertia is made smaller by that much. `rod=True`
  gives the slim rod instead; studies/engines.py shows the difference.
* Dry friction is MuJoCo's own: a constraint that opposes motion with at most tau_c. Below
  omega_c it gives way in proportion to speed, f = d M (b v + a) with the impedance d, the arm's
  inertia M and the acceleration a without friction; b makes it tau_c at omega_c, and a small d
  lets speed alone decide, as in the equations. Their curve is round, this one has a corner.
"""
from __future__ import annotations

import importlib
import math
from typing import Any

from pacsbo_ros.robots.furuta.driver import DriverError, SimulatedDriver
from pacsbo_ros.robots.furuta.dynamics import State
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Plant
from pacsbo_ros.robots.furuta.presets import CALIBRATED

MISSING = ("plant 'mujoco' needs MuJoCo, which is not installed: pip install 'mujoco>=3.2' into "
           "this environment, or choose the plant 'simulated'")
IMPEDANCE = 0.01  # d: how much of a resting force friction takes up by itself

MJCF = """
<mujoco model="furuta">
  <compiler angle="radian"/>
  <option timestep="{dt!r}" integrator="RK4" gravity="0 0 {gravity!r}"/>
  <worldbody>
    <body name="arm">
      <joint name="theta" axis="0 0 1" damping="{Dr!r}" stiffness="{kc!r}" springref="{rest!r}"
             {friction}/>
      <inertial pos="0 0 0" mass="{mr!r}" diaginertia="{Jr!r} {Jr!r} {Jr!r}"/>
      <body name="pendulum" pos="{Lr!r} 0 0">
        <joint name="alpha" axis="1 0 0" damping="{Dp!r}"/>
        <inertial pos="0 0 {half!r}" mass="{mp!r}" diaginertia="{Jp!r} {across!r} {along!r}"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <general joint="theta" gainprm="{drive!r}" biastype="affine" biasprm="0 0 {brake!r}"/>
  </actuator>
</mujoco>
"""


def mjcf(p: Parameters, dt: float, *, rod: bool = False) -> str:
    """Write the pendulum as MJCF, to be integrated in steps of dt s; the control is volts."""
    Jp = p.pendulum_mass * p.pendulum_length ** 2 / 12
    Jr, across, along = ((p.arm_inertia, Jp, 1e-6 * Jp) if rod
                         else (p.arm_inertia - Jp / 2, Jp / 2, Jp / 2))
    if Jr <= 0:
        raise ValueError(f'arm_inertia is {p.arm_inertia:.3g} kg m^2; MuJoCo needs more than '
                         f'{Jp / 2:.3g}, half of what the pendulum has about its centre')
    friction = ''
    if p.coulomb_torque:
        c = p.coefficients
        # MuJoCo weighs friction with the inertia of the upright pendulum's arm.
        M = c.a3 * (c.b0 - c.b2 ** 2)
        b = p.coulomb_torque / (p.coulomb_speed * M * IMPEDANCE)
        friction = (f'frictionloss="{p.coulomb_torque!r}" solreffriction="-1 {-b * IMPEDANCE!r}" '
                    f'solimpfriction="{IMPEDANCE} {IMPEDANCE} 1 0.5 1"')
    return MJCF.format(
        dt=dt, gravity=-p.gravity, Dr=p.arm_damping, kc=p.cable_stiffness, rest=p.cable_rest,
        friction=friction, mr=p.arm_mass, Jr=Jr, Lr=p.arm_length, Dp=p.pendulum_damping,
        half=p.pendulum_length / 2, mp=p.pendulum_mass, Jp=Jp, across=across, along=along,
        drive=p.torque_constant / p.resistance,
        brake=-p.torque_constant * p.back_emf / p.resistance)


class Engine:
    """Advance a state by MuJoCo."""

    def __init__(self, parameters: Parameters, dt: float, *, rod: bool = False) -> None:
        """Compile the model."""
        self._mujoco = _import()
        self._model = self._mujoco.MjModel.from_xml_string(mjcf(parameters, dt, rod=rod))
        self._data = self._mujoco.MjData(self._model)

    def advance(self, state: State, volts: float, steps: int) -> State:
        """Return the state after so many steps under a constant voltage."""
        data = self._data
        data.qpos[:], data.qvel[:] = state[:2], state[2:]
        data.qacc_warmstart[:] = 0.0  # the same state gives the same step, whatever came before
        data.ctrl[0] = volts
        self._mujoco.mj_step(self._model, data, nstep=steps)
        (theta, alpha), (theta_dot, alpha_dot) = data.qpos.tolist(), data.qvel.tolist()
        if not all(map(math.isfinite, (theta, alpha, theta_dot, alpha_dot))):
            raise DriverError('MuJoCo lost the pendulum: its state is not finite')
        return theta, alpha, theta_dot, alpha_dot

    def energy(self, state: State) -> float:
        """Return kinetic plus potential energy in J, zero upright where no cable pulls."""
        model, data, mujoco = self._model, self._data, self._mujoco
        data.qpos[:], data.qvel[:] = state[:2], state[2:]
        mujoco.mj_forward(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        upright = model.body_mass[2] * -model.opt.gravity[2] * model.body_ipos[2, 2]
        return float(data.energy.sum() - upright)


class MujocoDriver(SimulatedDriver):
    """Simulate a plant sample by sample, its motion by MuJoCo."""

    def __init__(self, plant: Plant = CALIBRATED, *, hanging: bool = False,
                 log_length: int | None = None) -> None:
        """Start as SimulatedDriver does; DriverError if MuJoCo is not installed."""
        super().__init__(plant, hanging=hanging, log_length=log_length)
        self._engine = Engine(plant.parameters, self._dt)

    def _advance(self, volts: float, steps: int) -> State:
        return self._engine.advance(self._state, volts, steps)


def _import() -> Any:
    """Import MuJoCo or say what to do."""
    try:
        return importlib.import_module('mujoco')
    except ImportError as error:
        raise DriverError(MISSING) from error
