"""The process table, and both programs that are made from it."""
from dataclasses import replace
import json
import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest
import yaml

from pacsbo_ros.nodes import bringup

ROOT = Path(__file__).resolve().parents[2]


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


def test_what_shows_the_run_may_die_and_keeps_the_graph_alive():
    shown = table(dashboard='true')
    assert not shown['dashboard'].essential
    assert shown['pacsbo_optimizer'].parameters['stay'] is True
    assert table()['pacsbo_optimizer'].parameters['stay'] is False
    assert table(dashboard='true', stay='false')['pacsbo_optimizer'].parameters['stay'] is False


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
    assert Path(shipped) == ROOT / 'config' / 'furuta.perspective'
    moved = Path(table(rqt='true', namespace='/lab/left')['rqt'].arguments[-1])
    text = moved.read_text()
    assert json.loads(text).keys() == json.loads(Path(shipped).read_text()).keys()
    named = re.findall(r"'(/[a-z][^']*)'", Path(shipped).read_text())
    assert len(named) == 13
    assert re.findall(r"'(/[a-z][^']*)'", text) == [f'/lab/left{name}' for name in named]


@pytest.mark.parametrize(('given', 'words'), [
    ({'colour': 'red'}, 'unknown argument'), ({'plant': 'bicycle'}, 'simulated, topics, qube'),
    ({'speed': 'fast'}, "speed is 'fast'"), ({'iterations': '3.5'}, 'iterations'),
    ({'speed': '-1'}, 'above 0'), ({'iterations': '0'}, '1 or more'), ({'seed': '-3'}, 'seed'),
    ({'resume': '/nowhere'}, 'no run folder'),
    ({'plant': 'topics', 'speed': '7'}, 'real time'),
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


def test_the_shipped_parameter_file_names_real_nodes_and_parameters():
    from pacsbo_ros.nodes import furuta_controller, safety_monitor, tuning_parameters
    known = {'furuta_controller': furuta_controller, 'safety_monitor': safety_monitor,
             'pacsbo_optimizer': tuning_parameters}
    shipped = yaml.safe_load((ROOT / 'config' / 'furuta.yaml').read_text())
    for node, content in shipped.items():
        module = known[node.removeprefix('/**/')]
        allowed = {p.name for p in module.PARAMETERS}
        assert set(content['ros__parameters']) <= allowed


def test_the_launch_file_makes_the_processes_of_the_table():
    launch = pytest.importorskip('launch', reason='the launch file needs launch and launch_ros')
    pytest.importorskip('launch_ros', reason='the launch file needs launch_ros')
    import importlib.util
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
    nodes = [a for a in module.processes(context) if isinstance(a, Node)]
    assert len(nodes) == len(table())


def start(folder, *words):
    """Start the shipped bring-up, with the wide watchdogs that a busy machine needs."""
    parameters = yaml.safe_load((ROOT / 'config' / 'furuta.yaml').read_text())
    parameters['/**/safety_monitor']['ros__parameters'].update(
        state_timeout=1.0, heartbeat_timeout=1.0)
    parameters['/**/furuta_controller']['ros__parameters'].update(verdict_timeout=1.0)
    file = folder / 'patient.yaml'
    file.write_text(yaml.safe_dump(parameters))
    return subprocess.Popen(
        [sys.executable, '-m', 'pacsbo_ros.nodes.run', 'speed:=max', f'params_file:={file}',
         f'run_dir:={folder / "run"}', *words], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
        env=dict(os.environ))


def test_make_run_tunes_the_pendulum_and_tells_success(tmp_path):
    process = start(tmp_path, 'iterations:=5', 'namespace:=made_run')
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert 'run folder' in output
    assert 'STOPPED' not in output
    assert len((tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines()) == 7


def test_ctrl_c_ends_everything_and_the_run_can_be_resumed(tmp_path):
    process = start(tmp_path, 'iterations:=200', 'namespace:=stopped_run')
    for line in process.stdout:
        if '5/200' in line:
            break
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 130, output
    assert 'Traceback' not in output
    told = (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines()[1:]
    assert len(told) >= 5
    assert all(json.loads(line)['measured'] for line in told)
    again = start(tmp_path, f'iterations:={len(told)}', 'run_dir:=', 'namespace:=stopped_run',
                  f'resume:={tmp_path / "run"}')
    output, _ = again.communicate(timeout=180)
    assert again.returncode == 0, output


def test_a_bad_argument_ends_it_at_once(tmp_path):
    process = start(tmp_path, 'plant:=bicycle')
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert output.startswith('error: plant')
