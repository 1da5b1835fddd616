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

"""Ask and tell: properties over random problems, records, reasons and errors."""

import json
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import (
    ESTIMATE_GREW,
    Kernel,
    NOTHING_UNCERTAIN,
    NothingToPropose,
    random_function,
    SAFE_SET_EMPTY,
    SafeOptimizer,
    Settings,
)
import pytest

RULES = st.sampled_from(['scale_free', 'mean', 'cantelli'])


def make(n, constraints=1, known=False, seed=0, **changes):
    s = Settings(**{'rule': 'scale_free', 'dimension': n, 'constraints': constraints,
                    'candidates': 400, 'length_scales': 0.3, 'library_size': 200, 'lam': 3e-4,
                    'noise_bound': 1e-3, **changes})
    return SafeOptimizer(s.with_norm(3.0) if known else s, seed)


def problem(optimizer, seed):
    """Draw outputs that are safe at the start."""
    rng = np.random.default_rng(seed)
    s = optimizer.settings
    start = rng.random(s.dimension)
    functions = [random_function(k, 30, rng, norm=2.0) for k in s.kernels()]
    lift = np.array([0.4 - f(start[None])[0] for f in functions])

    def h(x):
        return np.array([f(np.atleast_2d(x))[0] for f in functions]) + lift
    return start, h


def loop(optimizer, h, start, steps):
    optimizer.tell(start, h(start))
    for way in (-0.1, 0.1):
        x = np.clip(start + way, 0, 1)
        optimizer.tell(x, np.maximum(h(x), 0.1))
    for _ in range(steps):
        p = optimizer.ask()
        if isinstance(p, NothingToPropose):
            return
        yield p
        optimizer.tell(p.point, h(np.array(p.point)))


@given(seed=st.integers(0, 10 ** 6), n=st.integers(1, 5), constraints=st.integers(1, 2),
       rule=RULES, expander=st.sampled_from(['one_step', 'metric']),
       known=st.booleans(), caution=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=30, deadline=None)
def test_proposals_are_finite_inside_and_known_to_be_safe(
        seed, n, constraints, rule, expander, known, caution):
    optimizer = make(n, constraints, known, rule=rule, expander=expander, caution=caution)
    start, h = problem(optimizer, seed)
    for p in loop(optimizer, h, start, 6):
        x = np.array(p.point)
        assert np.all(np.isfinite(x))
        assert np.all((x >= 0) & (x <= 1))
        if not np.array_equal(x, start):
            assert np.all(np.array(p.lower)[1:] >= 0)
        assert np.all(np.array(p.lower) <= p.upper)
        assert p.role in ('maximiser', 'expander', 'repeat')
        assert p.domain in optimizer.settings.domains


@given(seed=st.integers(0, 10 ** 6), n=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_no_point_twice_while_a_more_uncertain_one_is_allowed(seed, n):
    optimizer = make(n, caution=1.0, lam=1e-4)
    start, h = problem(optimizer, seed)
    asked = []
    for p in loop(optimizer, h, start, 8):
        if p.point in asked:
            allowed = optimizer._run.S & (optimizer._run.band.up[0] >= np.max(
                optimizer._run.band.low[0], where=optimizer._run.S, initial=-np.inf))
            sigma = optimizer.predict([p.point]).sigma[0, 0]
            assert sigma >= optimizer._run.band.doubt[allowed].max() - 1e-9
        asked.append(p.point)


@given(seed=st.integers(0, 10 ** 6), n=st.integers(1, 3),
       caution=st.sampled_from([0.0, 0.3, 0.7, 1.0]))
@settings(max_examples=15, deadline=None)
def test_no_maximiser_is_both_more_uncertain_and_more_promising(seed, n, caution):
    optimizer = make(n, caution=caution, lam=1e-4)
    start, h = problem(optimizer, seed)
    for p in loop(optimizer, h, start, 8):
        band, S = optimizer._run.band, optimizer._run.S
        sigma = optimizer._run.band.doubt
        chosen = np.flatnonzero((p.point == optimizer._run.X).all(axis=1))[-1]
        best = max(band.low[0, S])
        better = [i for i in np.flatnonzero(S) if band.up[0, i] >= best
                  and np.max(band.up[:, i] - band.low[:, i]) > optimizer.settings.tolerance
                  and sigma[i] > sigma[chosen] and band.up[0, i] > band.up[0, chosen]]
        assert not better


@given(seed=st.integers(0, 10 ** 6), n=st.integers(1, 4), rule=RULES)
@settings(max_examples=10, deadline=None)
def test_the_safe_start_stays_in_the_safe_set(seed, n, rule):
    optimizer = make(n, rule=rule)
    start, h = problem(optimizer, seed)
    for _ in loop(optimizer, h, start, 6):
        assert optimizer._run.S[optimizer._run.starts].all()
        np.testing.assert_array_equal(optimizer._run.X[optimizer._run.starts], start[None])


@pytest.mark.parametrize('known', [False, True])
@pytest.mark.parametrize('n', [1, 4])
def test_same_seed_same_proposals(known, n):
    runs = []
    for _ in range(2):
        optimizer = make(n, known=known, seed=3)
        start, h = problem(optimizer, 1)
        runs.append(list(loop(optimizer, h, start, 6)))
    assert runs[0] == runs[1]
    assert len(runs[0]) == 6


CONTINUE = """
import json, sys
from pacsbo_ros.core import SafeOptimizer
optimizer = SafeOptimizer.from_record(json.load(sys.stdin))
print(optimizer.ask())
"""


@pytest.mark.parametrize(('n', 'rule'), [
    (1, 'scale_free'), (4, 'scale_free'), (2, 'hoeffding'), (2, 'given'), (2, 'scenario')])
def test_a_record_continues_identically_in_another_process(n, rule):
    optimizer = make(n, known=rule == 'given', seed=5, **(
        {} if rule == 'given' else {'rule': rule}))
    start, h = problem(optimizer, 2)
    for _ in loop(optimizer, h, start, 5):
        pass
    text = json.dumps(optimizer.to_record())
    here = SafeOptimizer.from_record(json.loads(text))
    p = optimizer.ask()
    assert here.ask() == p
    assert here.state() == optimizer.state()
    there = subprocess.run([sys.executable, '-c', CONTINUE], input=text, text=True, check=True,
                           stdout=subprocess.PIPE)
    assert there.stdout.strip() == str(p)


def test_warm_start_is_the_same_as_telling_one_by_one():
    old = make(2)
    start, h = problem(old, 3)
    for _ in loop(old, h, start, 6):
        pass
    new = make(2)
    for x, y in zip(*old.samples, strict=True):
        new.tell(x, y)
    proposal = new.ask()
    assert not isinstance(proposal, NothingToPropose)
    assert proposal == old.ask()
    assert new.best() == old.best()


def test_reward_as_its_own_constraint_needs_one_output():
    optimizer = make(1, 0, reward_threshold=-0.5)
    for x in (0.4, 0.5, 0.6):
        optimizer.tell([x], [0.2 + x])
    p = optimizer.ask()
    assert len(p.means) == len(p.B) == 1
    assert p.lower[0] >= -0.5
    assert optimizer.safe([[0.5], [0.0]]).tolist() == [True, False]


def test_constraint_only_problems_expand_the_safe_set():
    optimizer = make(1, 2, reward=False, length_scales=0.2)
    for x in (0.4, 0.5, 0.6):
        optimizer.tell([x], [1.0, 1.5])
    first = optimizer.state().safe_share['box']
    for _ in range(6):
        p = optimizer.ask()
        assert p.role == 'expander'
        optimizer.tell(p.point, [1.0, 1.5])
    assert optimizer.state().safe_share['box'] > first
    assert optimizer.best().values == (1.0, 1.5)


def test_outputs_may_have_their_own_kernels():
    kernels = (Kernel('rbf', (0.5,)), Kernel('matern32', (0.1,), 2.0), Kernel('rbf', (0.5,)))
    optimizer = make(1, 2, output_kernels=kernels)
    start, h = problem(optimizer, 4)
    assert len(list(loop(optimizer, h, start, 5))) == 5
    band = optimizer.predict([[0.9]])
    assert band.sigma[0, 0] == band.sigma[2, 0] != band.sigma[1, 0]
    A, Y = optimizer.samples
    for i, k in enumerate(kernels):
        K = k(A, A) + optimizer.settings.lam * np.eye(len(A))
        mean = k(np.array([[0.9]]), A) @ np.linalg.solve(K, Y[:, i])
        assert band.mu[i, 0] == pytest.approx(mean[0], abs=1e-9)


def test_predict_agrees_with_the_bands_on_the_candidates():
    optimizer = make(2)
    start, h = problem(optimizer, 6)
    for _ in loop(optimizer, h, start, 5):
        pass
    optimizer.ask()
    band = optimizer.predict(optimizer._run.X)
    np.testing.assert_allclose(band.mu, optimizer._run.band.mu, atol=1e-9)
    np.testing.assert_allclose(band.low, optimizer._run.band.low, atol=1e-7)
    np.testing.assert_allclose(band.up, optimizer._run.band.up, atol=1e-7)
    np.testing.assert_array_equal(optimizer._run.S, optimizer.safe(optimizer._run.X))
    assert optimizer.hull_vertices().shape[1] == 2
    assert len(optimizer.hull_vertices(enlarged=True)) >= 3


def test_best_ignores_unsafe_samples():
    optimizer = make(1)
    assert optimizer.best() is None
    optimizer.tell([0.1], [5.0, -0.1])
    assert optimizer.best() is None
    optimizer.tell([0.2], [1.0, 0.3])
    optimizer.tell([0.24], [1.5, 0.3])
    optimizer.tell([0.28], [2.0, 0.3])
    assert (optimizer.best().point, optimizer.best().values) == ((0.28,), (2.0, 0.3))


def test_what_was_measured_safe_stays_the_best_when_the_safe_set_shrinks_before_it():
    optimizer = SafeOptimizer(Settings(length_scales=(0.3,), starts=2, noise_bound=0.02,
                                       candidates=60, scale_prior=0.5, scale_trust=8.0))
    for x in np.linspace(0.3, 0.66, 13):
        optimizer.tell([x], [x, 0.35], [0.02, 0.1])
    optimizer.tell([0.73], [0.7, -0.2], [1.0, 0.02])  # lost
    assert not optimizer.safe([[0.66]])[0]  # not to the small share of one experiment
    assert optimizer.best().point == (0.66,)


def test_a_safe_set_of_starts_alone_is_said_in_words():
    optimizer = make(1, known=True, noise_bound=1e-3, tolerance=2.0, length_scales=0.05)
    optimizer.tell([0.5], [0.0, 0.0])
    said = optimizer.ask()
    assert said.code == SAFE_SET_EMPTY
    assert 'no point besides the measured ones is known to be safe' in said.reason


def test_nothing_uncertain_is_said_in_words():
    optimizer = make(1, known=True, tolerance=100.0)
    optimizer.tell([0.5], [1.0, 1.0])
    said = optimizer.ask()
    assert said.code == NOTHING_UNCERTAIN
    assert 'tolerance = 100' in said.reason


def test_a_norm_that_grew_is_said_in_words():
    # A tolerance that closes every band, and a predictor that is far too low at first.
    codes = []
    for later in (1.0, 1e4):
        settings = Settings(candidates=400, length_scales=0.3, tolerance=1e9, domains=('box',),
                            rule='none')
        optimizer = SafeOptimizer(settings, 0, lambda history, s, d, later=later: (
            1.0 if len(history) == 1 else later))
        optimizer.tell([0.5], [1.0, 1.0])
        before = optimizer.state().safe_share['box']
        optimizer.tell([0.5], [1.0, 1.0])
        said = optimizer.ask()
        codes.append(said.code)
        shrunk = optimizer.state().safe_share['box'] < before
        assert shrunk == (later > 1.0)
    assert codes == [NOTHING_UNCERTAIN, ESTIMATE_GREW]
    assert 'the norm estimate grew' in said.reason


def test_no_start_and_an_unsafe_start_are_errors():
    with pytest.raises(ValueError, match='safe start: no sample'):
        make(1).ask()
    optimizer = make(1)
    optimizer.tell([0.5], [1.0, -0.25])
    with pytest.raises(ValueError, match=r'safe start: none of the 1 .*-0.25'):
        optimizer.ask()


@pytest.mark.parametrize(('point', 'values', 'message'), [
    ([0.5, 0.5], [1, 1], 'dimension is 1'),
    ([1.5], [1, 1], r'point is \[1.5\]'),
    ([np.nan], [1, 1], r'point is \[nan\]'),
    ([0.5], [1], 'give 2'),
    ([0.5], [1, np.inf], 'finite'),
])
def test_bad_samples_are_refused_and_leave_no_trace(point, values, message):
    optimizer = make(1)
    with pytest.raises(ValueError, match=message):
        optimizer.tell(point, values)
    assert len(optimizer.samples[0]) == 0


@pytest.mark.parametrize('B', [0.0, -1.0, np.nan, [1.0, np.inf]])
def test_the_settings_refuse_an_impossible_norm(B):
    with pytest.raises(ValueError, match='given_norm is'):
        Settings().with_norm(B)


def test_what_is_no_record_and_points_of_another_dimension_are_refused():
    optimizer = make(2)
    start, h = problem(optimizer, 0)
    optimizer.tell(start, h(start))
    for nothing in ({}, None):
        with pytest.raises(ValueError, match='it has no settings'):
            SafeOptimizer.from_record(nothing)
    with pytest.raises(ValueError, match='dimension is 2'):
        optimizer.predict([[0.5]])


def test_six_dimensions_run():
    optimizer = make(6, candidates=2000, length_scales=0.7)
    start, h = problem(optimizer, 8)
    assert len(list(loop(optimizer, h, start, 12))) == 12


def test_duplicated_samples_do_no_harm():
    optimizer = make(2, noise_bound=0.0, lam=1e-6)
    for _ in range(12):
        optimizer.tell([0.4, 0.6], [0.5, 0.5])
        optimizer.tell([0.4 + 1e-12, 0.6], [0.5, 0.5])
    band = optimizer.predict([[0.4, 0.6], [0.5, 0.5]])
    assert np.all(np.isfinite([band.low, band.up]))
    assert np.all(np.isfinite([e.B for e in optimizer.state().norms]))


def test_the_safe_share_is_one_of_the_box_wherever_the_candidates_crowd():
    optimizer = make(4, rule='student', length_scales=1.0, scale_prior=1.0, candidates=2000)
    for x in (0.45, 0.5, 0.55, 0.5, 0.6):
        optimizer.tell([x] * 4, [1.0, 1.0])
    known, even = optimizer.state(), np.random.default_rng(1).random((4000, 4))
    share = known.safe_share['box'] * known.domain_share['box']
    assert share > 0.03
    assert share == pytest.approx(optimizer.safe(even).mean(), abs=0.02)
