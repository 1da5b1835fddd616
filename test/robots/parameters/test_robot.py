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

"""A ParameterRobot with a target that only pretends: every way out ends with the originals."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from pacsbo_ros.robots.contract import Outcome, Refusal, RobotError
from pacsbo_ros.robots.parameters import robot as robots
from pacsbo_ros.robots.parameters.custody import (
    Custody,
    CustodyError,
    Locks,
    read_originals,
    write_durably,
)
from pacsbo_ros.robots.parameters.task import load
import pytest
import yaml

TASK = {
    'task': 'test', 'tuned': {'p': {'node': '/n', 'lower': 0.0, 'upper': 10.0, 'safe': [1.0]}},
    'episode': {'duration': 0.5, 'settle': 0.1},
    'signals': {'x': {'topic': '/t', 'field': 'data', 'unit': 'm', 'limit': 2.0}},
    'reward': '-rms(x)', 'constraints': {'peak': '1.0 - peak(x)'}}
ORIGINAL, VALUES = 3.0, {'p': 5.0}


class Answer:
    """Something asked, answered after some ticks."""

    def __init__(self, target, after=2, failure='', then=lambda: None):
        self.target, self.failure, self._then = target, failure, then
        self._at = target.clock + after * robots.PERIOD

    @property
    def done(self):
        if self.target.clock >= self._at and self._then is not None:
            self._then()
            self._then = None
        return self.target.clock >= self._at


class FakeTarget:
    """A node with one parameter and a clock of its own."""

    def __init__(self):
        self.clock, self.p, self.stops, self.calls = 100.0, ORIGINAL, 0, []
        self.fail = {}  # what -> how often it fails
        self.owing = ''  # a node that has not answered a set

    def _ask(self, what, then=lambda: None):
        self.calls.append(what)
        failure = 'refuses' if self.fail.get(what, 0) > 0 else ''
        if failure:
            self.fail[what] -= 1
        return Answer(self, failure=failure, then=(lambda: None) if failure else then)

    def set(self, values):  # noqa: A003
        return self._ask('set', lambda: setattr(self, 'p', values['p']))

    def check(self, values):
        answer = self._ask('check')
        if self.p != values['p']:
            answer.failure = 'p is not as it was set'
        return answer

    def restore(self):
        return self._ask('restore', lambda: setattr(self, 'p', ORIGINAL))

    def start(self):
        return self._ask('start')

    def stop(self):
        self.stops += 1


class Rig:

    def __init__(self, folder):
        path = folder / 'task.yaml'
        path.write_text(yaml.safe_dump({'/**': {'ros__parameters': TASK}}))
        self.target, self.custody = FakeTarget(), Custody(folder / 'run')
        self.custody.keep({'/n': {'p': ORIGINAL}})
        self.robot = robots.ParameterRobot(load(path), self.target, self.custody,
                                           lambda: self.target.clock)
        self.signal = lambda t: 0.5 * math.cos(20 * t)
        self.hear()

    def hear(self):
        if self.signal is not None:
            self.robot.hear('x', self.signal(self.target.clock))

    def tick(self):
        self.target.clock += robots.PERIOD
        self.hear()
        return self.robot.tick()

    def run(self, at=None, event=lambda: None, most=2000):
        """Tick until over; let something happen before one of the ticks."""
        for number in range(most):
            if number == at:
                event()
            if self.tick().over:
                return self.robot.result()
        raise AssertionError('the episode is never over')

    def is_as_it_was(self):
        return (self.target.p == ORIGINAL and not self.custody.changed
                and self.robot.phase is robots.Phase.IDLE)


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def test_an_episode_sets_starts_records_checks_and_puts_back(rig):
    rig.robot.begin(VALUES, 0)
    assert rig.custody.changed
    result = rig.run()
    assert rig.target.calls == ['set', 'start', 'check', 'restore']
    assert result.outcome is Outcome.COMPLETED
    assert result.is_datum
    assert result.reward == pytest.approx(-0.5 / math.sqrt(2), rel=0.05)
    assert result.margins == (pytest.approx(0.5, rel=0.05),)
    assert result.trace.shape[1] == 2
    assert rig.target.stops == 0
    assert rig.is_as_it_was()


def test_a_limit_is_judged_at_once_and_is_a_datum(rig):
    rig.robot.begin(VALUES, 0)
    result = rig.run(30, lambda: setattr(rig, 'signal', lambda t: 2.5))
    assert (result.outcome, result.is_datum, result.scaled_reward) == (Outcome.TRIPPED, True, -1)
    assert result.margins[0] <= -0.1
    assert 'x is 2.5, beyond 2 m' in result.reason
    assert rig.target.stops == 1
    assert rig.is_as_it_was()


@pytest.mark.parametrize(('signal', 'words'), [
    (None, 'silent'), (lambda t: math.nan, 'x is nan'), (lambda t: 0.25, 'not one signal')])
def test_silence_nonsense_and_frozen_data_are_no_data(rig, signal, words):
    rig.robot.begin(VALUES, 0)
    result = rig.run(2, lambda: setattr(rig, 'signal', signal))
    assert (result.outcome, result.is_datum) == (Outcome.INVALID_STATE, False)
    assert words in result.reason
    assert rig.is_as_it_was()


@pytest.mark.parametrize(('what', 'outcome'), [
    ('set', Outcome.START_FAILED), ('start', Outcome.START_FAILED),
    ('check', Outcome.INFRASTRUCTURE)])
def test_what_fails_is_no_datum_and_is_put_back(rig, what, outcome):
    rig.target.fail[what] = 1
    rig.robot.begin(VALUES, 0)
    result = rig.run()
    assert (result.outcome, result.is_datum) == (outcome, False)
    assert rig.is_as_it_was()


def test_values_that_somebody_changed_meanwhile_are_no_datum(rig):
    rig.robot.begin(VALUES, 0)
    result = rig.run(30, lambda: setattr(rig.target, 'p', 7.0))
    assert (result.outcome, result.is_datum) == (Outcome.INFRASTRUCTURE, False)
    assert rig.is_as_it_was()


def test_a_runner_that_stood_still_tells_nothing(rig):
    rig.robot.begin(VALUES, 0)
    result = rig.run(30, lambda: setattr(rig.target, 'clock', rig.target.clock + 1.5))
    assert (result.outcome, result.is_datum) == (Outcome.INFRASTRUCTURE, False)
    assert 'held up' in result.reason
    assert rig.is_as_it_was()


def test_restoring_is_tried_until_it_works_and_nothing_begins_before(rig):
    rig.target.fail['restore'] = 12
    rig.robot.begin(VALUES, 0)
    result = rig.run()  # over after a while, but not as it was
    assert result.is_datum
    assert rig.custody.changed
    with pytest.raises(Refusal, match='put back'):
        rig.robot.begin(VALUES, 0)
    with pytest.raises(RobotError, match='not back'):
        rig.robot.idle()
    for _ in range(2000):
        rig.target.clock += robots.PERIOD
        try:
            rig.robot.idle()
        except RobotError:
            continue
        if rig.robot.phase is robots.Phase.IDLE:
            break
    assert rig.is_as_it_was()


def test_nothing_begins_on_a_silent_or_tripped_robot(rig):
    rig.target.clock += 5.0
    with pytest.raises(Refusal, match='silent'):
        rig.robot.begin(VALUES, 0)
    rig.robot.hear('x', 3.0)
    with pytest.raises(Refusal, match='before the episode'):
        rig.robot.begin(VALUES, 0)
    assert rig.is_as_it_was()
    assert rig.target.calls == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 70), st.sampled_from(list(Outcome)[4:]), st.booleans(),
       st.dictionaries(st.sampled_from(['set', 'start', 'check', 'restore']), st.integers(0, 3)))
def test_a_stop_at_any_tick_with_any_failure_ends_with_the_originals(
        tmp_path_factory, at, outcome, limit, failures):
    rig = Rig(tmp_path_factory.mktemp('any'))
    rig.target.fail = dict(failures)
    rig.robot.begin(VALUES, 0)
    rig.run(at, lambda: rig.robot.stop(outcome, 'said so', limit))
    assert rig.is_as_it_was()


def test_originals_survive_on_disk_and_are_never_overwritten_by_candidates(tmp_path):
    custody = Custody(tmp_path / 'run')
    with pytest.raises(CustodyError, match='originals'):
        custody.begin()  # nothing may change what cannot be put back
    custody.keep({'/n': {'p': 1.5, 'k': 2}})
    custody.begin()
    with pytest.raises(CustodyError, match='put back'):
        custody.keep({'/n': {'p': 9.0, 'k': 2}})
    assert read_originals(tmp_path / 'run') == {'/n': {'p': 1.5, 'k': 2}}
    custody.end()
    custody.end()
    assert not custody.changed


@pytest.mark.parametrize('text', ['', '[1]', 'a: 1', 'a: [', 'a: {ros__parameters: 3}'])
def test_a_damaged_file_of_originals_is_one_line(tmp_path, text):
    write_durably(tmp_path / 'originals.yaml', text)
    with pytest.raises(CustodyError) as caught:
        read_originals(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_two_runs_never_hold_one_node_and_the_next_finds_what_was_left(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'home'))
    first, second = Custody(tmp_path / 'a'), Locks(['/n'], tmp_path / 'b')
    locks = Locks(['/n', '/m'], tmp_path / 'a')
    assert locks.acquire(0.0) == []
    locks.claim()
    with pytest.raises(CustodyError, match='is being tuned by the run in'):
        second.acquire(0.0)
    first.keep({'/n': {'p': 1.0}})
    first.begin()
    locks.release()  # as a kill does
    assert second.acquire(0.0) == [tmp_path / 'a']
    first.end()
    second.claim()
    second.release()
    assert second.acquire(0.0) == []


def test_while_a_set_may_still_take_effect_the_originals_are_not_called_back(rig):
    rig.robot.begin(VALUES, 0)
    rig.target.fail['set'] = 0
    rig.target.owing = '/n'
    result = rig.run()
    assert result.is_datum
    assert rig.custody.changed  # over after a while, but nothing else may begin
    with pytest.raises(Refusal, match='being put back'):
        rig.robot.begin(VALUES, 0)
    rig.target.p = VALUES['p']  # the late set
    rig.target.owing = ''
    for _ in range(int(3.0 / robots.PERIOD)):
        rig.target.clock += robots.PERIOD
        try:
            rig.robot.idle()
        except RobotError as error:
            assert 'has not answered a set yet' in str(error)  # noqa: PT017
    assert rig.is_as_it_was()


def test_who_else_sets_a_value_during_the_window_ends_the_episode_even_if_it_is_set_back(rig):
    rig.robot.begin(VALUES, 0)
    rig.robot.changed('p', 99.0)  # before the window: the values are read back after setting
    result = rig.run(40, lambda: rig.robot.changed('p', 19.0))
    assert not result.is_datum
    assert 'somebody else has set p to 19' in result.reason
    rig.robot.begin(VALUES, 0)
    assert rig.run(40, lambda: rig.robot.changed('p', VALUES['p'])).is_datum


def test_a_limit_passed_before_the_values_were_set_is_not_theirs(rig):
    rig.robot.begin(VALUES, 0)
    result = rig.run(5, lambda: rig.robot.hear('x', 100.0, rig.target.clock - 1.0))
    assert result.outcome is Outcome.COMPLETED


def start_that_is_answered_after(rig, seconds, then=lambda: None):
    def start():
        rig.target.calls.append('start')
        return Answer(rig.target, after=round(seconds / robots.PERIOD), then=then)
    rig.target.start = start


def test_a_start_that_is_answered_when_the_motion_is_over_is_no_datum_and_is_told(rig):
    start_that_is_answered_after(
        rig, 0.4, lambda: setattr(rig, 'signal', lambda t: 0.01 * math.cos(20 * t)))
    rig.robot.begin(VALUES, 0)
    result = rig.run()
    assert (result.outcome, result.is_datum) == (Outcome.START_FAILED, False)
    assert 'answered after 0.40 s, when the motion was over' in result.reason
    assert rig.is_as_it_was()


def test_a_slow_start_with_motion_after_it_is_a_datum_and_is_known_to_be_slow(rig):
    start_that_is_answered_after(rig, 0.4)
    rig.robot.begin(VALUES, 0)
    assert rig.run().is_datum
    assert rig.robot.slow == pytest.approx(0.4, abs=0.02)
    del rig.target.start
    rig.robot.begin(VALUES, 0)
    assert rig.run().is_datum
    assert rig.robot.slow == 0.0


def test_a_stop_reaches_a_robot_that_moves_on_between_two_episodes(rig):
    rig.robot.halt()
    assert rig.target.stops == 1
    rig.robot.begin(VALUES, 0)
    rig.robot.halt()
    assert rig.target.stops == 1, 'stop() ends an episode, with a result'
