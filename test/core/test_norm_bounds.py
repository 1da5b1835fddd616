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

"""The norm bounds: what each promises, the predictor, and the share of delta."""

import numpy as np
from pacsbo_ros.core import random_function, RULES, SafeOptimizer, Settings
from pacsbo_ros.core.norm_rule import NormRule
from pacsbo_ros.core.rules import COMPLETE
from pacsbo_ros.core.survivors import PATIENCE, Survivors
import pytest

NORM_RULES = [name for name in COMPLETE if issubclass(RULES[name], NormRule)]


def told(settings, N=8, norm=3.0, scale=1.0, seed=0, predictor=None):
    rng = np.random.default_rng(seed)
    h = random_function(settings.kernels()[0], 100, rng, norm)
    optimizer = SafeOptimizer(settings, seed, predictor)
    for x in rng.random((N, settings.dimension)):
        optimizer.tell(x, scale * h(x[None]))
    return optimizer


def problem(**changes):
    return Settings(**{'rule': 'scale_free', 'constraints': 0, 'reward_threshold': -1e6,
                       'candidates': 300, **changes})


@pytest.mark.parametrize('rule', NORM_RULES)
@pytest.mark.parametrize('n', [1, 2])
def test_every_bound_exceeds_the_mean_norm_and_is_nested(rule, n):
    settings = problem(rule=rule, dimension=n, length_scales=0.2)
    norms = {e.domain: e for e in told(settings).state().norms}
    assert list(norms) == ['hull', 'enlarged', 'box']
    assert norms['hull'].B <= norms['enlarged'].B <= norms['box'].B
    for e in norms.values():
        assert np.isfinite(e.B)
        assert e.B >= e.mean_norm > 0
        assert e.rule == rule
        assert e.decided_by in ('bound', 'outer domain')
        assert e.delta <= settings.delta


@pytest.mark.parametrize('rule', NORM_RULES)
def test_a_larger_word_of_the_predictor_decides(rule):
    settings = problem(rule=rule)
    for e in told(settings, predictor=lambda history, s, domain: 1000.0).state().norms:
        assert (e.B, e.decided_by, e.predictor) == (1000.0, 'predictor', 1000.0)
        assert e.hidden == 1000.0
    small = told(settings, predictor=lambda history, s, domain: 1e-3).state().norms
    for e in small:
        assert e.mean_norm < e.B
        assert e.predictor == 1e-3


def test_algorithm_3_multiplies_the_word_by_the_safety_factor():
    settings = problem(rule='hoeffding', safety_factor=1.5, domains=('box',))
    threshold = told(settings).state().norms[0].B
    (e,) = told(settings, predictor=lambda history, s, domain: 1.0).state().norms
    assert pytest.approx(1.5 ** round(np.log(e.B) / np.log(1.5))) == e.B
    assert threshold / 1.3 < e.B < threshold * 1.7


def test_the_predictor_sees_the_last_entries_of_the_history():
    seen = []

    def predictor(history, settings, domain):
        seen.append((domain, history.copy()))
        return 0.0
    settings = problem(window=3)
    optimizer = told(settings, N=1, predictor=predictor)
    for x in np.linspace(0, 1, 4):
        optimizer.tell([x], [0.1])
    last = [h for d, h in seen if d == 'box']
    assert [len(h) for h in last] == [1, 2, 3, 3, 3]
    estimate = optimizer.state().norms[-1]
    assert seen[-1][1][-1].tolist() == [estimate.mean_norm, estimate.reciprocal]


def test_a_predictor_that_gives_nan_is_refused():
    with pytest.raises(ValueError, match='predictor gave nan'):
        told(problem(), predictor=lambda history, s, domain: float('nan')).state()


def test_without_a_bound_the_predictor_decides_alone_but_not_below_the_data():
    settings = problem(rule='none')
    for e in told(settings, predictor=lambda history, s, domain: 5.0).state().norms:
        assert (e.B, e.decided_by) == (5.0, 'predictor')
    for e in told(settings, predictor=lambda history, s, domain: 1e-3).state().norms:
        assert (e.B, e.decided_by) == (e.mean_norm, 'bound')
    with pytest.raises(ValueError, match="rule is 'none'"):
        SafeOptimizer(settings)


def test_only_the_scale_free_band_leaves_out_what_the_data_show():
    for rule in NORM_RULES:
        optimizer = told(problem(rule=rule))
        (shown,) = optimizer._run.rule.gps[0].data_norms()
        for e in optimizer.state().norms:
            whole = e.B if rule != 'scale_free' else np.sqrt(e.B ** 2 - shown ** 2)
            assert e.hidden == pytest.approx(whole)


def test_scale_free_bound_scales_with_the_function():
    settings = problem(noise_bound=0.0)
    one = [e.B for e in told(settings).state().norms]
    many = [e.B for e in told(settings, scale=7.0).state().norms]
    np.testing.assert_allclose(many, 7.0 * np.array(one), rtol=1e-6)


@pytest.mark.parametrize(('n', 'ell'), [(1, 0.1), (2, 0.3)])
def test_scale_free_bound_holds_for_random_functions_at_random_samples(n, ell):
    settings = problem(dimension=n, length_scales=ell, noise_bound=1e-3, candidates=400)
    held, ratios = [], []
    for seed in range(60):
        # One library for all runs; the functions do not come from it.
        optimizer = SafeOptimizer(settings, seed=0)
        rng = np.random.default_rng([seed, n])
        h = random_function(settings.kernels()[0], 100, rng, norm=rng.uniform(1, 20))
        for x in rng.random((3, n)):
            optimizer.tell(x, h(x[None]))
        fine = True
        for x in rng.random((9, n)):
            B = optimizer.state().norms[-1].B
            fine &= h.norm <= B
            optimizer.tell(x, h(x[None]))
        held.append(fine)
        ratios.append(B / h.norm)
    assert np.mean(held) >= 0.9  # the share is 0.05; 60 runs
    assert np.median(ratios) < 2.0


def test_survivors_spend_the_share_and_no_more():
    survivors, rng, spent = Survivors(2000, 0.05), np.random.default_rng(0), 0.0
    for rounds in range(1, 400):
        limit, cost = survivors.cull(rng.random(2000))
        spent += cost
        assert np.isinf(limit) == (cost == 0)
        assert spent <= max(0.05 * rounds / (rounds + PATIENCE), 1 / 2001)
    assert spent == pytest.approx(np.sum(~survivors.alive) / 2001)
    assert spent > 0.045
    with pytest.raises(ValueError, match=r'library_size is 100; a share of 0.005 .* least 200'):
        Survivors(100, 0.005)


def test_survivors_fail_as_often_as_they_say():
    rng = np.random.default_rng(1)
    failed, said = [], []
    for _ in range(300):
        survivors, fine, spent = Survivors(200, 0.2), True, 0.0
        for _ in range(10):
            scores = rng.random(201)  # the last one is the unknown function's
            limit, cost = survivors.cull(scores[:-1])
            fine &= scores[-1] <= limit
            spent += cost
        failed.append(not fine)
        said.append(spent)
    error = np.sqrt(np.mean(said) / 300)
    assert abs(np.mean(failed) - np.mean(said)) < 4 * error


def test_closed_form_mean_is_tighter_than_the_drawn_thresholds():
    B = {rule: told(problem(rule=rule, domains=('box',))).state().norms[0].B
         for rule in NORM_RULES}
    assert B['mean'] < B['bernstein'] < B['hoeffding']
    assert B['mean'] < B['scenario'] < B['cantelli']
