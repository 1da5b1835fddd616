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

"""What was measured for a rule is shipped as data, with its hash and its command."""

import json

from pacsbo_ros.core import calibrated, SafeOptimizer, Settings
import pytest
from studies.calibrate import CASES, limit, wanted


@pytest.mark.parametrize(('name', 'factors'), [('student', (1.0,)), ('averaged', (0.5, 1.0))])
def test_the_rule_takes_what_the_shipped_file_says(name, factors):
    found = calibrated.calibrated(name)
    optimizer = SafeOptimizer(Settings(length_scale_factors=factors, candidates=10))
    assert optimizer._run.rule.nominal == found.nominal
    assert found.command.endswith('averaged') == (name == 'averaged')
    assert all(kind['limit'] <= found.delta for kind in found.starts.values())
    assert set(found.starts) == {'three', 'one', 'edge', 'many'}
    assert found.confidence == 0.95


def test_a_file_that_was_changed_by_hand_is_refused(monkeypatch, tmp_path):
    path = calibrated.files('pacsbo_ros.core').joinpath('calibration', 'student.json')
    data = json.loads(path.read_text(encoding='utf-8'))
    data['nominal'] = 0.5
    (tmp_path / 'calibration').mkdir()
    (tmp_path / 'calibration' / 'student.json').write_text(json.dumps(data), encoding='utf-8')
    monkeypatch.setattr(calibrated, 'files', lambda name: tmp_path)
    with pytest.raises(ValueError, match='hash'):
        calibrated.calibrated('student')


def test_the_limit_is_that_of_the_binomial_distribution():
    assert limit(0, 100, 0.05) == pytest.approx(1 - 0.05 ** 0.01)
    assert limit(5, 5, 0.05) == 1.0


def test_every_world_and_dimension_is_in_the_runs_of_every_kind():
    found = {(k['world'], k['n']) for k in wanted(CASES['told'], 0.03, 'edge', 12)}
    assert len(found) == 6
    found = {(k['world'], k['n'], k['truth']) for k in wanted(
        CASES['averaged'], 0.03, 'edge', 36)}
    assert len(found) == 24
