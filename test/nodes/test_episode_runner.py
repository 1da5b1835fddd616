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

"""Tuning another node's parameters: real processes, and what that node is left with."""
import copy
import signal

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='node tests need ROS 2: run them by make test')
from faults import parameters as breaking
from faults.forked import Forked
from faults.graph import wait_for
from faults.parameters import Bench, CANDIDATE, ORIGINALS, WILD
from pacsbo_ros.msg import ControllerState
from pacsbo_ros.nodes.live_checks import check_call, check_parameters, fill, subscribe
from pacsbo_ros.nodes.parameter_calls import ParameterCalls
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.parameters import task as tasks
from pacsbo_ros.robots.parameters.words import TaskError
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
import yaml


class QuickBench(Bench):
    """The same without waiting for imports."""

    make = Forked


@pytest.fixture(scope='module')
def bench(tmp_path_factory):
    made = QuickBench(tmp_path_factory.mktemp('bench'))
    made.start_target()
    wait_for(lambda: made.read() == ORIGINALS, 'the target')
    yield made
    made.close()


@pytest.fixture
def ready(bench):
    bench.consents = True
    bench.revive()
    return bench


def test_an_episode_leaves_a_result_and_the_originals(ready):
    result = ready.datum()
    assert Outcome(result.outcome) is Outcome.COMPLETED, result.reason
    assert result.is_datum
    assert list(result.values) == list(CANDIDATE)
    assert -0.2 < result.reward < -0.05
    assert list(result.constraints) == ['overshoot', 'effort']
    assert min(result.margins) > 0
    assert ready.read() == ORIGINALS
    assert not (ready.run / 'target_changed').exists()


def test_a_passed_limit_ends_the_episode_stops_the_joint_and_is_a_datum(ready):
    result = ready.datum(WILD)
    assert Outcome(result.outcome) is Outcome.TRIPPED, result.reason
    assert result.is_datum
    assert min(result.margins) < 0
    assert 'beyond' in result.reason
    assert ready.read() == ORIGINALS


@pytest.mark.parametrize('name', [
    'goal cancelled', 'monitor silent', 'somebody else', 'runner killed', 'killed, restore'])
def test_a_broken_episode_is_not_told_and_the_target_has_its_originals(ready, name):
    what = next(b for b in breaking.BREAKS if name in b.name)
    told = len(ready.results())
    what.inject(ready, ready.begin())
    ready.restored()
    assert not any(r.is_datum for r in ready.results()[told:])


def test_ctrl_c_returns_when_the_originals_are_back(ready):
    ready.begin()
    runner = ready.processes['episode_runner']
    runner.signal(signal.SIGINT)
    assert runner.wait() == 0
    assert ready.read() == ORIGINALS


def test_a_stop_is_obeyed_although_a_dead_target_cannot_get_its_originals_back(ready):
    """The monitor cries for the power switch if an episode still goes on half a second later."""
    ready.begin()
    ready.processes['joint_pid'].signal(signal.SIGKILL)
    ready.consents = False
    runner, state = ready.processes['episode_runner'], ready.client.messages['controller_state']
    wait_for(lambda: state[-1].state == ControllerState.DISARMED, 'an end')
    since = len(state)
    wait_for(lambda: 'the original values are not back' in runner.output, 'words of the runner')
    assert state[-1].run_id == 'bench', 'the goal is not answered yet'
    assert {s.state for s in state[since:]} == {ControllerState.DISARMED}
    ready.start_target()
    wait_for(lambda: 'the original values are back' in runner.output, 'an end of the trouble', 30)
    assert ready.read() == ORIGINALS


def test_a_stop_between_two_episodes_is_passed_on_to_the_robot(ready, context):
    """What an episode has started may go on after its window, and some robots never stand."""
    ready.datum()
    ready.restored()
    called, other = [], rclpy.create_node('other', context=context)

    def disable(_, response):
        called.append(True)
        return response
    other.create_service(Trigger, '/joint_pid/disable', disable)  # hears what the joint hears
    state = ready.client.messages['controller_state']
    wait_for(lambda: state[-1].state == ControllerState.READY, 'an end of the episode')

    def heard():
        ready.stop_once()  # again and again: who is new is not known to everybody at once
        rclpy.spin_once(other, timeout_sec=0.05, executor=executor)
        return called
    executor = SingleThreadedExecutor(context=context)
    wait_for(heard, 'a call of stop')
    executor.shutdown()
    other.destroy_node()


def test_a_second_publisher_of_a_signal_ends_the_episode_and_nothing_begins_while_it_is_there(
        ready, context):
    told = len(ready.results())
    ready.begin()
    other = rclpy.create_node('other', context=context)
    other.create_publisher(JointState, '/joint_pid/state', 1)
    ready.restored()
    wait_for(lambda: len(ready.results()) > told, 'a result')
    result = ready.results()[told]
    assert not result.is_datum
    assert '/joint_pid/state has 2 publishers (/joint_pid, /other)' in result.reason
    other.destroy_node()
    assert ready.datum().is_datum


def test_a_second_runner_on_the_same_node_is_refused(ready, tmp_path):
    process = Forked('episode_runner', tmp_path, '', {
        'task_file': str(ready.task), 'run_dir': str(tmp_path / 'other'), 'patience': 5.0,
        'predecessor': 1.0})
    assert process.wait() == 2
    assert 'is being tuned by the run in' in process.output
    wait_for(lambda: ready.read() == ORIGINALS, 'originals')


@pytest.mark.parametrize(('text', 'words'), [
    (None, 'No such file'), ('a: 1', "key of the file: 'a' is not known")])
def test_a_wrong_task_is_one_line_and_nothing_is_started(tmp_path, text, words):
    path = tmp_path / 'task.yaml'
    if text is not None:
        path.write_text(text)
    process = Forked('episode_runner', tmp_path, '', {'task_file': str(path)})
    assert process.wait() == 2
    assert words in process.output
    assert len(process.output.strip().splitlines()) == 1


@pytest.fixture(scope='module')
def looker(bench):
    """Return a node that nobody spins, for checks that spin it themselves."""
    context = rclpy.Context()
    context.init()
    node = rclpy.create_node('looker', context=context)
    calls = ParameterCalls(node, ['/joint_pid'])
    wait_for(lambda: not calls.ready(), 'the target as the looker sees it')
    yield node
    context.try_shutdown()


def check(node, bench, change):
    data = copy.deepcopy(yaml.safe_load(bench.task.read_text()))
    change(data['/**']['ros__parameters'])
    path = bench.folder / 'changed.yaml'
    path.write_text(yaml.safe_dump(data))
    task = tasks.load(path)
    check_parameters(node, task, ParameterCalls(node, list(task.nodes)), 2.0)
    subscribe(node, task, lambda name, value, made: None, 2.0)
    for call in (task.start, task.stop):
        check_call(node, call, 2.0)


def put(*path, value):
    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value
    return change


@pytest.mark.parametrize(('change', 'words'), [
    (put('tuned', 'p', 'node', value='/joint_pd'), "did you mean '/joint_pid'"),
    (put('tuned', 'p', 'parameter', value='q'),
     "parameter of /joint_pid: 'q' is not known; there are"),
    (put('tuned', 'p', 'parameter', value='dd'), "did you mean 'd'"),
    (put('tuned', 'p', 'parameter', value='use_sim_time'), 'not a number'),
    (put('tuned', 'p', 'upper', value=400.0), 'accepts 0 to 100'),
    (put('signals', 'effort', 'topic', value='/joint_pid/sate'), "mean '/joint_pid/state'"),
    (put('signals', 'effort', 'field', value='efort[joint]'), "did you mean 'effort'"),
    (put('signals', 'effort', 'timeout', value=0.01), 'give a longer one'),
    (put('episode', 'start', value='/joint_pid/step_tset'), "did you mean '/joint_pid/step_test'"),
    (put('episode', 'type', value='std_srvs/srv/Empty'), 'has the type std_srvs/srv/Trigger'),
    (put('stop', 'service', value='/joint_pid/disabel'), "did you mean '/joint_pid/disable'")])
def test_what_the_graph_does_not_have_is_one_line(bench, looker, change, words):
    def often():  # a topic that speaks every 0.01 s may keep to it for four periods
        for _ in range(10):
            check(looker, bench, change)
    with pytest.raises(TaskError) as caught:
        often()
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert bench.read() == ORIGINALS


def test_what_the_graph_has_passes_all_checks(bench, looker):
    check(looker, bench, lambda data: None)
    assert bench.read() == ORIGINALS


def test_fields_of_a_request_are_filled_or_named():
    from geometry_msgs.msg import Twist
    assert fill(Twist(), {'linear': {'x': 1}}, '/cmd').linear.x == 1.0
    with pytest.raises(TaskError, match="did you mean 'linear'"):
        fill(Twist(), {'liner': {}}, '/cmd')
    with pytest.raises(TaskError, match='cannot be'):
        fill(Twist(), {'linear': {'x': 'fast'}}, '/cmd')
