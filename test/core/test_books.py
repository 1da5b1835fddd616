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

"""The books: delta adds up, questions change nothing, a tell that fails leaves no trace."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import gp, NothingToPropose, RULES, SafeOptimizer, Settings, student
from pacsbo_ros.core.ledger import Ledger
import pytest

FAST = {'candidates': 60, 'library_size': 400, 'draws_high': 200, 'reference_points': 4,
        'length_scales': 0.3, 'noise_bound': 1e-3, 'lam': 3e-4}


def made(rule='scale_free', seed=0, **changes):
    s = Settings(**{**FAST, **changes})
    if rule == 'given':
        return SafeOptimizer(s.with_norm(3.0), seed)
    word = (lambda history, settings, domain: 2.0) if rule == 'none' else None
    return SafeOptimizer(s.replace(rule=rule), seed, word)


def answer(x, outputs):
    return [1.0 - 0.5 * float(np.sum((np.asarray(x) - 0.4) ** 2)) + 0.01 * i
            for i in range(outputs)]


def told(optimizer, count, n=1):
    rng = np.random.default_rng(0)
    for x in rng.uniform(0.3, 0.7, (count, n)):
        optimizer.tell(x, answer(x, optimizer.settings.outputs))
    return optimizer


# Delta ----------------------------------------------------------------------------------------

@pytest.mark.parametrize('rule', list(RULES))
@pytest.mark.parametrize('outputs', [1, 2, 3, 4])
def test_the_books_never_exceed_delta(rule, outputs):
    """Look at the books of one long run after 5, 30, 100 and 300 samples of forty points."""
    optimizer = made(rule, constraints=outputs - 1, reward_threshold=0.1, domains=('hull', 'box'),
                     max_samples=300, centres=20, candidates=10)
    points = np.random.default_rng(0).uniform(0.3, 0.7, 40)
    for count in range(1, 301):
        x = points[(count * count) % 40:][:1] if count > 40 else points[count - 1:count]
        optimizer.tell(x, answer(x, outputs))
        if count in (5, 30, 100, 300):
            state = optimizer.state()
            assert sum(e.amount for e in state.entries) == pytest.approx(state.spent)
            assert 0 < state.spent <= state.delta * (1 + 1e-9)
    assert all(e.amount > 0 and e.who and e.purpose for e in state.entries)
    assert [e.samples for e in state.entries] == sorted(e.samples for e in state.entries)


def test_the_books_refuse_what_delta_does_not_cover():
    ledger = Ledger(0.1)
    ledger.spend('a rule', 'something', 3, 0.06)
    with pytest.raises(ValueError, match=r'a rule wants 0.05 of delta for more; 0.04 of 0.1'):
        ledger.spend('a rule', 'more', 4, 0.05)
    assert (ledger.spent, len(ledger.entries)) == (0.06, 1)


def test_hoeffding_may_spend_its_whole_share():
    first = told(made('hoeffding', domains=('box',)), 1).state()
    tests = [e.amount for e in first.entries if e.who == 'hoeffding']
    assert tests[0] == pytest.approx(0.9 * 0.1 * 6 / np.pi ** 2)


# Questions ------------------------------------------------------------------------------------

QUESTIONS = {
    'ask': lambda o: o.ask(), 'state': lambda o: o.state(), 'best': lambda o: o.best(),
    'predict': lambda o: o.predict([[0.1] * o.settings.dimension]),
    'safe': lambda o: o.safe([[0.9] * o.settings.dimension]), 'hull': lambda o: o.hull,
    'corners': lambda o: o.hull_vertices(), 'samples': lambda o: o.samples,
    'record': lambda o: o.to_record(), 'notices': lambda o: o.notices}


@given(seed=st.integers(0, 10 ** 6), n=st.sampled_from([1, 2, 4]),
       rule=st.sampled_from(sorted(RULES)),
       orders=st.lists(st.lists(st.sampled_from(sorted(QUESTIONS)), max_size=6), min_size=6,
                       max_size=6))
@settings(max_examples=12, deadline=None)
def test_questions_in_any_order_change_no_proposal(seed, n, rule, orders):
    curious, silent = (made(rule, seed % 7, dimension=n) for _ in range(2))
    rng = np.random.default_rng(seed)
    for x in rng.uniform(0.3, 0.6, (3, n)):
        for optimizer in (curious, silent):
            optimizer.tell(x, answer(x, 2))
    for questions in orders:
        for name in questions:
            QUESTIONS[name](curious)
        first, second = curious.ask(), silent.ask()
        assert first == second == curious.ask()
        x = rng.uniform(0.3, 0.6, n) if isinstance(first, NothingToPropose) else first.point
        for optimizer in (curious, silent):
            optimizer.tell(x, answer(x, 2))
    assert curious.state() == silent.state()


# Failures -------------------------------------------------------------------------------------

def break_predictor(monkeypatch, optimizer, error):
    working = optimizer.predictor
    calls = iter([False, True])

    def predictor(history, settings, domain):
        if next(calls, False):
            raise error
        return working(history, settings, domain)
    monkeypatch.setattr(optimizer._run.rule, 'predictor', predictor)


def break_algebra(monkeypatch, optimizer, error):
    def broken(*_, **__):
        raise error
    monkeypatch.setattr(gp.GaussianProcess, 'mean_norms', broken)


def break_growth(monkeypatch, optimizer, error):
    def broken(*_, **__):
        raise error
    monkeypatch.setattr(gp.Posterior, 'extend', broken)


def break_posterior(monkeypatch, optimizer, error):
    def broken(*_, **__):
        raise error
    monkeypatch.setattr(student.Student, 'update', broken)


def break_scale(monkeypatch, optimizer, error):
    def broken(*_, **__):
        raise error
    monkeypatch.setattr('pacsbo_ros.core.averaged.posteriors_of_scale', broken)


def break_set(monkeypatch, optimizer, error):
    def broken(*_, **__):
        raise error
    monkeypatch.setattr('pacsbo_ros.core.run.safe_by_band', broken)


@pytest.mark.parametrize('error', [MemoryError('no room'), np.linalg.LinAlgError('singular'),
                                   KeyboardInterrupt(), RuntimeError('η')], ids=lambda e: type(e)
                         .__name__)
@pytest.mark.parametrize(('rule', 'how'), [
    *(('scale_free', how) for how in (break_predictor, break_algebra, break_growth, break_set)),
    *(('student', how) for how in (break_posterior, break_scale, break_set))])
def test_a_tell_that_fails_leaves_everything_as_it_was(monkeypatch, rule, how, error):
    word = (lambda history, s, domain: 1.0) if rule == 'scale_free' else None
    optimizer = SafeOptimizer(made(rule, dimension=2).settings, 0, word)
    told(optimizer, 5, n=2)
    before = optimizer.ask(), optimizer.state(), optimizer.to_record()
    with monkeypatch.context() as broken:
        how(broken, optimizer, error)
        with pytest.raises(type(error)):
            optimizer.tell([0.5, 0.5], [1.0, 1.0])
    assert (optimizer.ask(), optimizer.state(), optimizer.to_record()) == before
    optimizer.tell([0.5, 0.5], [1.0, 1.0])
    other = SafeOptimizer(optimizer.settings, 0, word)
    told(other, 5, n=2).tell([0.5, 0.5], [1.0, 1.0])
    assert optimizer.ask() == other.ask()
