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

"""The controller as its clients see it."""
from dataclasses import asdict
import math
import signal

from faults.graph import Process
from pacsbo_ros.msg import ControllerState, EpisodeResult
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import Limits
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.running import run_episode
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS
import pytest

SAFE = [-2.571, 23.01]
FALLING = [-0.1, 5.0]


def test_an_episode_over_the_graph_gives_what_the_library_gives(ready):
    result = ready.client.result(ready.client.send(values=SAFE, seed=7))
    expected = run_episode(SimulatedDriver(), PAPER_GAINS.with_tuned(SAFE),
                           Limits(alpha=0.5236, theta=1.5708), seed=7)
    assert result.outcome == EpisodeResult.COMPLETED
    assert result.is_datum
    assert result.reward == expected.reward
    assert dict(zip(result.signals, result.peaks, strict=True))['alpha'] == expected.max_abs_alpha
    assert (result.scaled_reward, *result.margins) == expected.values
    assert tuple(result.constraints) == CONSTRAINTS
    assert dict(zip(result.names, result.values, strict=True)) == asdict(expected.gains)
    ready.client.wait('episode_result', lambda m: m.seed == 7)


@pytest.mark.parametrize(('backup', 'outcome'), [
    (True, EpisodeResult.CAUGHT), (False, EpisodeResult.TRIPPED)])
def test_gains_that_let_the_pendulum_fall_are_a_datum_with_a_reason(graph, backup, outcome):
    graph.start_monitor()
    graph.start_controller(backup=backup)
    graph.wait_until_ready()
    result = graph.client.result(graph.client.send(values=FALLING, seed=1))
    assert result.outcome == outcome
    assert result.is_datum
    assert result.margin < 0
    assert 'alpha' in result.reason
    # The next episode needs no reset: a fall is data, not a fault.
    graph.wait_until_ready()
    assert graph.client.result(graph.client.send(values=SAFE)).outcome == EpisodeResult.COMPLETED


@pytest.mark.parametrize(('goal', 'words'), [
    ({'values': []}, 'no values'),
    ({'values': [math.nan, 20.0]}, 'k_theta'),
    ({'values': [-2.0, 1000.0]}, 'k_alpha is 1000'),
    ({'values': [-2.0, 20.0, -1.0, 2.0, 1.0]}, '5'),
    ({'values': [-2.0], 'names': ['k_theta', 'k_alpha']}, 'values'),
    ({'values': [-2.0], 'names': ['k_gamma']}, 'k_gamma'),
    ({'values': [-2.0, 20.0], 'names': ['k_theta', 'k_theta']}, 'at most once'),
    ({'values': [-2.0, 20.0], 'duration': -1.0}, 'duration'),
    ({'values': [-2.0, 20.0], 'duration': math.nan}, 'duration'),
])
def test_a_malformed_goal_is_refused_with_its_reason(shared, goal, words):
    assert not shared.client.send(**goal).accepted
    shared.client.wait('controller_state', lambda m: words in m.note)


def test_a_second_goal_is_refused_while_busy_and_cancel_ends_the_first(graph):
    graph.start_monitor()
    graph.start_controller(speed=1.0)
    graph.wait_until_ready()
    client = graph.client
    first = client.send(values=SAFE)
    assert first.accepted
    client.wait('controller_state', lambda m: m.state == ControllerState.RUNNING)
    assert not client.send(values=SAFE).accepted
    client.wait('controller_state', lambda m: 'busy' in m.note)
    first.cancel_goal_async()
    result = client.result(first)
    assert result.outcome == EpisodeResult.CANCELLED
    assert not result.is_datum
    graph.wait_until_ready()


def test_without_a_monitor_nothing_moves(graph):
    graph.start_controller()
    client = graph.client
    client.wait('controller_state', lambda m: 'no verdict' in m.note)
    assert not client.send(values=SAFE).accepted
    assert all(list(m.command) == [0.0] for m in client.messages['controller_state'])


def test_a_disarmed_monitor_means_a_refused_goal_until_it_is_armed(graph):
    graph.start_monitor(auto_arm=False)
    graph.start_controller()
    client = graph.client
    client.wait('controller_state', lambda m: 'disarmed' in m.note)
    assert not client.send(values=SAFE).accepted
    assert client.call('arm').success
    graph.wait_until_ready()
    assert client.send(values=SAFE).accepted


def test_the_monitor_killed_in_an_episode_ends_it(graph):
    monitor = graph.start_monitor()
    graph.start_controller(speed=1.0)
    graph.wait_until_ready()
    client = graph.client
    handle = client.send(values=SAFE)
    client.wait('controller_state', lambda m: m.episode_time > 0.5)
    monitor.signal(signal.SIGKILL)
    result = client.result(handle)
    assert result.outcome == EpisodeResult.INFRASTRUCTURE
    assert not result.is_datum
    assert 'no verdict' in result.reason
    client.wait('controller_state', lambda m: m.state == ControllerState.DISARMED)


def test_live_gains_drive_by_hand_but_not_into_an_episode(graph):
    graph.start_monitor()
    graph.start_controller(speed=1.0)
    graph.wait_until_ready()
    client = graph.client
    assert client.set_parameter('furuta_controller', 'manual', True).successful
    client.wait('controller_state', lambda m: m.state == ControllerState.MANUAL)
    assert client.set_parameter('furuta_controller', 'k_alpha', 25.0).successful
    client.wait('controller_state', lambda m: m.values[1] == 25.0)
    refused = client.set_parameter('furuta_controller', 'k_alpha', 1000.0)
    assert not refused.successful
    assert not client.send(values=SAFE).accepted
    client.wait('controller_state', lambda m: 'manual driving is on' in m.note)
    client.call('stop')  # ends manual driving; the parameter must not say otherwise
    client.wait('controller_state', lambda m: m.state == ControllerState.DISARMED)
    assert client.get_parameter('furuta_controller', 'manual') is False
    client.call('reset')
    client.call('arm')
    graph.wait_until_ready()
    assert client.set_parameter('furuta_controller', 'manual', True).successful
    client.wait('controller_state', lambda m: m.state == ControllerState.MANUAL)
    assert client.set_parameter('furuta_controller', 'manual', False).successful
    graph.wait_until_ready()
    assert client.send(values=SAFE).accepted
    client.wait('controller_state', lambda m: m.state == ControllerState.RUNNING)
    refused = client.set_parameter('furuta_controller', 'k_alpha', 30.0)
    assert not refused.successful
    assert 'episode runs' in refused.reason


@pytest.mark.parametrize(('parameters', 'words'), [
    ({'plant': 'bicycle'}, 'plant'),
    ({'preset': 'perfect'}, 'preset'),
    ({'speed': -1.0}, 'speed'),
    ({'alpha_limit': 10.0}, 'alpha_limit'),
    ({'episode_duration': 'long'}, 'episode_duration'),
    ({'plant': 'topics', 'speed': 3.0}, 'speed'),
    ({'plant': 'qube'}, 'SDK'),
    ({'push_time': 7.0}, 'push'),
])
def test_bad_parameters_end_the_start_with_one_line(alone, parameters, words):
    process = alone.start('furuta_controller', **parameters)
    assert process.wait() == 2
    lines = [line for line in process.output.splitlines() if line.startswith('error: ')]
    assert len(lines) == 1
    assert words in lines[0]
    assert 'Traceback' not in process.output


def test_an_episode_that_starts_hanging_swings_up_before_the_gains_are_tried(graph):
    graph.start_monitor()
    graph.start_controller(start='swing_up', speed=20.0)  # slow enough to be seen starting
    graph.wait_until_ready()
    result = graph.client.result(graph.client.send(values=SAFE, seed=3))
    assert result.outcome == EpisodeResult.COMPLETED, result.reason
    assert any(m.state == ControllerState.STARTING
               for m in graph.client.messages['controller_state'])


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order_though_linear_algebra_has_threads(graph, monkeypatch, number):
    monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
    graph.make = Process  # with imports of its own
    controller = graph.start_controller()
    graph.client.wait('controller_state')
    controller.signal(number)
    assert controller.wait() == 0, controller.output
