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

"""The process table, and both programs that are made from it."""
from dataclasses import replace
import json
from pathlib import Path
import re
import signal
import subprocess
import sys
import threading

from pacsbo_ros.nodes import bringup, run
from pacsbo_ros.robots.furuta.presets import STARTS
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0  # s that a run may take


def table(**given):
    values = bringup.resolve(given)
    return {p.name: p for p in bringup.processes(values, ROOT)}


def test_the_graph_has_its_three_essential_processes():
    essential = [name for name, p in table().items() if p.essential]
    assert essential == ['safety_monitor', 'furuta_controller', 'pacsbo_optimizer']


def test_only_a_simulated_plant_arms_itself_and_runs_faster_than_time():
    simulated = table(speed='7')
    assert simulated['safety_monitor'].parameters['auto_arm'] is True
    assert simulated['furuta_controller'].parameters['speed'] == 7.0
    assert table(speed='max')['furuta_controller'].parameters['speed'] == 0.0
    real = table(plant='topics')
    assert real['safety_monitor'].parameters['auto_arm'] is False
    assert real['furuta_controller'].parameters['speed'] == 1.0


def test_a_preset_brings_its_starts_to_a_simulation_and_to_nothing_else(tmp_path):
    assert table(preset='qube3')['furuta_controller'].parameters['preset'] == 'qube3'
    qube3 = [k for gains in STARTS['qube3'] for k in gains]
    assert table(preset='qube3')['pacsbo_optimizer'].parameters['start'] == qube3
    assert 'start' not in table()['pacsbo_optimizer'].parameters
    assert 'start' not in table(preset='qube3', plant='topics')['pacsbo_optimizer'].parameters
    text = (ROOT / 'config' / 'furuta.yaml').read_text()
    assert [k for gains in STARTS['calibrated'] for k in gains] == yaml.safe_load(text)[
        '/**/pacsbo_optimizer']['ros__parameters']['start']
    mine = tmp_path / 'mine.yaml'
    mine.write_text(text.replace('preset: calibrated', 'preset: qube3'))
    with pytest.raises(bringup.ArgumentError, match='not safe on qube3; launch with preset:='):
        bringup.check(bringup.resolve({'params_file': str(mine)}), ROOT)
    bringup.check(bringup.resolve({'preset': 'qube3'}), ROOT)


def test_what_shows_the_run_may_die_and_keeps_the_graph_alive():
    shown = table(dashboard='true')
    assert not shown['dashboard'].essential
    assert shown['pacsbo_optimizer'].parameters['stay'] is True
    assert table()['pacsbo_optimizer'].parameters['stay'] is False
    assert table(dashboard='true', stay='false')['pacsbo_optimizer'].parameters['stay'] is False


def test_the_page_gets_the_port_that_is_asked_for():
    assert table(dashboard='true')['dashboard'].parameters == {}
    asked = table(dashboard='true', dashboard_port='9000')['dashboard']
    assert asked.parameters == {'port': 9000}


def test_the_frames_come_with_or_without_rviz_and_tell_robots_apart():
    name = 'robot_state_publisher'
    assert name not in table()
    assert table(rviz='true')[name].parameters['frame_prefix'] == ''
    assert name not in table(rviz='true', tf='false')
    left = table(tf='true', namespace='/lab/left')
    assert 'rviz2' not in left
    assert left[name].parameters['frame_prefix'] == 'lab/left/'
    assert '<robot' in left[name].parameters['robot_description']


def test_the_recorder_keeps_all_topics_in_the_folder_of_the_run(tmp_path):
    recorded = table(record='true', run_dir=str(tmp_path))
    recorder = recorded['rosbag2']
    assert recorder.arguments[:4] == ('bag', 'record', '--all-topics',
                                      '--disable-keyboard-controls')
    assert recorder.arguments[4] == '--output'
    assert Path(recorder.arguments[5]).parent == tmp_path
    chosen = table(record='true')
    assert (Path(chosen['rosbag2'].arguments[5]).parent
            == Path(chosen['pacsbo_optimizer'].parameters['run_dir']))
    (tmp_path / 'episodes.jsonl').touch()
    resumed = table(record='true', resume=str(tmp_path))
    assert Path(resumed['rosbag2'].arguments[5]).parent == tmp_path
    assert resumed['pacsbo_optimizer'].parameters['run_dir'] == ''


def test_a_missing_program_of_a_task_is_none_that_a_setup_would_bring():
    missing = bringup.Process('pythn3', 'pythn3', '', node=False)
    with pytest.raises(SystemExit, match="'pythn3' of processes in the task file is no program"):
        run._found(missing)


def test_a_program_that_is_missing_is_named_with_its_package():
    recorder = replace(table(record='true')['rosbag2'], package='no_such_package')
    assert bringup.program(recorder) is None
    assert bringup.absence(recorder) == (
        'rosbag2 is left out: the package no_such_package is not installed')
    page = replace(table(dashboard='true')['dashboard'], module='no_such_module')
    assert bringup.program(page) is None
    assert bringup.absence(page) == (
        'dashboard is left out: the Python package no_such_module is not installed')


def test_rqt_shows_the_topics_of_its_namespace(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    shipped = table(rqt='true')['rqt'].arguments[-1]
    assert Path(shipped) == ROOT / 'config' / 'tune.perspective'
    moved = Path(table(rqt='true', namespace='/lab/left')['rqt'].arguments[-1])
    text = moved.read_text()
    assert json.loads(text).keys() == json.loads(Path(shipped).read_text()).keys()
    named = re.findall(r"'(/[a-z][^']*)'", Path(shipped).read_text())
    assert len(named) == 13
    assert re.findall(r"'(/[a-z][^']*)'", text) == [f'/lab/left{name}' for name in named]


@pytest.mark.parametrize(('given', 'words'), [
    ({'colour': 'red'}, 'unknown argument'), ({'iteration': '3'}, 'did you mean iterations?'),
    ({'tsk': 'task.yaml'}, 'did you mean task?'),
    ({'task': 'x', 'robot': 'y'}, 'either task'), ({'task': '/nowhere.yaml'}, 'no such file'),
    ({'run_dir': 'a', 'resume': 'b'}, 'resume'),
    ({'plant': 'bicycle'}, 'simulated, mujoco, topics, qube'),
    ({'speed': 'fast'}, "speed is 'fast'"), ({'iterations': '3.5'}, 'iterations'),
    ({'speed': '-1'}, 'above 0'), ({'iterations': '0'}, '1 or more'), ({'seed': '-3'}, 'seed'),
    ({'resume': '/nowhere'}, 'no run folder'), ({'namespace': '9bad'}, "namespace is '9bad'"),
    ({'namespace': 'a//b'}, 'letters'), ({'namespace': 'a b'}, 'letters'),
    ({'namespace': 'a;b'}, 'letters'),
    ({'plant': 'topics', 'speed': '7'}, 'real time'), ({'preset': 'qube9'}, 'ideal'),
    ({'dashboard_port': '99999'}, 'a port from 1 to 65535'), ({'tf': 'yes'}, 'auto, true, false'),
    ({'params_file': '/nowhere.yaml'}, 'no such file'), ({'rviz': 'yes'}, 'true, false'),
])
def test_arguments_that_make_no_sense_are_named(given, words):
    with pytest.raises(bringup.ArgumentError, match=words):
        bringup.resolve(given)


def test_every_argument_is_described_and_the_expected_ones_are_there():
    names = {a.name for a in bringup.ARGUMENTS}
    assert names >= {'plant', 'speed', 'iterations', 'seed', 'params_file', 'namespace',
                     'run_dir', 'resume', 'rviz', 'rqt', 'dashboard', 'record', 'log_level'}
    assert all(len(a.description) > 10 for a in bringup.ARGUMENTS)


def checked(tmp_path, text, **given):
    """Check a bring-up with a parameter file of its own; return the complaint."""
    file = tmp_path / 'p.yaml'
    file.write_text(text)
    values = bringup.resolve({'params_file': str(file), **given})
    with pytest.raises(bringup.ArgumentError) as error:
        bringup.check(values, ROOT)
    assert '\n' not in str(error.value)
    return str(error.value)


def shipped(**changes):
    """Return the shipped parameter file with parameters of the optimiser changed."""
    content = yaml.safe_load((ROOT / 'config' / 'furuta.yaml').read_text())
    content['/**/pacsbo_optimizer']['ros__parameters'].update(changes)
    return yaml.safe_dump(content)


def test_the_shipped_parameter_file_passes_every_check():
    bringup.check(bringup.resolve({}), ROOT)


THREE = {'tuned': ['k_theta', 'k_alpha', 'k_theta_dot'], 'box_lower': [-6.0, 10.0, -2.5],
         'box_upper': [0.0, 50.0, 0.0], 'start': [-5.4, 24.5, -1.5], 'length_scales': [0.4]}


def test_three_gains_are_tuned_by_default(tmp_path):
    (tmp_path / 'p.yaml').write_text(shipped(**THREE))
    bringup.check(bringup.resolve({'params_file': str(tmp_path / 'p.yaml')}), ROOT)


@pytest.mark.parametrize(('text', 'words'), [
    (shipped(**THREE, method='paper'), 'no predictor is shipped for'),
    (shipped(noise_bund=0.1), 'parameter noise_bund is unknown; did you mean noise_bound?'),
    (shipped(box_lower=[-6, 10]), 'a list of decimals like [1.0, 2.0]'),
    (shipped(box_lower=[-12.0, 10.0]), 'the box of k_theta is [-12, 0], but furuta accepts'),
    (shipped(tuned=['k_theta', 'k_beta']), 'k_beta is not a value of furuta'),
    (shipped(iterations=2), 'iterations is 2, but there are 3 start values'),
    (shipped(iterations=0), 'give a whole number from 1 to 10000'),
    (shipped(delta=1), 'give a number with a decimal point'),
    (shipped(delta=1.5), 'delta is 1.5; give a number with a decimal point from 1e-06 to 0.999'),
    (shipped(start=[-9.0, 20.0]), 'k_theta is -9'),
    (shipped().replace('/**/pacsbo_optimizer', '/**/pacsbo_optimiser'),
     'did you mean pacsbo_optimizer?'),
    (shipped().replace('/**/pacsbo_optimizer', '/lab/pacsbo_optimizer'),
     'does not apply to /pacsbo_optimizer; write /**/pacsbo_optimizer'),
    (shipped().replace('/**/pacsbo_optimizer', '/**'), 'to every node'),
    (shipped().replace('ros__parameters', 'ros_parameters'), 'ros__parameters'),
    (shipped().replace('limit: 1.05', 'limt: 1.05'), 'did you mean signals.alpha.limit?'),
    (shipped().replace('limit: 1.05', 'limit: 1'), 'a number with a decimal point'),
    ('a: [', 'is not YAML'), ('- 1', 'has no ros__parameters'), ('', 'tuned is missing'),
])
def test_a_parameter_file_that_is_wrong_is_refused_in_one_line(tmp_path, text, words):
    assert words in checked(tmp_path, text)


def test_a_folder_that_cannot_be_or_already_has_a_run_is_refused(tmp_path):
    assert 'run folder /proc/none' in checked(tmp_path, shipped(), run_dir='/proc/none')
    (tmp_path / 'episodes.jsonl').touch()
    assert 'already has a run' in checked(tmp_path, shipped(), run_dir=str(tmp_path))


def test_a_section_for_a_namespace_applies_there(tmp_path):
    file = tmp_path / 'p.yaml'
    file.write_text(shipped().replace('/**/', '/lab/'))
    bringup.check(bringup.resolve({'params_file': str(file), 'namespace': 'lab'}), ROOT)
    file.write_text(shipped() + '/**:\n  ros__parameters: {use_sim_time: false}\n')
    bringup.check(bringup.resolve({'params_file': str(file)}), ROOT)


CART = """
from pacsbo_ros.robots.python import Robot, Signal, Tunable

class Cart(Robot):
    tunables = (Tunable('k', 'N/m', 0.0, 50.0, 8.0),)
    signals = (Signal('x', 'm', 0.5),)
    constraints = ('x',)
    safe = [[8.0], [9.0]]

    def run(self, values, seed):
        x, v, cost = 0.2, 0.0, 0.0
        for i in range(200):
            if not self.watch(0.01 * i, [x]):
                break
            v += 0.01 * (-values['k'] * x - 2.0 * v)
            x += 0.01 * v
            cost += abs(x) / 200
        return 1.0 - 10 * cost, [1.0 - self.peaks['x'] / 0.5]
"""


@pytest.fixture
def cart(tmp_path, monkeypatch):
    """Make a folder with a robot in Python, which is where we are."""
    (tmp_path / 'my_cart.py').write_text(CART)
    (tmp_path / 'my_exit.py').write_text('import sys\nsys.exit(3)\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, 'my_cart', raising=False)
    return tmp_path


def test_a_robot_in_python_is_served_watched_and_tuned_by_the_same_table(cart):
    made = table(robot='my_cart:Cart', iterations='4')
    assert list(made) == ['safety_monitor', 'cart', 'pacsbo_optimizer', 'progress_markers']
    assert made['cart'].executable == 'serve'
    assert made['safety_monitor'].parameters['auto_arm'] is True
    assert made['safety_monitor'].parameters['signals.x.limit'] == 0.75
    assert made['pacsbo_optimizer'].parameters['start'] == [8.0, 9.0]
    bringup.check(bringup.resolve({'robot': 'my_cart:Cart'}), ROOT)


@pytest.mark.parametrize(('given', 'words'), [
    ({'robot': 'my_cart:Card'}, "has no attribute 'Card'"),
    ({'robot': 'no_cart:Cart'}, "No module named 'no_cart'"),
    ({'robot': 'my_cart'}, 'my_module:MyRobot'),
    ({'robot': 'my_exit:Cart'}, 'SystemExit: 3'),
    ({'robot': 'my_cart:Cart', 'iterations': '1'}, 'iterations is 1'),
])
def test_a_robot_that_cannot_be_loaded_is_named_in_one_line(cart, given, words):
    with pytest.raises(bringup.ArgumentError, match=words):
        bringup.check(bringup.resolve(given), ROOT)


def test_the_launch_file_makes_the_processes_of_the_table():
    launch = pytest.importorskip('launch', reason='the launch file needs launch and launch_ros')
    pytest.importorskip('launch_ros', reason='the launch file needs launch_ros')
    import importlib.util

    from pacsbo_ros.nodes import launching
    spec = importlib.util.spec_from_file_location('f', ROOT / 'launch' / 'furuta.launch.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    description = module.generate_launch_description()
    arguments = {a.name: a for a in description.get_launch_arguments()}
    assert set(arguments) == {a.name for a in bringup.ARGUMENTS}
    context = launch.LaunchContext()
    for a in bringup.ARGUMENTS:
        context.launch_configurations[a.name] = a.default
    from launch_ros.actions import Node
    nodes = [a for a in launching.processes(context, bringup.ARGUMENTS) if isinstance(a, Node)]
    assert len(nodes) == len(table())


@pytest.fixture
def launcher(tmp_path):
    """Start the shipped bring-up; whatever happens, it is gone after the test."""
    started = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, '-m', 'pacsbo_ros.nodes.run', *words], cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        limit = threading.Timer(PATIENCE, process.kill)
        limit.start()
        started.append((process, limit))
        return process

    yield start
    for process, limit in started:
        limit.cancel()
        process.kill()
        process.wait()


@pytest.fixture
def patient(tmp_path):
    """Make a file with the wide watchdogs that a busy machine needs."""
    parameters = yaml.safe_load((ROOT / 'config' / 'furuta.yaml').read_text())
    parameters['/**/safety_monitor']['ros__parameters'].update(
        state_timeout=1.0, heartbeat_timeout=1.0)
    parameters['/**/furuta_controller']['ros__parameters'].update(verdict_timeout=1.0)
    parameters['/**/pacsbo_optimizer']['ros__parameters'].update(candidates=400)
    file = tmp_path / 'patient.yaml'
    file.write_text(yaml.safe_dump(parameters))
    return f'params_file:={file}'


def said_until_end(process):
    """Return what a bring-up says until it ends; one that is stopped would not end."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        assert 'STOPPED' not in line, ''.join(lines)
    process.wait()
    return ''.join(lines)


def test_make_run_tunes_the_pendulum_and_tells_success(launcher, patient, tmp_path):
    process = launcher('speed:=max', patient, 'iterations:=5', 'namespace:=made_run',
                       f'run_dir:={tmp_path / "run"}')
    output = said_until_end(process)
    assert process.returncode == 0, output
    assert 'run folder' in output
    roles = [json.loads(line)['trial']['role'] for line in
             (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines()[1:]]
    assert len(roles) == 5 + roles.count('verification') + roles.count('comparison')
    assert roles.count('verification') == 2


def test_make_run_tunes_a_robot_in_python(launcher, cart):
    process = launcher('robot:=my_cart:Cart', 'iterations:=4', f'run_dir:={cart / "run"}',
                       'namespace:=cart_run')
    output = said_until_end(process)
    assert process.returncode == 0, output
    best = yaml.safe_load((cart / 'run' / 'best_gains.yaml').read_text())
    assert list(best['/**/cart']['ros__parameters']) == ['k']
    assert (cart / 'run' / 'report.html').exists()


def test_ctrl_c_ends_everything_and_the_run_can_be_resumed(launcher, patient, tmp_path):
    process = launcher('speed:=max', patient, 'iterations:=200', 'namespace:=stopped_run',
                       f'run_dir:={tmp_path / "run"}')
    for line in process.stdout:
        if '5/200' in line:
            break
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert 'Traceback' not in output
    told = (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines()[1:]
    assert len(told) >= 5
    assert all(json.loads(line)['measured'] for line in told)
    again = launcher('speed:=max', patient, f'iterations:={len(told)}', 'namespace:=stopped_run',
                     f'resume:={tmp_path / "run"}')
    output = said_until_end(again)
    assert again.returncode == 0, output
