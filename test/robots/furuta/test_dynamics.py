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

"""The equations of motion against the workbook, conservation laws and an independent solver."""
from dataclasses import replace
import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.robots.furuta.dynamics import (
    accelerations,
    energy,
    rk4,
    turn,
    volts_for_acceleration,
)
from pacsbo_ros.robots.furuta.linear import discretise, linearise, lqr
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_discrete_are
from scipy.signal import cont2discrete

COURSEWARE = Parameters()
LOSSLESS = Parameters(arm_damping=0.0, pendulum_damping=0.0, back_emf=0.0, torque_constant=0.0)
CABLED = replace(CALIBRATED.parameters, cable_stiffness=1e-3, cable_rest=-0.4)

angle = st.floats(-math.pi, math.pi)
speed = st.floats(-20, 20)
volts = st.floats(-18, 18)


def textbook_accelerations(theta, alpha, w, v, u, p):
    """Write down both equations with the unscaled a0 .. a4 and let NumPy solve them."""
    a0 = p.arm_inertia + p.pendulum_mass * p.arm_length ** 2
    a1 = p.pendulum_mass * p.pendulum_length ** 2 / 4
    a2 = p.pendulum_mass * p.pendulum_length * p.arm_length / 2
    a3 = p.pendulum_mass * p.pendulum_length ** 2 / 12 + a1
    a4 = p.pendulum_mass * p.pendulum_length * p.gravity / 2
    s, k = math.sin(alpha), math.cos(alpha)
    tau = p.torque_constant * (u - p.back_emf * w) / p.resistance
    dry = p.coulomb_torque * w / math.hypot(w, p.coulomb_speed)
    mass = [[a0 + a1 * s * s, -a2 * k], [-a2 * k, a3]]
    dry += p.cable_stiffness * (theta - p.cable_rest)
    force = [tau - p.arm_damping * w - dry - 2 * a1 * s * k * w * v - a2 * s * v * v,
             -p.pendulum_damping * v + a1 * s * k * w * w + a4 * s]
    return np.linalg.solve(mass, force)


def test_linearisation_equals_the_workbook_to_three_decimals():
    A, B = linearise(COURSEWARE)
    assert A[2:, 1] == pytest.approx([149.275, 261.609], abs=5e-4)
    assert B[2:, 0] == pytest.approx([49.728, 49.149], abs=5e-4)


@pytest.mark.parametrize('name', PRESETS)
def test_linearisation_is_the_derivative_of_the_equations(name):
    p = replace(PRESETS[name].parameters, coulomb_torque=0.0)
    A, B = linearise(p)
    h = 1e-6
    for j in range(4):
        x = np.eye(4)[j] * h
        plus, minus = (textbook_accelerations(*(sign * x), 0.0, p) for sign in (1, -1))
        assert A[2:, j] == pytest.approx((plus - minus) / (2 * h), rel=1e-6, abs=1e-6)
    per_volt = np.subtract(*(textbook_accelerations(0, 0, 0, 0, u, p) for u in (1.0, 0.0)))
    assert B[2:, 0] == pytest.approx(per_volt, rel=1e-9)


@given(angle, angle, speed, speed, volts)
def test_accelerations_solve_the_textbook_equations(theta, alpha, w, v, u):
    p = CABLED
    ours = accelerations(theta, math.sin(alpha), math.cos(alpha), w, v, u, p.coefficients)
    assert ours == pytest.approx(textbook_accelerations(theta, alpha, w, v, u, p), rel=1e-9,
                                 abs=1e-7)


@given(angle, angle, speed, speed, st.floats(-200, 200))
def test_inverse_dynamics_give_the_wanted_acceleration(theta, alpha, w, v, wanted):
    c = CABLED.coefficients
    u = volts_for_acceleration(wanted, theta, alpha, w, v, c)
    got, _ = accelerations(theta, math.sin(alpha), math.cos(alpha), w, v, u, c)
    assert got == pytest.approx(wanted, abs=1e-9 * (1 + abs(u)) * 100)


@given(angle, st.floats(-0.03, 0.03))
def test_turn_equals_sine_and_cosine_of_the_sum(alpha, d):
    s, k = turn(math.sin(alpha), math.cos(alpha), d)
    assert s == pytest.approx(math.sin(alpha + d), abs=2e-12)
    assert k == pytest.approx(math.cos(alpha + d), abs=2e-12)


@given(angle, angle, st.floats(-5, 5), st.floats(-5, 5))
@settings(max_examples=30, deadline=None)
def test_energy_is_conserved_without_friction_and_input(theta, alpha, w, v):
    c = replace(LOSSLESS, cable_stiffness=2e-3, cable_rest=0.3).coefficients
    start = (theta, alpha, w, v)
    scale = 2 * c.b4 * c.a3 + abs(energy(start, c))
    assert energy(rk4(start, 0.0, 1e-3, 2000, c), c) == pytest.approx(
        energy(start, c), abs=1e-7 * scale)


def test_friction_and_back_emf_take_energy_away():
    c = CALIBRATED.parameters.coefficients
    start = (0.0, 2.0, 3.0, -4.0)
    energies = [energy(start, c)]
    for _ in range(50):
        start = rk4(start, 0.0, 1e-3, 20, c)
        energies.append(energy(start, c))
    assert all(later < earlier for earlier, later in itertools.pairwise(energies))


def test_positive_voltage_accelerates_the_arm_positively():
    for parameters in (plant.parameters for plant in PRESETS.values()):
        assert rk4((0, math.pi, 0, 0), 1.0, 1e-3, 20, parameters.coefficients)[0] > 0


def test_halving_the_step_shows_fourth_order():
    c = CALIBRATED.parameters.coefficients
    start = (0.1, 1.0, 5.0, -3.0)  # fast enough that dry friction is smooth on this stretch

    def textbook(_, x):
        return [x[2], x[3], *textbook_accelerations(*x, 2.0, CALIBRATED.parameters)]

    exact = solve_ivp(textbook, (0, 0.1), start, method='DOP853', rtol=1e-13, atol=1e-14).y[:, -1]
    errors = [np.abs(np.subtract(rk4(start, 2.0, 0.1 / n, n, c), exact)).max()
              for n in (10, 20, 40)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders == pytest.approx(4.0, abs=0.35)


def test_discretisation_and_lqr_equal_scipy():
    A, B = linearise(CALIBRATED.parameters)
    Ad, Bd, *_ = cont2discrete((A, B, np.eye(4), np.zeros((4, 1))), 0.02)
    ours = discretise(A, B, 0.02)
    assert ours[0] == pytest.approx(Ad)
    assert ours[1] == pytest.approx(Bd)
    q, r = np.array([1.0, 10.0, 0.1, 0.1]), 0.02
    P = solve_discrete_are(Ad, Bd, np.diag(q), [[r]])
    K = np.linalg.inv(r + Bd.T @ P @ Bd) @ Bd.T @ P @ Ad
    gains = lqr(CALIBRATED.parameters, q, r)
    assert gains.as_tuple() == pytest.approx(K[0])
    assert np.abs(np.linalg.eigvals(Ad - Bd @ K)).max() < 1
    assert gains.k_theta < 0 < gains.k_alpha


def test_lqr_gains_beat_their_neighbours_in_accumulated_cost():
    q, r = np.array([1.0, 10.0, 0.0, 0.0]), 0.01
    A, B = discretise(*linearise(COURSEWARE), 0.02)
    best = np.array(lqr(COURSEWARE, q, r).as_tuple())

    def cost(K):
        x, total = np.array([0.1, 0.05, 0.0, 0.0]), 0.0
        for _ in range(500):
            u = -K @ x
            total += x @ (q * x) + r * u * u
            x = A @ x + B[:, 0] * u
        return total

    rng = np.random.default_rng(0)
    assert all(cost(best) < cost(best * (1 + 0.03 * rng.normal(size=4))) for _ in range(20))


@pytest.mark.parametrize('name', ['pendulum_mass', 'arm_inertia', 'resistance', 'arm_damping'])
@pytest.mark.parametrize('value', [-1.0, math.nan, math.inf])
def test_impossible_parameters_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        Parameters(**{name: value})


def test_bad_weights_and_periods_are_refused():
    with pytest.raises(ValueError, match='LQR weights'):
        lqr(COURSEWARE, q=(1, 2, 3))
    with pytest.raises(ValueError, match='LQR weights'):
        lqr(COURSEWARE, r=0.0)
    with pytest.raises(ValueError, match='sampling period'):
        discretise(*linearise(COURSEWARE), 0.0)


@pytest.mark.parametrize(('name', 'value', 'words'), [
    ('arm_mass', 0.0, 'arm_mass is 0.0; it must be finite and more than zero'),
    ('arm_damping', -1.0, 'arm_damping is -1.0; it must be finite and zero or more'),
    ('cable_rest', float('nan'), 'cable_rest is nan; it must be finite$')])
def test_a_parameter_that_no_pendulum_has_is_named_with_what_it_may_be(name, value, words):
    with pytest.raises(ValueError, match=words):
        Parameters(**{name: value})
    Parameters(arm_damping=0.0, cable_rest=-1.0)
