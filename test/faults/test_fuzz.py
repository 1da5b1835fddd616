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

"""Hostile input: nothing that anybody sends crashes a node, arms a motor or is half accepted."""
import importlib
import json
import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='messages need ROS 2: run them by make test')
from faults.graph import own_domain
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.msg import Candidate, ControllerState, EpisodeResult, SafetyStatus
from pacsbo_ros.nodes import furuta_controller, progress, safety_monitor, tuning_parameters
from pacsbo_ros.nodes.dashboard import Dashboard
from pacsbo_ros.nodes.furuta_controller import FurutaController
from pacsbo_ros.nodes.parameters import declare, StartError
from pacsbo_ros.nodes.safety_monitor import SafetyMonitor
from pacsbo_ros.robots.furuta.assisted import AssistedPlant
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import GAIN_NAMES, PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.robot import describe, GAIN_RANGES
from pacsbo_ros.tuning.journal import Journal, JournalError
from pacsbo_ros.tuning.trial import Measured, Told, Trial
from pacsbo_ros.view.live import Live
import rclpy
from rclpy.action import GoalResponse
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

ROBOT = describe(PAPER_GAINS, Limits(), EpisodeSettings(), 'simulated')
WORDS = st.sampled_from(['', 'theta', 'alpha', 'r', '\x07', 'ä' * 50, *GAIN_NAMES])
FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, 1e308, -1e308, 0.1, 1.0, -2.0, 25.0]))


def numbers(bits, signed):
    low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
    return st.one_of(st.integers(low, high), st.sampled_from([0, 1, low, high]))


def values(kind):
    """Return a strategy for one field, by the name of its type."""
    if found := re.fullmatch(r'sequence<(.+?)(, \d+)?>', kind):
        return st.lists(values(found[1]), max_size=6)
    if found := re.fullmatch(r'(.+)\[(\d+)\]', kind):
        return st.lists(values(found[1]), min_size=int(found[2]), max_size=int(found[2]))
    if found := re.fullmatch(r'(u?)int(\d+)', kind):
        return numbers(int(found[2]), not found[1])
    if kind in ('double', 'float'):
        return FLOATS if kind == 'double' else st.floats(width=32)
    if kind == 'octet':
        return st.binary(min_size=1, max_size=1)
    if kind == 'boolean':
        return st.booleans()
    if kind == 'string':
        return WORDS
    package, name = kind.split('/')
    return messages(getattr(importlib.import_module(f'{package}.msg'), name))


def messages(kind, **fixed):
    """Return a strategy for messages with any content."""
    fields = kind.get_fields_and_field_types()
    return st.builds(kind, **{name: fixed.get(name, values(field))
                              for name, field in fields.items()})


@pytest.fixture(scope='module')
def context():
    with own_domain():
        made = rclpy.Context()
        made.init()
        yield made
        made.try_shutdown()


@pytest.fixture(scope='module')
def monitor(context):
    node = SafetyMonitor(context=context, parameter_overrides=[
        Parameter(f'signals.{name}.{key}', value=value)
        for name, field in (('alpha', 'position[alpha]'), ('theta', 'position[theta]'))
        for key, value in (('limit', 1.0), ('topic', 'joint_states'), ('field', field),
                           ('type', 'sensor_msgs/msg/JointState'))])
    yield node
    node.destroy_node()


def made_controller(context, plant):
    return FurutaController(context=context, parameter_overrides=[
        Parameter('plant', value=plant), Parameter('verdict_timeout', value=1.0)])


@pytest.fixture(scope='module', params=['simulated', 'topics'])
def controller(context, request):
    node = made_controller(context, request.param)
    yield node
    node.destroy_node()


@pytest.fixture(scope='module')
def driven(context):
    """Return a controller whose monitor consents."""
    node = made_controller(context, 'simulated')
    yield node
    node.destroy_node()


@settings(max_examples=150)
@given(st.lists(st.one_of(messages(JointState), messages(Candidate), messages(
    ControllerState, state=st.integers(0, 5))),
                max_size=8))
def test_no_message_crashes_or_arms_the_monitor(monitor, stream):
    handlers = {JointState: monitor._signals[0]._on_message,
                ControllerState: monitor._on_heartbeat, Candidate: monitor._on_candidate}
    for message in stream:
        handlers[type(message)](message)
        monitor._tick()
        monitor._message(monitor.watch.check(0.0), 0.0)
        assert not monitor.watch.check(0.0).ok


def test_reset_does_not_arm_the_monitor(monitor):
    monitor._on_stop(Trigger.Request(), Trigger.Response())
    monitor._on_reset(Trigger.Request(), Trigger.Response())
    assert not monitor.watch.check(0.0).ok


# No verdict below can be a permission: either it does not say ok, or its state contradicts it.
REFUSALS = st.one_of(messages(SafetyStatus, ok=st.just(False)),
                     messages(SafetyStatus, state=st.integers(0, 255).filter(
                         lambda state: state != SafetyStatus.ARMED)))


@settings(max_examples=100)
@given(st.lists(REFUSALS, max_size=6), messages(RunEpisode.Goal))
def test_no_verdict_but_consent_moves_the_motor(controller, stream, goal):
    for status in stream:
        controller._on_status(status)
        controller._tick()
    assert controller._on_goal(goal) == GoalResponse.REJECT
    assert not controller.running


@settings(max_examples=150)
@given(st.one_of(messages(RunEpisode.Goal), st.builds(
    RunEpisode.Goal, values=st.lists(FLOATS, min_size=1, max_size=5),
    names=st.one_of(st.just([]), st.permutations(GAIN_NAMES).map(lambda n: n[:2])),
    duration=st.one_of(st.just(0.0), FLOATS))))
def test_a_goal_is_refused_whole_or_is_within_all_ranges(driven, goal):
    driven._sequence_seen = getattr(driven, '_sequence_seen', 0) + 1
    driven._on_status(SafetyStatus(
        stamp=driven.get_clock().now().to_msg(), sequence=driven._sequence_seen, ok=True,
        state=SafetyStatus.ARMED))
    before = driven.values
    if driven._on_goal(goal) == GoalResponse.ACCEPT:
        values = driven._check(goal)
        assert list(values) == list(GAIN_NAMES)
        assert all(GAIN_RANGES[name][0] <= values[name] <= GAIN_RANGES[name][1]
                   for name in GAIN_NAMES)
        assert 0 <= goal.duration < math.inf
    else:
        assert driven._refused.startswith('goal refused: ')
    assert driven.values == before
    assert not driven.running  # an accepted goal starts when it is executed


@settings(max_examples=100)
@given(st.lists(messages(JointState), max_size=6))
def test_no_joint_state_crashes_the_driver(controller, stream):
    driver = controller.robot._driver
    if not hasattr(driver, '_on_joints'):
        return
    for message in stream:
        driver._on_joints(message, {})
        controller._tick()
        assert not controller.running


PARAMETER_VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2 ** 63, 2 ** 63 - 1), FLOATS,
                             WORDS, st.lists(FLOATS, max_size=5), st.lists(WORDS, max_size=3))


@settings(max_examples=150)
@given(st.sampled_from([p.name for p in furuta_controller.PARAMETERS]), PARAMETER_VALUES)
def test_a_live_parameter_is_refused_whole_or_within_its_range(controller, name, value):
    before = controller.values
    parameter = Parameter(name, value=value) if value is not None else Parameter(name)
    result = controller.set_parameters([parameter])[0]
    changed = controller.get_parameter(name).value
    if result.successful and name in GAIN_RANGES:
        assert GAIN_RANGES[name][0] <= changed <= GAIN_RANGES[name][1]
        assert controller.values[name] == changed
    else:
        assert controller.values == before
    assert not controller.running


@settings(max_examples=60)
@given(st.sampled_from([furuta_controller, safety_monitor, tuning_parameters]), st.data())
def test_a_parameter_file_is_refused_with_words_or_gives_sound_values(context, module, data):
    chosen = data.draw(st.lists(st.sampled_from(module.PARAMETERS), max_size=3,
                                unique_by=lambda p: p.name))
    overrides = [Parameter(p.name, value=data.draw(PARAMETER_VALUES.filter(
        lambda v: v is not None))) for p in chosen]
    node = rclpy.create_node('fuzz', context=context, parameter_overrides=overrides)
    try:
        given_values = declare(node, module.PARAMETERS)
        if module is tuning_parameters:
            tuning_parameters.make_problem(given_values, ROBOT)
    except (StartError, ValueError):
        return  # refused with words
    else:
        for p in module.PARAMETERS:
            value = getattr(given_values, p.name)
            if p.lower is not None:
                assert p.lower <= value <= p.upper
            assert p.required or isinstance(p.default, list) or type(value) is type(p.default)
            assert not p.choices or value in p.choices
    finally:
        node.destroy_node()


@pytest.fixture(scope='module')
def dashboard(context):
    node = Dashboard(Live(), context=context)
    yield node
    node.destroy_node()


@settings(max_examples=150)
@given(st.data())
def test_no_message_ends_the_thread_that_feeds_the_live_page(dashboard, data):
    topics = [s for s in dashboard.subscriptions if s.topic_name != '/parameter_events']
    assert len(topics) >= 7
    subscription = data.draw(st.sampled_from(topics))
    subscription.callback(data.draw(messages(subscription.msg_type)))


@settings(max_examples=200)
@given(messages(EpisodeResult), st.booleans())
def test_a_result_that_is_used_is_whole(result, ours):
    goal = RunEpisode.Goal(run_id='r', iteration=1, names=['k_theta'], values=[-2.0])
    if ours:
        result.run_id, result.iteration = 'r', 1
        result.names, result.values = ['k_theta'], [-2.0]
        result.constraints = list(ROBOT.constraints)
    if not progress.problem_with(result, goal, ROBOT):
        assert ours
        assert result.outcome < 9
        if result.is_datum:
            assert len(result.margins) == len(ROBOT.constraints)
            assert all(map(math.isfinite, (result.reward, *result.margins, *result.peaks)))


@given(st.lists(FLOATS, max_size=30))
def test_no_command_makes_the_amplifier_exceed_its_supply(commands):
    plant = AssistedPlant(CALIBRATED, 0.05, 0.5, np.random.default_rng(0))
    for number, volts in enumerate(commands):
        plant.command(0.005 * number, volts)
        plant.step(0.005 * number)
        assert abs(plant.applied) <= CALIBRATED.voltage_limit


JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS),
                    lambda inner: st.lists(inner, max_size=3), max_leaves=4)


@settings(max_examples=200)
@given(part=st.sampled_from(['trial', 'measured']), where=st.integers(0, 8), value=JSON)
def test_a_journal_with_a_changed_field_is_refused_or_still_sound(tmp_path_factory, part, where,
                                                                  value):
    path = tmp_path_factory.mktemp('fuzz') / 'episodes.jsonl'
    journal = Journal(path, {})
    journal.append(Told(Trial(1, (-2.5, 23.0), (0.4, 0.3), 17, 'start', 'start'),
                        Measured(0.97, 0.5, (0.6, 0.7), (), (0.2, 0.5), 0, 'fine')))
    journal.close()
    header, line = path.read_text().splitlines()
    record = json.loads(line)
    record[part][list(record[part])[where % len(record[part])]] = value
    path.write_text(f'{header}\n{json.dumps(record)}\n')
    try:
        read = Journal(path, {})
    except JournalError:
        return
    read.close()
    assert read.told[0].is_sound
    assert read.told[0].trial.iteration == 1
