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

"""Noise from repeats: found, said, and never read as the size of the function."""

import numpy as np
from pacsbo_ros.core import (
    noise,
    NOISE_UNKNOWN,
    NothingToPropose,
    SAFE_SET_EMPTY,
    SafeOptimizer,
    Settings,
)
import pytest
from scipy import stats


def test_pooled_variance_and_its_limits_agree_with_the_textbook():
    rng, repeats = np.random.default_rng(0), noise.Repeats(2)
    groups = [rng.normal(5.0 * i, [0.1, 0.4], (count, 2)) for i, count in enumerate((4, 1, 3))]
    for i, group in enumerate(groups):
        for y in group:
            repeats.add((float(i),), y)
    scatter = sum(((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in groups)
    found = noise.estimate(repeats)
    assert found.dof == 5
    assert found.sigma == pytest.approx(np.sqrt(scatter / 5))
    assert found.low == pytest.approx(np.sqrt(scatter / stats.chi2.ppf(0.95, 5)))
    assert found.high == pytest.approx(np.sqrt(scatter / stats.chi2.ppf(0.05, 5)))


def test_the_lower_limit_is_above_the_truth_as_seldom_as_it_says():
    rng, above = np.random.default_rng(1), 0
    for _ in range(1000):
        repeats = noise.Repeats(1)
        for y in rng.normal(0.0, 0.2, (4, 1)):
            repeats.add((0.5,), y)
        above += noise.estimate(repeats).low[0] > 0.2
    assert 25 <= above <= 80  # 5 % of 1000


def repeated(R, sigma, rounds, seed=3, **changes):
    """Measure three points again and again."""
    optimizer = SafeOptimizer(Settings(**{
        'dimension': 2, 'length_scales': 0.3, 'noise_bound': R, 'lam': 0.02, 'candidates': 100,
        'output_names': ('reward', 'tilt'), 'starts': 3, 'rule': 'scale_free', **changes}))
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        for x, y in (((0.4, 0.4), 0.5), ((0.5, 0.45), 0.6), ((0.45, 0.5), 0.55)):
            optimizer.tell(x, [y + sigma * rng.standard_normal() for _ in range(2)])
    return optimizer


def test_a_noise_bound_that_is_too_small_is_named_with_the_value_to_set():
    (text, *_) = repeated(0.08, 0.3, 3).notices
    assert 'noise_bound is 0.08, but repeats of' in text
    assert 'set noise_bound to 0.' in text
    assert repeated(0.3, 0.1, 3).notices == ()
    assert repeated(0.08, 0.3, 1).notices == ()


def test_auto_waits_for_a_repeat_then_says_what_it_found():
    first = repeated('auto', 0.05, 1)
    said = first.ask()
    assert said.code == NOISE_UNKNOWN
    assert 'no point was measured twice' in said.reason
    with pytest.raises(ValueError, match='noise_bound is auto'):
        first.state()
    later = repeated('auto', 0.05, 4)
    assert 'noise_bound is auto: 9 repeats give reward 0.0' in later.notices[0]
    assert not isinstance(later.state(), NothingToPropose)


def test_what_an_episode_tells_of_its_noise_is_kept_and_used():
    quiet, loud = (SafeOptimizer(Settings(candidates=50)) for _ in range(2))
    quiet.tell([0.5], [1.0, 1.0])
    loud.tell([0.5], [1.0, 1.0], noise=[0.0, 0.5])
    width = [np.ptp([b.low[:, 0], b.up[:, 0]], axis=0) for b in (
        o.predict([[0.5]]) for o in (quiet, loud))]
    assert width[0][0] == pytest.approx(width[1][0])
    assert width[0][1] < 0.5 * width[1][1]
    record = loud.to_record()
    assert SafeOptimizer.from_record(record).to_record() == record
    with pytest.raises(ValueError, match='noise is'):
        quiet.tell([0.5], [1.0, 1.0], noise=[-1.0, 0.0])


@pytest.mark.parametrize('rule', ['scale_free', 'student', 'mean'])
def test_repeats_that_scatter_do_not_make_the_function_larger(rule):
    """
    Scatter of three times R on the same three points: B must stay, as it did not once.

    Means of two are off by more than R says, by chance up or down, so one seed may show either.
    """
    ratio = []
    for seed in range(9):
        few, many = (repeated(0.08, 0.24, rounds, seed, rule=rule).state().norms
                     for rounds in (2, 10))
        ratio += [b.B / a.B for a, b in zip(few, many, strict=True)]
    assert np.median(ratio) <= 1.05


def test_repeats_within_r_leave_the_scale_as_it_is():
    few, many = (repeated(0.01, 0.01, rounds, rule='student').state().norms for rounds in (2, 10))
    for a, b in zip(few, many, strict=True):
        assert pytest.approx(a.B, rel=0.15) == b.B


def test_a_run_that_can_only_repeat_says_at_once_which_output_and_what_would_help():
    optimizer = SafeOptimizer(Settings(
        scale_prior=0.0, noise_bound=0.2, length_scales=0.05, candidates=200, starts=2,
        output_names=('reward', 'tilt')))
    optimizer.tell([0.5], [1.0, 0.02])
    optimizer.tell([0.51], [1.0, 0.03])
    said = optimizer.ask()
    assert said.code == SAFE_SET_EMPTY
    assert 'tilt' in said.reason
    assert 'what would help most' in said.reason or 'more margin' in said.reason
