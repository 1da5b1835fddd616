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

import json
import math

import numpy as np
from pacsbo_ros.core import SafeOptimizer, Settings
from pacsbo_ros.core.local_norms import LocalNorms, TrueNorms
from pacsbo_ros.core.rkhs import local_norm
import pytest
from studies import figures, safety
from studies.baselines import constant_beta, random_search
from studies.worlds import HOLDS, make_world, NOISE, points, WORLDS


@pytest.mark.parametrize('n', [1, 2, 4])
@pytest.mark.parametrize('name', WORLDS)
def test_a_world_starts_safe_and_is_the_same_twice(name, n):
    world, again = make_world(name, n, 5), make_world(name, n, 5)
    H = world.h(points(n))
    assert np.array_equal(H, again.h(points(n)))
    assert np.all(world.h(world.starts) >= world.threshold)
    assert np.mean(world.threshold > H) == pytest.approx(0.3, abs=0.01)
    assert world.best > max(world.h(world.starts))


@pytest.mark.parametrize('name', HOLDS)
def test_where_the_assumptions_hold_the_norm_is_the_norm(name):
    world = make_world(name, 1, 2)
    X = points(1)[::3]
    shown = local_norm(world.kernel, X, world.h(X))
    assert 0.5 * world.norm < shown <= world.norm * (1 + 1e-6)


def test_noise_is_what_its_world_says():
    rng = np.random.default_rng(0)
    x = np.array([1.0])
    spread = {name: np.array([make_world(name, 1, 0).noise(x, rng) for _ in range(400)])
              for name in ('assumed', 'heavy tails', 'uneven noise')}
    assert spread['assumed'].std() == pytest.approx(NOISE, rel=0.15)
    assert spread['uneven noise'].std() == pytest.approx(5 * NOISE, rel=0.15)
    assert np.abs(spread['heavy tails']).max() > 6 * NOISE


def test_a_jump_makes_the_values_jump():
    def steepest(name):
        return np.median([np.abs(np.diff(make_world(name, 1, i).h(points(1)))).max()
                          / np.ptp(make_world(name, 1, i).h(points(1))) for i in range(8)])
    assert steepest('jump') > 5 * steepest('assumed')


def settings(world):
    return Settings(rule='scale_free', constraints=0, reward_threshold=world.threshold,
                    noise_bound=NOISE, length_scales=world.kernel.length_scales,
                    candidates=200)


def truth(world):
    return LocalNorms(world.h, world.norm, np.random.default_rng(0))


def test_the_users_safeopt_has_a_constant_band():
    world = make_world('assumed', 1, 0)
    optimizer = safety.make_optimizer('SafeOpt, β = 2', world, truth(world), 1, 0)
    for x in world.starts:
        optimizer.tell(x, world.h(x[None]))
    band = optimizer.predict(points(1))
    assert band.up - band.mu == pytest.approx(2 * band.sigma)
    assert optimizer.settings.lam == NOISE ** 2
    assert constant_beta(settings(world)).noise_bound == 0


def test_random_search_repeats_itself_and_fills_the_box():
    world = make_world('assumed', 1, 0)
    first, second = (SafeOptimizer(settings(world), 4, choice=random_search) for _ in range(2))
    seen = []
    for optimizer in (first, second):
        optimizer.tell([0.5], [world.threshold + 1])
    for _ in range(40):
        seen.append(first.ask().point)
        assert second.ask().point == seen[-1]
        first.tell(seen[-1], [world.threshold + 1])
        second.tell(seen[-1], [world.threshold + 1])
    assert min(seen) < (0.15,)
    assert max(seen) > (0.85,)


def test_the_oracle_knows_norms_that_grow_with_the_domain():
    world = make_world('assumed', 1, 0)
    oracle = SafeOptimizer(settings(world), rule=TrueNorms.of(truth(world)))
    for x in world.starts:
        oracle.tell(x, world.h(x[None]))
    hull, enlarged, box = (e.B for e in oracle.state().norms)
    assert local_norm(world.kernel, world.starts, world.h(world.starts)) <= hull * (1 + 1e-9)
    assert hull <= enlarged * (1 + 1e-6)
    assert enlarged <= box == world.norm


def test_a_run_repeats_itself_and_random_search_is_caught():
    key = {'world': 'assumed', 'n': 1, 'index': 3, 'draw': 0}
    first, second = (safety.run({**key, 'method': 'scale_free'}) for _ in range(2))
    assert {**first, 'ms': 0} == {**second, 'ms': 0}
    assert 0 <= first['left'] <= first['left_early'] <= 1
    assert safety.run({**key, 'method': safety.RANDOM})['unsafe'] > 0


def test_the_study_is_resumed_and_reported(tmp_path, monkeypatch, capsys):
    call = ['--functions', '2', '--draws', '1', '--dimensions', '1', '--worlds', 'assumed',
            '--methods', 'scale_free', 'oracle', 'random search', '--workers', '1', '--out',
            str(tmp_path)]
    assert safety.main(call) == 0
    text = capsys.readouterr().out
    assert '| random search | 2 | 100 %' in text
    assert all((tmp_path / f'{name}.png').is_file() for name in ('safety', 'bounds'))
    monkeypatch.setattr(safety, 'run', lambda key: pytest.fail(f'{key} was made again'))
    assert safety.main(call) == 0
    assert capsys.readouterr().out == text


def test_the_quick_study_shows_safe_progress_without_knowing_the_norm(tmp_path):
    assert safety.main(['--quick', '--out', str(tmp_path)]) == 0
    made = json.loads((tmp_path / 'quick' / 'safety.json').read_text())['cells']
    found = {(c['world'], c['n'], c['method']): c for c in made}
    assert len(found) == 4 * 10 - 2  # there is no oracle where the function jumps
    for n in (1, 2):
        ours, cautious, random = (found['assumed', n, name] for name in (
            safety.DEFAULT, 'SafeOpt, B = 5 norm', safety.RANDOM))
        assert ours['unsafe'] <= 1 < random['unsafe']
        assert ours['left_mean'] < cautious['left_mean']


def cell(unsafe, runs):
    return {'unsafe': unsafe, 'runs': runs}


def test_a_refuted_guarantee_is_named():
    few, many = cell(3, 12), cell(200, 1000)
    assert safety.verdict({('assumed', 1): {safety.DEFAULT: few}}) == []
    assert len(safety.verdict({('assumed', 1): {safety.DEFAULT: many}})) == 1
    assert safety.verdict({('jump', 1): {safety.DEFAULT: many}}) == []
    assert safety.verdict({('assumed', 1): {safety.RANDOM: many}}) == []


def test_summaries_pair_runs_by_function():
    def group(*left):
        return [{'index': i, 'draw': 0, 'left': v, 'left_early': v, 'unsafe': 0, 'below': False,
                 'explored': 0.5, 'stuck': '', 'ms': 1.0} for i, v in enumerate(left)]
    made = safety.summary(group(0.4, 0.6), group(0.2, 0.3), group(0.3, 0.4))
    assert made['over_oracle'] == pytest.approx(2.0)
    assert made['paired'] == pytest.approx(0.15)
    assert math.isnan(safety.summary(group(0.4), [], [])['over_oracle'])


def test_a_figure_is_drawn_with_its_numbers(tmp_path, capsys):
    figures.main(['--figures', 'fig1', '--workers', '1', '--out', str(tmp_path)])
    assert (tmp_path / 'fig1_norms.png').stat().st_size > 10_000
    assert (tmp_path / 'fig1_norms.pdf').is_file()
    assert 'Fig. 1' in capsys.readouterr().out
