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

"""The second engine moves as the equations do, inside the same sensors and amplifier."""
from dataclasses import replace
import math
import sys

import numpy as np
from pacsbo_ros.robots.furuta.driver import DriverError, SimulatedDriver
from pacsbo_ros.robots.furuta.dynamics import accelerations, energy
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.mujoco_driver import Engine, mjcf, MujocoDriver
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.running import run_episode
import pytest

CHIRP = [1.5 * math.cos(2 * math.pi * (5 - 2.5 * t) * t) for t in 0.005 * np.arange(200)]
SLIPPERY = replace(CALIBRATED, parameters=replace(
    CALIBRATED.parameters, arm_damping=0.0, pendulum_damping=0.0, coulomb_torque=0.0))


@pytest.fixture
def engine():
    pytest.importorskip('mujoco', reason="the second engine needs MuJoCo: pip install 'mujoco'")
    return Engine


def driven(driver):
    """Return the true angles under a second of chirp, from hanging."""
    angles = []
    for volts in CHIRP:
        driver.write(volts)
        angles.append(driver.state[:2])
    return np.array(angles)


def test_without_mujoco_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(DriverError, match='pip install') as caught:
        MujocoDriver()
    assert '\n' not in str(caught.value)


def test_an_arm_that_no_body_can_have_is_refused_in_one_line():
    light = replace(CALIBRATED.parameters, arm_inertia=1e-5)
    with pytest.raises(ValueError, match=r'arm_inertia is 1e-05.*needs more than') as caught:
        mjcf(light, 1e-3)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('name', PRESETS)
def test_without_friction_both_engines_move_alike(name, engine):
    plant = replace(PRESETS[name], parameters=replace(
        PRESETS[name].parameters, arm_damping=0.0, pendulum_damping=0.0, coulomb_torque=0.0))
    ours = driven(SimulatedDriver(plant, hanging=True))
    theirs = driven(MujocoDriver(plant, hanging=True))
    assert np.ptp(ours, axis=0).min() > 0.3
    assert np.sqrt(((ours - theirs) ** 2).mean(axis=0)).max() < 1e-9


def test_a_slim_rod_is_another_pendulum(engine):
    state = (0.0, 1.2, 2.0, 3.0)
    rod = engine(SLIPPERY.parameters, 1e-3, rod=True)
    ours = engine(SLIPPERY.parameters, 1e-3)
    p = SLIPPERY.parameters
    Jp = p.pendulum_mass * p.pendulum_length ** 2 / 12
    more = 0.5 * Jp * math.sin(state[1]) ** 2 * state[2] ** 2
    assert rod.energy(state) - ours.energy(state) == pytest.approx(more, rel=1e-4)
    assert ours.energy(state) == pytest.approx(energy(state, p.coefficients), rel=1e-9)


def test_friction_is_that_of_the_equations_at_low_and_at_high_speed(engine):
    p, dt = CALIBRATED.parameters, 1e-6
    dry = engine(p, dt)
    for alpha in (0.0, math.pi):
        for speed in (0.02, -0.02, 5.0):
            found = (dry.advance((p.cable_rest, alpha, speed, 0.0), 0.0, 1)[2] - speed) / dt
            expected, _ = accelerations(p.cable_rest, math.sin(alpha), math.cos(alpha), speed,
                                        0.0, 0.0, p.coefficients)
            assert found == pytest.approx(expected, rel=0.02)


def test_sensors_delay_and_amplifier_are_the_same(engine):
    ours, theirs = (kind(replace(SLIPPERY, delay=2, voltage_limit=1.0), hanging=True)
                    for kind in (SimulatedDriver, MujocoDriver))
    for volts in CHIRP:
        ours.write(volts)
        theirs.write(volts)
        assert theirs.read() == pytest.approx(ours.read(), abs=1e-9)
    assert list(theirs.voltage_log) == list(ours.voltage_log)
    assert max(theirs.voltage_log) == 1.0
    theirs.cut()
    theirs.write(5.0)
    assert theirs.voltage_log[-1] == 0.0


def test_an_episode_is_repeatable_and_scores_as_on_the_equations(engine):
    gains = Gains(-2.5, 27.0)
    driver = MujocoDriver()
    first, again = (run_episode(driver, gains, seed=3) for _ in range(2))
    ours = run_episode(SimulatedDriver(), gains, seed=3)
    assert first.reward == again.reward
    assert first.reward == pytest.approx(ours.reward, abs=0.01)
    assert first.max_abs_alpha == pytest.approx(ours.max_abs_alpha, abs=0.03)
