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

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.core.settings import DOMAINS
from pacsbo_ros.predictor import load_predictor
from pacsbo_ros.predictor.model import Calibration, feature_count, features, Network
import pytest

SETTINGS = Settings()
ETA = load_predictor('default', SETTINGS)

histories = st.lists(
    st.tuples(st.floats(0.01, 100.0), st.floats(1.0, 1e4)), min_size=1, max_size=40,
).map(lambda rows: np.array(rows))


@hypothesis_settings(deadline=None)
@given(history=histories, factor=st.floats(1e-3, 1e3), domain=st.sampled_from(DOMAINS))
def test_a_function_so_many_times_larger_gets_a_bound_so_many_times_larger(
        history, factor, domain):
    word = ETA(history, SETTINGS, domain)
    assert ETA(history * [factor, 1.0], SETTINGS, domain) == pytest.approx(factor * word)


@hypothesis_settings(deadline=None)
@given(history=histories, factor=st.floats(0.2, 5.0), domain=st.sampled_from(DOMAINS))
def test_other_units_of_the_output_change_nothing(history, factor, domain):
    # k -> factor·k, λ -> factor·λ, σ² -> factor·σ²; the norm of one function falls by the root.
    scaled = SETTINGS.replace(output_scale=factor, lam=factor * SETTINGS.lam)
    other = history * [factor ** -0.5, 1.0 / factor]
    assert ETA(other, scaled, domain) == pytest.approx(
        ETA(history, SETTINGS, domain) * factor ** -0.5)


@hypothesis_settings(deadline=None)
@given(history=histories, domain=st.sampled_from(DOMAINS))
def test_the_estimate_is_finite_and_never_below_the_norm_of_the_mean(history, domain):
    word = ETA(history, SETTINGS, domain)
    assert np.isfinite(word)
    assert word >= history[-1, 0]


@hypothesis_settings(deadline=None)
@given(history=histories, earlier=histories, domain=st.sampled_from(DOMAINS))
def test_only_the_last_entries_of_a_long_history_count(history, earlier, domain):
    window = np.resize(history, (ETA.window, 2))
    longer = np.vstack([earlier, window])
    assert ETA(longer, SETTINGS, domain) == ETA(window, SETTINGS, domain)


def test_no_signal_gives_no_estimate():
    assert ETA(np.array([[0.0, 1.3]]), SETTINGS, 'box') == 0.0


def test_short_histories_are_padded_with_zeros_in_front():
    window = 6
    x = features(np.array([[1.0, 2.0]]), np.array([[2.0, 4.0]]), 0, np.array([[0.1]]),
                 np.array([0.005]), window)
    assert x.shape == (1, feature_count(window))
    assert x[0, :window].tolist() == [0, 0, 0, 0, 0.5, 1.0]
    assert x[0, window:2 * window].tolist() == [0, 0, 0, 0, 0.5, 0.25]


def test_the_network_is_the_textbook_perceptron():
    rng = np.random.default_rng(0)
    w, b = [rng.standard_normal((3, 4)), rng.standard_normal((4, 1))], [rng.random(4), [0.3]]
    net = Network(np.array([1.0, 0.0, 2.0]), np.array([1.0, 2.0, 0.5]), tuple(w), tuple(b))
    x = rng.standard_normal(3)
    z = [(x[i] - net.mean[i]) / net.scale[i] for i in range(3)]
    hidden = [max(sum(z[i] * w[0][i, j] for i in range(3)) + b[0][j], 0.0) for j in range(4)]
    out = sum(hidden[j] * w[1][j, 0] for j in range(4)) + 0.3
    assert net(x[None])[0] == pytest.approx(np.log1p(np.exp(out)))


def test_the_calibration_is_interpolated_between_length_scales_and_held_beyond():
    kappa = np.ones((2, 3, 4)) * np.array([1.0, 3.0])[:, None, None]
    calibration = Calibration(np.array([0.1, 0.4]), kappa, 0.9)
    ell = np.array([[0.1, 0.1], [0.2, 0.2], [0.1, 0.4], [0.4, 0.4], [0.9, 0.9], [0.01, 0.01]])
    np.testing.assert_allclose(calibration(ell, 1, 2), [1, 2, 2, 3, 3, 1])
