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

"""Every told value tests the model: false alarms, drift and misfit, each called by its name."""

from itertools import pairwise

import numpy as np
from pacsbo_ros.core import Kernel, NothingToPropose, random_function, SafeOptimizer, Settings
from pacsbo_ros.core.surprise import bet, Surprise
import pytest
from scipy.integrate import quad


def test_the_bet_is_fair():
    parts = [1e-9, 1e-6, 1e-3, 1.0]
    won = sum(quad(bet, a, b)[0] for a, b in pairwise(parts))
    assert 0.9 < won <= 1.0  # the rest is below 1e-9


def test_uniform_p_values_give_alarms_in_no_more_runs_than_its_share():
    rng, share, runs, alarms = np.random.default_rng(0), 0.1, 300, 0
    for _ in range(runs):
        test = Surprise(share, 30)
        alarms += any(test.add(p, i) is not None for i, p in enumerate(rng.random(40)))
    assert 0 < alarms <= runs * share


def test_a_late_change_is_found_and_its_first_sample_named():
    rng, test = np.random.default_rng(1), Surprise(0.01, 30)
    for i in range(20):
        assert test.add(float(rng.random()), i) is None
    found = [test.add(1e-4, i) for i in range(20, 23)]
    first = next(f for f in found if f is not None)
    assert 19 <= first <= 21
    assert test.share == 0.005  # what comes after the alarm has half of it


def run(h, after=None, change=12, samples=20, **changes):
    """Tune on a function that turns into another one."""
    settings = Settings(**{
        'constraints': 0, 'reward_threshold': -0.5, 'length_scales': (0.1,), 'candidates': 200,
        'budget': samples, 'starts': 3, 'noise_bound': 0.01, **changes})
    optimizer, rng = SafeOptimizer(settings), np.random.default_rng(0)
    for x in (0.48, 0.5, 0.55):
        optimizer.tell([x], [h(x)])
    for i in range(3, samples):
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        f = after if after and i >= change else h
        optimizer.tell(proposal.point, [f(proposal.point[0]) + 0.01 * rng.normal()])
    return optimizer


def smooth(x):
    return np.cos(6 * (x - 0.5))


def alarms(optimizer):
    return [word for word in optimizer.notices if 'not what the model expected' in word]


def test_without_a_change_nobody_is_alarmed_and_the_share_is_in_the_books():
    optimizer = run(smooth)
    assert not alarms(optimizer)
    entry = optimizer.state().entries[0]
    assert (entry.purpose, entry.amount) == ('false alarms', pytest.approx(0.01))


@pytest.mark.parametrize('factors', [(1.0,), Settings().length_scale_factors])
def test_a_drift_is_called_a_drift_and_old_samples_tell_less(factors):
    changed = run(smooth, lambda x: smooth(x) - 0.4, length_scale_factors=factors)
    said = alarms(changed)
    assert 1 <= len(said) <= len(factors)  # one alarm where the model is one
    assert all('drift' in word for word in said)
    assert any(f'since sample {i};' in said[0] for i in (12, 13))
    # Where only old samples lie, the band is as wide as the function is large.
    x = changed.samples[0][:12, 0]
    new = changed.samples[0][12:, 0]
    old = x[np.argmax(np.abs(x[:, None] - new).min(axis=1))]
    plain = run(smooth, length_scale_factors=factors).predict([[old]])
    band = changed.predict([[old]])
    assert band.up - band.low > 5 * (plain.up - plain.low)


def test_after_a_drift_the_starts_are_no_longer_safe_by_assumption():
    changed = run(smooth, lambda x: smooth(x) - 10.0)
    assert not np.any(changed.safe([[0.48], [0.5], [0.55]]))
    assert isinstance(changed.ask(), NothingToPropose)


def test_a_function_that_is_rougher_than_told_is_called_that():
    said, shorter = [], 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rough = random_function(Kernel('matern32', (0.05,)), 300, rng, 2.0)
        optimizer = SafeOptimizer(Settings(
            constraints=0, reward_threshold=-100.0, length_scales=(0.4,), candidates=50, starts=3,
            length_scale_factors=(1.0,)))
        close = [0.5, 0.505, 0.51, 0.515, 0.52, 0.49, 0.48, 0.47]
        for x in np.append(close, rng.random(12)):
            optimizer.tell([x], rough(np.array([[x]])))
        said += alarms(optimizer)
        shorter += max(optimizer._run.rule.outputs[0].factors) < 1.0
    assert len(said) >= 3
    assert sum('rougher' in word for word in said) >= 0.8 * len(said)
    assert shorter >= 3


@pytest.mark.parametrize(('step', 'word'), [(0.0, 'rougher'), (0.8, 'drift')])
def test_a_kink_of_one_output_is_no_drift_and_a_step_of_all_is_one(step, word):
    optimizer = SafeOptimizer(Settings(constraints=4, length_scales=(0.3,), starts=2,
                                       noise_bound=0.01, candidates=20,
                                       length_scale_factors=(1.0,)))
    for x in np.concatenate([np.arange(0.2, 0.55, 0.04), np.arange(0.56, 0.8, 0.04)]):
        values = 1 + 0.3 * np.sin((3 + np.arange(5)) * x) - step * (x > 0.55)
        values[0] -= 8 * max(x - 0.55, 0.0)
        optimizer.tell([x], values)
    said = alarms(optimizer)
    assert said
    assert all(word in each and 'since sample 10' in each for each in said)


def test_replay_gives_the_same_also_after_alarms():
    changed = run(smooth, lambda x: smooth(x) - 0.4, samples=18)
    again = SafeOptimizer.from_record(changed.to_record())
    assert again.ask() == changed.ask()
    assert again.notices == changed.notices
    X = np.linspace(0, 1, 9)[:, None]
    np.testing.assert_array_equal(again.predict(X).low, changed.predict(X).low)


def test_the_band_at_a_candidate_is_the_band_of_the_candidate_also_after_a_drift():
    optimizer = run(smooth, lambda x: smooth(x) - 0.4)
    inner = optimizer._run
    np.testing.assert_allclose(optimizer.predict(inner.X[::9]).low, inner.band.low[:, ::9],
                               atol=1e-6)
