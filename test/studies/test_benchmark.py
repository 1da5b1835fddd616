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

"""The benchmark: problems that stay what they are, methods that can be asked and told."""
import json
import math
from pathlib import Path
import subprocess
import sys
import time

import numpy as np
import pytest
from studies.benchmark import __main__ as benchmark
from studies.benchmark import hardware, report
from studies.benchmark.cell import memory, run, summary
from studies.benchmark.groups import GROUPS
from studies.benchmark.method import METHODS, Told, Unable
from studies.benchmark.pendulum import GRID, KINDS, kinds, known
from studies.benchmark.problems import digest, problem, PROBLEMS
from studies.reachable import reachable_best

FROZEN = json.loads((Path(benchmark.__file__).parent / 'frozen.json').read_text())
CHEAP = ('assumed, n = 1', 'LoSBO rbf', 'camelback', 'drift, n = 1', 'ell x 4, n = 1', *KINDS)


@pytest.mark.parametrize('name', CHEAP)
def test_a_problem_is_what_it_was_when_it_was_frozen(name):
    assert digest(name) == FROZEN[name]


def test_every_problem_is_frozen():
    assert set(FROZEN) == set(PROBLEMS)


@pytest.mark.parametrize('name', CHEAP)
def test_starts_are_safe_and_the_reachable_optimum_is_between_them_and_the_best(name):
    p = problem(name, 1)
    values, rng = p.h(p.starts), np.random.default_rng(0)
    assert all(p.experiment(x, 0, rng).margin >= 0 for x in p.starts)
    assert values.max() <= p.reachable + 1e-9
    assert p.reachable <= p.best + 1e-9


def test_what_lies_behind_an_unsafe_gap_is_not_reachable():
    X = np.linspace(0, 1, 101)[:, None]
    H = np.where(X[:, 0] < 0.5, 1.0, 3.0)
    H[45:50] = -1.0  # the gap
    start = np.array([[0.2]])
    assert reachable_best(X, H, 0.0, start, np.array([1.0]), 101) == 1.0
    H[45:50] = 0.1
    assert reachable_best(X, H, 0.0, start, np.array([1.0]), 101) == 3.0


def test_known_surfaces_have_their_textbook_optima():
    hartmann, camelback = problem('hartmann', 0), problem('camelback', 0)
    peak = np.array([[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]])
    assert hartmann.h(peak)[0] == pytest.approx(1.0, abs=1e-4)
    at = np.array([[(0.0898 + 2) / 4, (-0.7126 + 1) / 2]])
    assert camelback.h(at)[0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize('name', ['LoSBO, true L', 'StageOpt, β = 2', 'random search', 'pacsbo',
                                  'SafeOpt, B = norm', 'SafeOpt, β = 2'])
def test_a_method_runs_to_the_end_and_is_judged_by_the_true_function(name):
    result = run({'problem': 'assumed, n = 1', 'method': name, 'index': 3})
    assert 'broke' not in result
    assert set(result['left']) == {'10', '20', '30'}
    assert all(left >= 0.0 for left in result['left'].values())
    assert (result['worst'] is not None and result['worst'] < 0) == (result['unsafe'] > 0)


def test_random_search_is_unsafe_and_a_told_lipschitz_constant_is_not():
    cells = {m: summary([run({'problem': 'assumed, n = 1', 'method': m, 'index': i})
                         for i in range(6)]) for m in ('random search', 'LoSBO, true L')}
    assert cells['random search']['unsafe_runs'] == 6
    assert cells['LoSBO, true L']['unsafe_runs'] == 0
    assert cells['LoSBO, true L']['unsafe_interval'][0] == 0.0


def test_a_method_that_cannot_run_says_so_in_its_cell():
    result = run({'problem': 'hartmann', 'method': 'LoSBO, true L', 'index': 0})
    assert 'too coarse' in summary([result])['unable']


def test_a_method_that_cannot_run_on_one_problem_is_not_left_out(monkeypatch, tmp_path, capsys):
    class Picky:

        def __init__(self, told, seed):
            raise Unable('it needs two parameters or more')

    monkeypatch.setitem(METHODS, 'picky', Picky)
    assert benchmark.main(['--runs', '3', '--problems', 'assumed, n = 1', '--methods', 'picky',
                           '--out', str(tmp_path), '--workers', '1']) == 0
    assert 'it needs two parameters or more' in capsys.readouterr().out
    assert len((tmp_path / 'runs.jsonl').read_text().splitlines()) == 1  # once is enough


def test_a_method_is_not_told_the_function():
    told = Told.of(problem('assumed, n = 1', 0))
    assert not any(callable(value) for value in (told.threshold, told.norm, told.lipschitz))
    assert math.isfinite(told.norm)
    assert 'pacsbo' in METHODS


def test_two_processes_know_the_methods(tmp_path):
    done = subprocess.run(
        [sys.executable, '-m', 'studies.benchmark', '--runs', '2', '--problems', 'LoSBO rbf',
         '--methods', 'random search', 'SafeOpt, B = norm', '--out', str(tmp_path),
         '--workers', '2'], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len((tmp_path / 'runs.jsonl').read_text().splitlines()) == 4


def test_the_command_resumes_and_reports(tmp_path, capsys):
    words = ['--runs', '2', '--problems', 'assumed, n = 1', '--methods', 'random search',
             'LoSBO, true L', '--out', str(tmp_path), '--workers', '1']
    assert benchmark.main(words) == 0
    lines = (tmp_path / 'runs.jsonl').read_text().splitlines()
    assert benchmark.main(words) == 0
    assert (tmp_path / 'runs.jsonl').read_text().splitlines() == lines
    assert 'Clopper' in capsys.readouterr().out
    cells = json.loads((tmp_path / 'benchmark.json').read_text())['cells']
    assert {c['method'] for c in cells} == {'random search', 'LoSBO, true L'}


def test_the_quick_version_takes_less_than_three_minutes(tmp_path, capsys):
    begun = time.process_time()
    assert benchmark.main(['--quick', '--workers', '1', '--out', str(tmp_path)]) == 0
    assert time.process_time() - begun < 180
    text = capsys.readouterr().out
    for name in (*benchmark.QUICK['problems'], *benchmark.QUICK['methods']):
        assert name in text
    assert {'both.png', 'safety.png', 'regret.png', 'pace.png'} <= {
        path.name for path in tmp_path.iterdir()}


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        benchmark.main(['--methods', 'pasbo'])
    assert "'pacsbo'" in capsys.readouterr().err


@pytest.mark.parametrize('name', KINDS)
def test_the_map_of_the_pendulum_is_that_of_the_plant(name):
    kind, p = kinds()[name], problem(name, 0)
    rng = np.random.default_rng(0)
    trials = [p.experiment(x, 0, rng) for x in p.starts for _ in range(3)]
    assert all(t.margin >= 0 for t in trials)
    assert all(len(t.told) == 1 + kind.constraints for t in trials)
    told = np.array([t.told[0] for t in trials]).reshape(len(p.starts), 3).mean(axis=1)
    assert told == pytest.approx(p.h(p.starts), abs=0.4)  # a limit cycle spreads by that much


def test_the_best_gains_of_the_map_are_as_good_as_it_says():
    p = problem('pendulum', 0)
    _, X, reward, margin = known('pendulum')
    assert X.shape == (GRID ** 2, 2)
    best = X[int(np.argmax(np.where(margin.ravel() >= 0, reward, -9.0)))]
    trial = p.experiment(best, 0, np.random.default_rng(1))
    assert trial.told[0] == pytest.approx(p.best, abs=0.15)
    assert trial.margin > 0


@pytest.mark.parametrize('name', ['StageOpt, β = 2', 'LoSBO, true L', 'tubes of drawn functions',
                                  'cubes with scenario norms', 'pacsbo, size told'])
def test_a_method_minds_every_constraint(name):
    """Two constraints of which one forbids what the other one allows."""
    told = Told(1, 1, 0.0, 12, 0.01, problem('assumed, n = 1', 0).kernel, math.nan, 4.0, 2)
    method = METHODS[name](told, 0)
    seen = []
    x = np.array([0.5])
    for _ in range(8):
        y = np.array([x[0], 2 * (0.7 - x[0]), 2 * (x[0] - 0.3)])
        seen.append(y)
        method.tell(x, y)
        x = method.ask()
        if x is None:
            break
    assert np.min(seen) >= -1e-9
    assert len(seen) > 1


def test_a_cell_has_all_its_runs_if_they_are_short_and_some_if_not():
    assert benchmark.fitting([], 20.0) == benchmark.LEAST
    assert benchmark.fitting([{'unable': 'why'}], 20.0) == 1
    assert benchmark.fitting([{'seconds': 0.3}] * 5, 20.0) == math.inf
    assert benchmark.fitting([{'seconds': 2.0}] * 5, 20.0) == 10
    assert benchmark.fitting([{'seconds': 60.0}] * 5, 20.0) == benchmark.LEAST


def test_a_package_that_breaks_ends_its_run_and_is_named(monkeypatch):
    class Broken:

        def __init__(self, told, seed):
            self.count = 0

        def ask(self):
            self.count += 1
            if self.count == 3:
                raise FloatingPointError('not a number')
            return np.array([0.5])

        def tell(self, x, y):
            pass

    monkeypatch.setitem(METHODS, 'broken', Broken)
    result = run({'problem': 'assumed, n = 1', 'method': 'broken', 'index': 0})
    assert result['samples'] == 5
    assert 'FloatingPointError' in report.table({'broken': summary([result])})


def result(left, unsafe=0):
    return {'unsafe': unsafe, 'left': {'30': left}, 'samples': 30, 'worst': 0.1, 'best': 1.0,
            'ms': 1.0, 'seconds': 0.1}


def test_who_beats_us_is_safe_and_clearly_better_on_the_same_problems():
    spread = [0.01 * (i % 3) for i in range(12)]
    runs = {('assumed, n = 1', m): {i: result(left + s, unsafe) for i, s in enumerate(spread)}
            for m, left, unsafe in (('pacsbo', 0.4, 0), ('LoSBO, true L', 0.2, 0),
                                    ('random search', 0.0, 3), ('SafeOpt, B = norm', 0.395, 0))}
    found = report.lost(runs, report.condense(runs))
    assert [f['method'] for f in found] == ['LoSBO, true L']
    assert found[0]['better_by'] == pytest.approx(0.2)


def test_every_problem_is_in_one_group():
    assert sorted(p for some in GROUPS.values() for p in some) == sorted(PROBLEMS)


def test_memory_is_that_of_a_process_of_its_own():
    found = memory({'problem': 'assumed, n = 1', 'method': 'random search'})
    assert 30 < found['mib'] < 2000


def test_the_authors_run_is_the_published_one(capsys):
    hardware.main(['--runs', '1', '--methods', 'StageOpt, β = 2'])
    theirs, ours = capsys.readouterr().out.splitlines()[2:]
    for published in ('0.934', '0.995', '| 13 |', '0.411', '0 of 1'):
        assert published in theirs
    assert 'simulated | 1 |' in ours
