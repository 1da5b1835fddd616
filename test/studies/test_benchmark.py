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

import numpy as np
import pytest
from studies.benchmark import __main__ as benchmark
from studies.benchmark.cell import run, summary
from studies.benchmark.method import METHODS, Told
from studies.benchmark.problems import digest, problem, PROBLEMS
from studies.reachable import reachable_best

FROZEN = json.loads((Path(benchmark.__file__).parent / 'frozen.json').read_text())
CHEAP = ('assumed, n = 1', 'LoSBO rbf', 'camelback', 'drift, n = 1', 'ell x 4, n = 1')


@pytest.mark.parametrize('name', CHEAP)
def test_a_problem_is_what_it_was_when_it_was_frozen(name):
    assert digest(name) == FROZEN[name]


def test_every_problem_is_frozen():
    assert set(FROZEN) == set(PROBLEMS)


@pytest.mark.parametrize('name', CHEAP)
def test_starts_are_safe_and_the_reachable_optimum_is_between_them_and_the_best(name):
    p = problem(name, 1)
    values = p.h(p.starts)
    assert np.all(values >= p.threshold)
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


def test_a_method_is_not_told_the_function():
    told = Told.of(problem('assumed, n = 1', 0))
    assert not any(callable(value) for value in (told.threshold, told.norm, told.lipschitz))
    assert math.isfinite(told.norm)
    assert 'pacsbo' in METHODS


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


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        benchmark.main(['--methods', 'pasbo'])
    assert "'pacsbo'" in capsys.readouterr().err
