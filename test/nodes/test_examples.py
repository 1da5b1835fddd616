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

"""The examples, as their READMEs start them, only shorter."""
import ast
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='node tests need ROS 2: run them by make test')
from pacsbo_ros.robots.parameters.task import load
import yaml

pytestmark = pytest.mark.graph
EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
PATIENCE = 240.0  # s


def tune(folder, *words):
    """Run a bring-up to its end; return what it printed."""
    done = subprocess.run(
        [sys.executable, '-m', 'pacsbo_ros.nodes.run', f'run_dir:={folder / "run"}', *words],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, 'ROS_HOME': str(folder / 'home')})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


def best(folder):
    """Return the file of the best values."""
    return yaml.safe_load((folder / 'run' / 'best_gains.yaml').read_text())


@pytest.mark.parametrize(('name', 'duration'), [('joint_pid', 0.8), ('line_follower', 1.0)])
def test_a_node_that_knows_nothing_of_it_is_tuned_by_a_file(tmp_path, name, duration):
    folder = tmp_path / name
    shutil.copytree(EXAMPLES / name, folder)
    file = folder / 'task.yaml'
    assert len([line for line in file.read_text().splitlines()
                if line.strip() and not line.strip().startswith('#')]) <= 30
    code = ast.unparse(ast.parse((folder / f'{name}.py').read_text()))  # without the licence
    assert 'pacsbo' not in code
    data = yaml.safe_load(file.read_text())
    inner = data['/**']['ros__parameters']
    inner['episode'].update(duration=duration, settle=0.1)
    inner['optimizer'].update(iterations=4, candidates=200, start_repeats=0, verifications=1)
    for signal in inner['signals'].values():
        signal['timeout'] = 10.0  # a busy machine holds the node up
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    tune(tmp_path, f'task:={file}')
    task = load(file)
    values = next(iter(best(tmp_path).values()))['ros__parameters']
    assert set(values) == {t.parameter for t in task.tuned}
    for t in task.tuned:
        assert t.lower <= values[t.parameter] <= t.upper
    assert (tmp_path / 'run' / 'originals.yaml').is_file()
    assert not (tmp_path / 'run' / 'target_changed').exists()


def test_a_python_class_is_tuned(tmp_path):
    pytest.importorskip('mujoco', reason='the cart-pole is simulated by MuJoCo')
    shutil.copy(EXAMPLES / 'cart_pole' / 'cart_pole.py', tmp_path)
    patient = tmp_path / 'patient.yaml'  # a busy machine holds the nodes up
    patient.write_text('/**/safety_monitor: {ros__parameters: '
                       '{state_timeout: 10.0, heartbeat_timeout: 10.0}}')
    tune(tmp_path, 'robot:=cart_pole:CartPole', 'iterations:=7', f'params_file:={patient}')
    assert best(tmp_path)
