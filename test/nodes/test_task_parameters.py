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

"""What a task file may say to the optimiser is what the optimiser knows."""
from pathlib import Path

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='the table of parameters needs ROS 2')
from pacsbo_ros.nodes import run
from pacsbo_ros.nodes.tuning_parameters import PARAMETERS
from pacsbo_ros.robots.parameters.task import OPTIMIZER

GOOD = Path(__file__).parents[2] / 'examples/joint_pid/task.yaml'


def test_every_key_of_the_optimizer_section_is_a_parameter_of_that_type():
    known = {p.name: p.default for p in PARAMETERS}
    for name, value in OPTIMIZER.items():
        assert name in known, name
        assert type(value) is type(known[name]), name


@pytest.mark.parametrize(('words', 'said'), [
    (['task:=/no/such/file.yaml'], 'there is no such file'), (['task:='], 'give either'),
    (['task:={}', 'robot:=a:B'], 'give either'), (['task:={}', 'speed:=2'], 'unknown argument'),
    (['task:={}'], "did you mean 'task'"), (['task:={}', 'iterations:=x'], 'whole number'),
    (['task:={good}', 'iterations:=' + 30 * '9'], '1 to 10000'),
    (['task:={good}', 'params_file:={params}'], 'delta is decided by'),
    (['task:={}', 'iterations:=3', 'iterations:=4'], 'twice'),
    (['robot:=nothing:Here'], 'nothing'), (['robot:=nothing'], 'my_module:MyRobot')])
def test_a_wrong_bring_up_is_one_line_and_starts_nothing(tmp_path, monkeypatch, capsys, words,
                                                         said):
    path = tmp_path / 'task.yaml'
    path.write_text('/**: {ros__parameters: {taks: joint}}')
    params = tmp_path / 'params.yaml'
    params.write_text('/**/pacsbo_optimizer: {ros__parameters: {delta: 0.05}}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run.subprocess, 'Popen', pytest.fail)
    assert run.main([word.format(path, good=GOOD, params=params) for word in words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / 'runs').exists()
