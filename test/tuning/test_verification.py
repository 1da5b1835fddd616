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

"""What a run may say about its gain: from readings that were not chosen by their value."""
import numpy as np
from pacsbo_ros.tuning.trial import COMPARISON, Measured, START, Told, Trial, VERIFICATION
from pacsbo_ros.tuning.verification import gain, scatter
import pytest
from scipy.stats import ttest_ind

START_VALUES, BEST_VALUES = (1.0,), (2.0,)


def told(role, values, reward):
    return Told(Trial(1, values, (0.5,), 0, role, 'box'),
                Measured(reward, reward, (1.0,), (), (), 0, ''))


def test_the_lucky_reading_of_the_search_does_not_count():
    run = [told(START, START_VALUES, 0.5), told('maximiser', BEST_VALUES, 9.0),
           told(VERIFICATION, BEST_VALUES, 0.8), told(COMPARISON, START_VALUES, 0.6)]
    found = gain(run, BEST_VALUES)
    assert found.best == 0.8
    assert found.start == 0.6
    assert found.size == pytest.approx(0.2)


def test_before_a_verification_nothing_is_said():
    assert gain([told(START, START_VALUES, 0.5)], START_VALUES) is None


def test_best_values_that_are_a_start_are_compared_with_nothing():
    found = gain([told(START, START_VALUES, 0.5), told(VERIFICATION, START_VALUES, 0.6)],
                 START_VALUES)
    assert found.size is None
    assert found.words('m') == '0.6000 m'


def test_the_interval_is_that_of_the_two_sample_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1.0, 0.1, 5), rng.normal(0.5, 0.1, 5)
    run = [told(VERIFICATION, BEST_VALUES, float(x)) for x in a] + [
        told(COMPARISON, START_VALUES, float(x)) for x in b]
    low, high = ttest_ind(a, b).confidence_interval(0.95)
    found = gain(run, BEST_VALUES)
    assert found.size - found.half_width == pytest.approx(low)
    assert found.size + found.half_width == pytest.approx(high)


def test_the_interval_covers_the_true_gain_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        run = [told(role, values, float(rng.normal(mean, 0.1))) for role, values, mean in (
            (START, START_VALUES, 0.5), ('repeat', START_VALUES, 0.5),
            *(2 * ((VERIFICATION, BEST_VALUES, 0.7), (COMPARISON, START_VALUES, 0.5))))]
        found = gain(run, BEST_VALUES)
        covered += abs(found.size - 0.2) <= found.half_width
    assert 0.935 < covered / 2000 < 0.965


def test_values_tried_once_say_nothing_about_the_scatter():
    assert scatter([told(START, START_VALUES, 0.5), told('expander', BEST_VALUES, 0.7)]) == (0, 0)


def test_a_start_that_surely_gives_more_is_a_loss_and_one_within_the_noise_is_none():
    def found(best, start):
        return gain([told(START, START_VALUES, start), told(VERIFICATION, BEST_VALUES, best),
                     told(COMPARISON, START_VALUES, start + 0.01),
                     told(VERIFICATION, BEST_VALUES, best - 0.01)], BEST_VALUES)
    assert found(0.1, 0.6).is_loss
    assert not found(0.6, 0.1).is_loss
    assert not found(0.6, 0.605).is_loss
