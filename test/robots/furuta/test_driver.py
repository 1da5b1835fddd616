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

"""The simulated driver: every effect does what it says and can be switched off."""
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.dynamics import rk4
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Plant, SAMPLE_PERIOD, VelocityFilter
from pacsbo_ros.robots.furuta.presets import CALIBRATED, IDEAL, preset, PRESETS
import pytest

HANGING = (0.0, math.pi, 0.0, 0.0)


def test_a_plain_plant_is_the_bare_equations():
    driver = SimulatedDriver(Plant())
    driver.set_state((0.1, 0.2, -0.3, 0.4))
    assert driver.read() == (0.1, 0.2, -0.3, 0.4)
    driver.write(1.5)
    expected = rk4((0.1, 0.2, -0.3, 0.4), 1.5, 1e-3, 5, Parameters().coefficients)
    assert driver.state == expected
    assert driver.read() == expected


def test_reading_does_not_advance_time():
    driver = SimulatedDriver()
    driver.reset(np.random.default_rng(1))
    assert driver.read() is driver.read()


def test_the_motor_gets_each_command_after_the_delay():
    driver = SimulatedDriver(replace(IDEAL, delay=3))
    driver.set_state(HANGING)
    for volts in (1.0, 2.0, 3.0, 4.0, 5.0):
        driver.write(volts)
    assert list(driver.voltage_log) == [0.0, 0.0, 0.0, 1.0, 2.0]


def test_the_amplifier_saturates():
    driver = SimulatedDriver(replace(IDEAL, voltage_limit=6.0))
    driver.set_state(HANGING)
    for volts in (100.0, -100.0, 5.0):
        driver.write(volts)
    assert list(driver.voltage_log) == [6.0, -6.0, 5.0]


def test_the_voltage_log_can_be_bounded():
    driver = SimulatedDriver(IDEAL, log_length=2)
    driver.set_state(HANGING)
    for volts in (1.0, 2.0, 3.0):
        driver.write(volts)
    assert list(driver.voltage_log) == [2.0, 3.0]


def test_a_cut_supply_gives_zero_volts_until_reset():
    driver = SimulatedDriver(IDEAL)
    driver.set_state(HANGING)
    driver.write(3.0)
    driver.cut()
    driver.write(3.0)
    assert list(driver.voltage_log) == [3.0, 0.0]
    driver.reset(np.random.default_rng(0))
    driver.write(3.0)
    assert list(driver.voltage_log) == [3.0]
    driver.close()
    driver.close()
    driver.write(3.0)
    assert driver.voltage_log[-1] == 0.0


@pytest.mark.parametrize('volts', [math.nan, math.inf])
def test_a_voltage_that_is_no_number_is_refused(volts):
    with pytest.raises(ValueError, match='voltage is'):
        SimulatedDriver().write(volts)


def test_encoders_round_to_whole_counts():
    driver = SimulatedDriver(replace(IDEAL, encoder_counts=2048))
    step = 2 * math.pi / 2048
    driver.set_state((0.1234, -0.0567, 0.0, 0.0))
    theta, alpha, *_ = driver.read()
    for measured, true in ((theta, 0.1234), (alpha, -0.0567)):
        assert measured / step == pytest.approx(round(measured / step), abs=1e-9)
        assert abs(measured - true) <= step / 2


def test_sensor_bias_is_measured_but_not_true():
    driver = SimulatedDriver(replace(IDEAL, theta_bias=0.02, alpha_bias=-0.01))
    driver.set_state((0.0, 0.0, 0.0, 0.0))
    assert driver.read()[:2] == (0.02, -0.01)
    assert driver.state[:2] == (0.0, 0.0)


def test_velocity_filter_follows_a_ramp_with_its_time_constant():
    velocity_filter = VelocityFilter(50.0)
    out = [velocity_filter.step(3.0 * k * SAMPLE_PERIOD) for k in range(200)]
    times = SAMPLE_PERIOD * np.arange(200)
    assert out == pytest.approx(3.0 * (1 - np.exp(-50.0 * times)), abs=1e-12)
    velocity_filter.reset()
    assert velocity_filter.step(7.0) == 0.0


def test_push_changes_the_pendulum_speed_alone():
    driver = SimulatedDriver(IDEAL)
    driver.set_state((0.1, 0.2, 0.3, 0.4))
    driver.push(2.0)
    assert driver.state == (0.1, 0.2, 0.3, 2.4)
    with pytest.raises(ValueError, match='push is'):
        driver.push(math.inf)


def test_the_arm_stops_at_its_stop():
    driver = SimulatedDriver(replace(IDEAL, arm_stop=0.5))
    driver.set_state(HANGING)
    for _ in range(100):
        driver.write(5.0)
    assert driver.state[0] == pytest.approx(0.5)
    free = SimulatedDriver(IDEAL)
    free.set_state(HANGING)
    for _ in range(100):
        free.write(5.0)
    assert free.state[0] > 0.5


def test_dry_friction_slows_the_arm():
    def drift(plant):
        driver = SimulatedDriver(plant)
        driver.set_state(HANGING)
        for _ in range(200):
            driver.write(0.1)  # 0.5 mN m, below the Coulomb torque of 0.8 mN m
        return driver.state[0]
    slippery = replace(CALIBRATED, parameters=replace(CALIBRATED.parameters, coulomb_torque=0.0))
    assert drift(CALIBRATED) < 0.5 * drift(slippery)


def test_starts_are_random_bounded_and_reproducible():
    driver = SimulatedDriver(replace(IDEAL, start_spread=0.05))

    def start(seed):
        driver.reset(np.random.default_rng(seed))
        return driver.state
    starts = np.array([start(seed) for seed in range(200)])
    assert start(7) == start(7)
    assert 0.04 < np.abs(starts[:, :2]).max() <= 0.05
    assert np.all(starts[:, 2:] == 0)
    assert abs(starts[:, :2].mean()) < 0.01


def test_a_hanging_start_hangs():
    driver = SimulatedDriver(hanging=True)
    driver.reset(np.random.default_rng(0))
    assert driver.state[1] == pytest.approx(math.pi, abs=0.05)


@pytest.mark.parametrize(('name', 'value'), [
    ('encoder_counts', 0), ('velocity_filter', -1.0), ('delay', -1), ('voltage_limit', 0.0),
    ('arm_stop', -1.0), ('substeps', 1), ('start_spread', -0.1), ('alpha_bias', math.nan)])
def test_impossible_plants_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        replace(CALIBRATED, **{name: value})


def test_presets_are_found_by_name_and_unknown_ones_refused():
    assert [preset(name) for name in ('ideal', 'calibrated', 'qube3')] == list(PRESETS.values())
    with pytest.raises(ValueError, match=r'moon.*calibrated'):
        preset('moon')


def test_gains_keep_order_and_fill_in_tuned_values():
    gains = Gains.from_sequence([-1, 2, -3, 4])
    assert gains.as_tuple() == (-1.0, 2.0, -3.0, 4.0)
    tuned = gains.with_tuned([9.0, -8.0], ['k_alpha_dot', 'k_theta'])
    assert tuned.as_tuple() == (-8.0, 2.0, -3.0, 9.0)
    assert tuned.tuned(['k_alpha_dot', 'k_theta']) == (9.0, -8.0)
    assert PAPER_GAINS.with_tuned(PAPER_GAINS.tuned()) == PAPER_GAINS


@pytest.mark.parametrize('make', [
    lambda: Gains(math.nan, 1.0), lambda: Gains(1.0, math.inf),
    lambda: Gains.from_sequence([1, 2, 3]), lambda: PAPER_GAINS.with_tuned([1.0]),
    lambda: PAPER_GAINS.with_tuned([1.0], ['k_beta']),
    lambda: PAPER_GAINS.tuned(['k_theta', 'k_theta']), lambda: PAPER_GAINS.tuned([])])
def test_wrong_gains_are_refused(make):
    with pytest.raises(ValueError, match='gain'):
        make()
