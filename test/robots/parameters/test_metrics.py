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

"""Metrics against textbook step responses and exact integrals."""
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.robots.parameters import metrics as m
from pacsbo_ros.robots.parameters.windows import WindowError
import pytest


def second_order(zeta, omega=2.0, end=12.0, n=24001):
    t = np.linspace(0.0, end, n)
    damped = omega * np.sqrt(1 - zeta ** 2)
    envelope = np.exp(-zeta * omega * t) / np.sqrt(1 - zeta ** 2)
    return t, 1 - envelope * np.sin(damped * t + np.arccos(zeta))


@pytest.mark.parametrize('zeta', [0.3, 0.5, 0.7])
def test_overshoot_is_the_textbooks(zeta):
    t, y = second_order(zeta)
    expected = np.exp(-np.pi * zeta / np.sqrt(1 - zeta ** 2))
    assert m.overshoot(t, y, 1.0) == pytest.approx(expected, rel=1e-4)
    assert m.overshoot(t, 1.0 - y) == pytest.approx(expected, rel=1e-4)
    assert m.overshoot(t, -(1.0 - y)) == pytest.approx(expected, rel=1e-4)


def test_first_order_rise_and_settling_times_are_the_textbooks():
    t = np.linspace(0.0, 10.0, 10001)
    y = 1 - np.exp(-t)
    assert m.rise_time(t, y, 1.0) == pytest.approx(np.log(9), rel=1e-3)
    assert m.settling_time(t, y, 1.0) == pytest.approx(np.log(50), rel=1e-3)
    assert m.settling_time(t, y, 1.0, 0.05) == pytest.approx(np.log(20), rel=1e-3)
    assert m.iae(t, 1 - y) == pytest.approx(1 - np.exp(-10), rel=1e-5)
    assert m.itae(t, 1 - y) == pytest.approx(1 - 11 * np.exp(-10), rel=1e-4)


def test_sine_has_its_rms_mean_chatter_and_share():
    t = np.linspace(0.0, 2.0, 20001)
    y = 3.0 * np.sin(2 * np.pi * t)
    assert m.rms(t, y) == pytest.approx(3 / np.sqrt(2), rel=1e-5)
    assert m.mean(t, y) == pytest.approx(0.0, abs=1e-9)
    assert m.peak(t, y) == pytest.approx(3.0, rel=1e-6)
    assert m.chatter(t, y) == pytest.approx(12.0, rel=1e-5)
    assert m.share_of_time(t, y, 1.5) == pytest.approx(2 / 3, rel=1e-4)


def test_what_never_arrives_takes_the_whole_window():
    t, y = np.linspace(0.0, 4.0, 41), np.linspace(1.0, 0.5, 41)
    assert m.rise_time(t, y) == m.settling_time(t, y) == pytest.approx(4.0)
    assert m.overshoot(t, y) == 0.0
    assert m.overshoot(t, np.zeros(41)) == m.rise_time(t, np.zeros(41)) == 0.0


signals = st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=40)


@settings(max_examples=60, deadline=None)
@given(signals, st.floats(0.1, 10.0), st.randoms(use_true_random=False))
def test_metrics_scale_shift_in_time_and_survive_a_sample_more(values, factor, random):
    y = np.array(values, dtype=float)
    t = np.cumsum([random.uniform(0.01, 0.2) for _ in values])
    for name in ('rms', 'peak', 'mean', 'iae', 'itae', 'chatter'):
        f = m.METRICS[name].function
        assert f(t, factor * y) == pytest.approx(factor * f(t, y), rel=1e-6, abs=1e-6)
        assert f(t + 5.0, y) == pytest.approx(f(t, y), rel=1e-6, abs=1e-6)
        if name != 'rms':  # a sample on the line changes no other integral but of time × value
            middle = (t[0] + t[1]) / 2
            more = np.insert(t, 1, middle), np.insert(y, 1, np.interp(middle, t, y))
            slack = 0.2 ** 2 * 200 if name in ('iae', 'itae') else 1e-6
            assert f(*more) == pytest.approx(f(t, y), rel=1e-6, abs=slack)
    assert 0.0 <= m.share_of_time(t, y, 1.0) <= 1.0 + 1e-9
    if abs(y[0]) >= m.LEAST_WAY * np.max(np.abs(y)):  # else there is no step
        for f in (m.rise_time, m.settling_time):
            assert 0.0 <= f(t, y) <= t[-1] - t[0] + 1e-9
        assert m.overshoot(t, y) >= 0.0
    assert m.share_of_time(t, y, 5.0) <= m.share_of_time(t, y, 4.0) + 1e-9


@pytest.mark.parametrize('metric', [m.overshoot, m.rise_time, m.settling_time])
def test_a_signal_that_begins_at_its_target_and_leaves_it_has_no_step_to_judge(metric):
    t = np.linspace(0.0, 4.0, 41)
    with pytest.raises(WindowError, match='needs a way to the target'):
        metric(t, 0.5 + 1e-7 + np.sin(t), 0.5)
