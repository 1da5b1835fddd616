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

"""The safety monitor as operator and controller see it."""
from itertools import count
import threading

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from faults.graph import wait_for
from pacsbo_ros.msg import Candidate, ControllerState, EpisodeResult, Heartbeat, SafetyStatus
from pacsbo_ros.nodes.spinning import HEARTBEAT, LATCHED, system_stamp
import pytest

SAFE = [-2.571, 23.01]


@pytest.fixture
def live(graph):
    """Return a graph in real time, armed, with an episode on the plant."""
    graph.start_monitor()
    graph.start_controller(speed=1.0)
    graph.wait_until_ready()
    graph.handle = graph.client.send(values=SAFE)
    graph.client.wait('controller_state', lambda m: m.episode_time > 0.3)
    return graph


def test_stop_ends_the_episode_and_holds_until_reset_and_arm(live):
    client, health = live.client, {}
    client.node.create_subscription(
        DiagnosticArray, '/diagnostics',
        lambda m: health.update({s.name.partition(': ')[2]: s.level for s in m.status}), 10)
    wait_for(lambda: health.get('safety') == DiagnosticStatus.OK, 'diagnostics that are green')
    assert client.call('stop').success
    wait_for(lambda: health['safety'] == DiagnosticStatus.ERROR, 'diagnostics that are red')
    result = client.result(live.handle)
    assert result.outcome == EpisodeResult.ABORTED_BY_MONITOR
    assert not result.is_datum
    assert 'operator' in result.reason
    assert not client.send(values=SAFE).accepted
    assert not client.call('arm').success
    assert client.call('reset').success
    client.wait('safety_status', lambda m: m.state == SafetyStatus.DISARMED)
    assert not client.send(values=SAFE).accepted
    assert client.call('arm').success
    live.wait_until_ready()
    assert client.send(values=SAFE).accepted
    states = [m.state for m in client.messages['safety_event']]
    assert states[-3:] == [SafetyStatus.STOPPED, SafetyStatus.DISARMED, SafetyStatus.ARMED]


def test_no_voltage_after_a_stop(live):
    client = live.client
    client.call('stop')
    client.wait('controller_state', lambda m: m.state == ControllerState.DISARMED)
    seen = len(client.messages['controller_state'])
    client.wait('controller_state', lambda m: len(client.messages['controller_state']) > seen + 50)
    assert all(list(m.command) == [0.0] for m in client.messages['controller_state'][seen:])


def test_a_limit_of_the_monitor_makes_the_episode_an_unsafe_datum(graph):
    # A signal that the controller itself does not watch, or the limits would contradict.
    graph.start_monitor(**{f'signals.tilt.{name}': value for name, value in {
        'limit': 0.05, 'topic': 'joint_states', 'type': 'sensor_msgs/msg/JointState',
        'field': 'position[alpha]', 'from_start': False}.items()})
    graph.start_controller(speed=1.0)
    graph.wait_until_ready()
    result = graph.client.result(graph.client.send(values=SAFE))
    assert result.outcome == EpisodeResult.ABORTED_BY_MONITOR
    assert result.is_datum
    assert result.margin < 0
    assert 'tilt' in result.reason


def test_limits_that_contradict_the_controllers_are_named_and_nothing_is_armed(graph):
    graph.start_monitor(**{'signals.alpha.limit': 0.05, 'auto_arm': False})
    graph.start_controller(speed=1.0)
    graph.client.wait('controller_state')
    refusal = wait_for(lambda: 'contradict' in (said := graph.client.call('arm').message) and said,
                       'a refusal')
    assert 'alpha: the robot ends an episode at 0.52' in refusal


def test_gains_that_nobody_proposed_are_stopped(graph):
    graph.start_monitor()
    graph.start_controller(speed=1.0)
    graph.wait_until_ready()
    client = graph.client
    publisher = client.node.create_publisher(Candidate, 'candidate', LATCHED)
    publisher.publish(Candidate(run_id='r', iteration=1, names=['k_theta', 'k_alpha'],
                                values=[-3.0, 30.0]))
    result = client.result(client.send(run_id='r', iteration=1, values=SAFE))
    assert result.outcome == EpisodeResult.ABORTED_BY_MONITOR
    assert 'not those proposed' in result.reason
    assert not result.is_datum


def test_with_an_operator_required_his_silence_stops(graph):
    graph.start_monitor(require_operator=True, operator_timeout=0.5)
    graph.start_controller(speed=1.0)
    client = graph.client
    publisher = client.node.create_publisher(Heartbeat, 'operator_heartbeat', HEARTBEAT)
    silent = threading.Event()

    def beat():
        for number in count(1):
            if silent.wait(0.02):
                return
            publisher.publish(Heartbeat(stamp=system_stamp(), source=7, sequence=number))

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        graph.wait_until_ready()
        handle = client.send(values=SAFE)
        client.wait('controller_state', lambda m: m.episode_time > 0.3)
    finally:
        silent.set()
        thread.join()
    result = client.result(handle)
    assert result.outcome == EpisodeResult.ABORTED_BY_MONITOR
    assert 'operator heartbeat' in result.reason
    assert not client.call('reset').success


def test_a_frozen_controller_is_noticed_and_reset_waits_for_it(graph):
    import signal
    graph.start_monitor(heartbeat_timeout=0.25, state_timeout=0.25)
    controller = graph.start_controller()
    graph.wait_until_ready()
    controller.signal(signal.SIGSTOP)
    client = graph.client
    client.wait('safety_status', lambda m: m.state == SafetyStatus.STOPPED)
    assert not client.call('reset').success
    controller.signal(signal.SIGCONT)
    client.wait('safety_status', lambda m: not m.cause_persists)
    assert client.call('reset').success
    assert client.call('arm').success
    graph.wait_until_ready()


@pytest.mark.parametrize(('parameters', 'words'), [
    ({'signals.alpha.limit': -1.0}, 'limit of alpha'),
    ({'signals.alpha.limt': 1.0}, 'did you mean signals.alpha.limit?'),
    ({'signals.beta.limit': 1.0}, 'signals.beta has no topic'),
    ({'signals.alpha.field': 'position'}, 'say which one'),
    ({'signals.alpha.type': 'nowhere/msg/Joint'}, 'not installed'),
    ({'values.k_alpha.lower': 200.0}, 'range of k_alpha'),
    ({'state_timeout': 0.0}, 'state_timeout'),
])
def test_bad_limits_end_the_start_with_one_line(alone, parameters, words):
    process = alone.start('safety_monitor', **parameters)
    assert process.wait() == 2
    assert [words in line for line in process.output.splitlines() if 'error: ' in line] == [True]
