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

"""A short version of the guarantee study: safe where it promises, and not by standing still."""

import json

import numpy as np
import pytest
from studies import guarantee


@pytest.fixture(scope='module')
def outcomes():
    methods = ('scale_free', 'SafeOpt, true norm', 'SafeOpt, B = 0.4')
    return {m: guarantee.study(m, guarantee.Plan(1, 15), 24) for m in methods}


def test_default_bound_is_safe_and_explores(outcomes):
    row = guarantee.summary(outcomes['scale_free'])
    assert row['unsafe'] <= 2 / 24  # delta is 0.1; the long study measures the share
    assert row['left_mean'] < 0.8
    assert np.min([o.left for o in outcomes['scale_free']]) < 0.05


def test_true_norm_is_safe_and_a_guess_far_too_small_is_not(outcomes):
    assert guarantee.summary(outcomes['SafeOpt, true norm'])['unsafe'] == 0
    assert guarantee.summary(outcomes['SafeOpt, true norm'])['below'] == 0
    small = guarantee.summary(outcomes['SafeOpt, B = 0.4'])
    assert small['unsafe'] > 0.3
    assert small['below'] == 1


def test_two_dimensions_run():
    (outcome,) = guarantee.study('scale_free', guarantee.Plan(2, 4), 1)
    assert 4 <= outcome.samples <= 7  # it may have nothing safe to propose
    assert outcome.unsafe == 0


def test_command_writes_table_and_data(tmp_path, capsys):
    guarantee.main(['--functions', '2', '--samples', '2', '--dimensions', '1', '--workers', '1',
                    '--methods', 'mean', 'SafeOpt, B = 10', '--out', str(tmp_path)])
    table = (tmp_path / 'n1.md').read_text()
    assert '| mean | 2 |' in table
    assert table.strip() in capsys.readouterr().out
    data = json.loads((tmp_path / 'n1_mean.json').read_text())
    assert len(data['runs']) == data['summary']['runs'] == 2
