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

"""The stability signals against linear systems whose poles are known by hand."""
import math
import time

import numpy as np
from pacsbo_ros.robots.stability import decay_rate, swing_left
import pytest
from scipy.linalg import expm

PERIOD = 0.02


def sampled(A, B):
    """Sample x' = A x + B u with a zero-order hold."""
    n = len(A)
    block = expm(np.block([[np.asarray(A, float), np.asarray(B, float).reshape(n, 1)],
                           [np.zeros((1, n + 1))]]) * PERIOD)
    return block[:n, :n], block[:n, n:]


def trace(A, B, F, x0, rows=250, noise=0.0, gusts=0.0, delay=0, limit=math.inf, seed=0):
    """Return measured signals and commands of x[k+1] = A x[k] + B u[k - delay], u = -F x."""
    rng = np.random.default_rng(seed)
    x, sent, signals, commands = np.array(x0, float), [0.0] * delay, [], []
    for _ in range(rows):
        seen = x + noise * rng.normal(size=len(x))
        u = max(-limit, min(limit, float(-np.dot(F, seen))))
        signals.append(seen)
        commands.append([u])
        sent.append(u)
        x = A @ x + B[:, 0] * sent.pop(0) + gusts * rng.normal(size=len(x))
    return np.array(signals), np.array(commands)


def loop(damping, frequency=6.0):
    """Return a double integrator and the feedback that gives it s^2 + 2 zeta w s + w^2."""
    return sampled([[0, 1], [0, 0]], [0, 1]), (frequency ** 2, 2 * damping * frequency)


def slowest(A, B, F):
    """Return the decay rate of the sampled loop by its eigenvalues."""
    return -math.log(np.abs(np.linalg.eigvals(A - B @ np.atleast_2d(F))).max()) / PERIOD


@pytest.mark.parametrize('damping', [0.05, 0.2, 0.5, -0.02])
def test_the_rate_is_that_of_the_loops_slowest_pole(damping):
    (A, B), F = loop(damping)
    found = decay_rate(*trace(A, B, F, (0.3, 0.0)), F, PERIOD)
    assert found.value == pytest.approx(slowest(A, B, F), abs=0.02)


def test_the_textbook_pair_zeta_one_fifth_at_two_rad_per_second_decays_with_two_fifths():
    A, _ = sampled([[0, 1], [-4, -0.8]], [0, 0])  # x'' + 0.8 x' + 4 x = 0
    signals, commands = trace(A, np.zeros((2, 1)), (0, 0), (1.0, 0.0))
    assert decay_rate(signals, commands, None, PERIOD).value == pytest.approx(0.4, abs=1e-3)


def test_a_delay_is_seen_by_the_second_lag():
    (A, B), F = loop(0.3)
    z = np.block([[A, B], [-np.atleast_2d(F), np.zeros((1, 1))]])  # (x[k], u[k-1])
    truth = -math.log(np.abs(np.linalg.eigvals(z)).max()) / PERIOD
    found = decay_rate(*trace(A, B, F, (0.3, 0.0), delay=1), F, PERIOD)
    assert found.value == pytest.approx(truth, abs=0.02)
    assert abs(truth - slowest(A, B, F)) > 0.2


def test_the_noise_is_that_of_repeats():
    (A, B), F = loop(0.2)

    def repeats(**disturbed):
        found = [decay_rate(*trace(A, B, F, (0.3, 0.0), seed=s, **disturbed), F, PERIOD)
                 for s in range(60)]
        return np.std([e.value for e in found]), np.median([e.noise for e in found])
    spread, own = repeats(gusts=0.003)
    assert 0.6 * spread < own < 1.7 * spread
    spread, own = repeats(noise=0.003)
    assert spread < own < 5 * spread


def test_a_saturated_loop_is_judged_as_if_it_were_not():
    (A, B), F = loop(-0.05)  # grows until the limit bounds it
    signals, commands = trace(A, B, F, (0.3, 0.0), rows=600, limit=20.0, noise=1e-4)
    assert np.abs(commands[-100:]).max() == 20.0
    assert decay_rate(signals, commands, F, PERIOD).value == pytest.approx(
        slowest(A, B, F), abs=0.1)
    as_it_ran = decay_rate(signals, commands, None, PERIOD).value
    assert as_it_ran > slowest(A, B, F) + 0.05  # the model without commands sees a mixture


def test_the_rows_of_a_push_are_left_out():
    (A, B), F = loop(0.2)
    first, u1 = trace(A, B, F, (0.1, 0.0), rows=60)
    pushed = A @ first[-1] + B[:, 0] * u1[-1] + (0.0, 3.0)
    second, u2 = trace(A, B, F, pushed, rows=150)
    signals, commands = np.vstack([first, second]), np.vstack([u1, u2])
    told = decay_rate(signals, commands, F, PERIOD, push=59)
    assert told.value == pytest.approx(slowest(A, B, F), abs=0.02)
    untold = decay_rate(signals, commands, F, PERIOD)
    assert untold.noise > 10 * told.noise


def test_without_motion_or_with_too_few_rows_nothing_is_said():
    (A, B), F = loop(0.2)
    assert decay_rate(np.zeros((250, 2)), np.zeros((250, 1)), F, PERIOD) is None
    signals, commands = trace(A, B, F, (0.3, 0.0), rows=15)
    assert decay_rate(signals, commands, F, PERIOD) is None
    assert decay_rate(np.zeros((0, 2)), np.zeros((0, 1)), F, PERIOD) is None


def test_one_episode_is_judged_within_five_milliseconds():
    rng = np.random.default_rng(0)
    signals, commands = rng.normal(size=(250, 4)), rng.normal(size=(250, 1))
    took = []
    for _ in range(20):
        begin = time.perf_counter()
        decay_rate(signals, commands, np.ones(4), PERIOD, 50)
        took.append(time.perf_counter() - begin)
    assert min(took) < 5e-3


@pytest.mark.parametrize('damping', [0.1, 0.3, 0.0])
def test_the_swing_that_is_left_is_the_decrement_of_half_a_period(damping):
    t = np.arange(0, 5, 0.005)
    w = 9.0
    wd = w * math.sqrt(1 - damping ** 2)
    signal = np.concatenate([np.zeros(200), np.exp(-damping * w * t) * np.sin(wd * t)])
    found = swing_left(signal, 200, 80, 100)
    assert found.value == pytest.approx(math.exp(-math.pi * damping * w / wd), abs=5e-3)
    assert found.noise == 0.0


def test_a_swing_that_grows_is_more_than_one_and_one_that_never_turns_is_gone():
    t = np.arange(0, 5, 0.005)
    assert swing_left(np.exp(0.1 * t) * np.sin(9 * t), 0, 80, 100).value > 1.4
    assert swing_left(np.exp(-t), 0, 80, 100).value == 0.0


def test_a_swing_back_counts_as_much_whether_the_signal_just_turns_or_just_does_not():
    t = np.arange(0, 5, 0.005)
    one, other = (swing_left(np.exp(-t) * (np.cos(4 * t) + 1 + by), 0, 80, 100).value
                  for by in (0.01, -0.01))
    assert 0.1 < one == pytest.approx(other, abs=0.02)


def test_what_the_push_met_is_the_noise_of_the_swing():
    t = np.arange(0, 3, 0.005)
    calm, moved = (swing_left(np.concatenate([np.full(200, met), np.exp(-t) * np.sin(9 * t)]),
                              200, 80, 100) for met in (0.01, 0.05))
    assert moved.noise == pytest.approx(5 * calm.noise)
    assert calm.value == moved.value


def test_a_trace_that_ends_within_the_first_swing_says_nothing():
    assert swing_left(np.ones(250), 200, 80, 100) is None
    assert swing_left(np.zeros(400), 200, 80, 100) is None
