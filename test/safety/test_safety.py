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

"""The monitor's judgement, moment by moment."""
import math

from hypothesis import given
from hypothesis import strategies as st
from pacsbo_ros.safety.limits import SafetyLimits, Watched
from pacsbo_ros.safety.watch import SafetyState, Watch
import pytest

GAINS = {'lift': -2.0, 'damp': 25.0}
SIGNALS = (Watched('tilt', 1.05, 'rad', wrap=True, from_start=False, source='joints'),
           Watched('arm', 2.1, 'rad', source='joints'),
           Watched('speed', 80.0, 'rad/s', source='gyro'))


def limits(**changes):
    return SafetyLimits(**{
        'signals': SIGNALS, 'commands': (Watched('thrust', 18.5, 'N'),),
        'values': {'lift': (-10.0, 0.0), 'damp': (0.0, 100.0)}, **changes})


class Plant:
    """Feed a watch as a healthy graph would, one hundredth of a second at a time."""

    def __init__(self, **changes):
        self.watch = Watch(limits(**changes))
        self.now, self.sequence = 100.0, 0

    def beat(self, tilt=0.0, arm=0.0, speed=0.0, thrust=0.0, gains=GAINS, running=False,
             upright=True, run_id='', iteration=0, joints=True, gyro=True, heartbeat=True):
        self.now += 0.01
        self.sequence += 1
        if joints:
            self.watch.see_signals(self.now, self.now, 'joints', {'tilt': tilt, 'arm': arm})
        if gyro:
            self.watch.see_signals(self.now, self.now, 'gyro', {'speed': speed})
        if heartbeat:
            self.watch.see_heartbeat(self.now, self.now, self.sequence, {'thrust': thrust}, gains,
                                     running, upright and running, run_id, iteration)
        return self.watch.check(self.now)

    def armed(self):
        self.beat()
        assert self.watch.arm(self.now) == (True, 'armed')
        return self


def test_it_starts_disarmed_and_arms_only_when_everything_is_seen():
    plant = Plant()
    assert plant.watch.check(plant.now).state is SafetyState.DISARMED
    ok, words = plant.watch.arm(plant.now)
    assert not ok
    assert 'joints' in words
    assert plant.armed().beat().ok


@pytest.mark.parametrize(('fault', 'cause', 'measured'), [
    ({'tilt': 1.2}, 'tilt', True), ({'tilt': -1.2}, 'tilt', True),
    ({'arm': 2.5}, 'arm', True), ({'speed': -100.0}, 'speed', True),
    ({'thrust': 19.0}, 'thrust', False), ({'thrust': math.nan}, 'thrust', False),
    ({'gains': {'lift': -2.0, 'damp': 500.0}}, 'values', False),
    ({'gains': {'lift': math.nan, 'damp': 25.0}}, 'values', False),
])
def test_a_limit_passed_while_running_stops_and_latches(fault, cause, measured):
    plant = Plant().armed()
    assert plant.beat(running=True).ok
    verdict = plant.beat(running=True, **fault)
    assert (verdict.state, verdict.cause) == (SafetyState.STOPPED, cause)
    assert verdict.limit_exceeded is measured
    assert not plant.beat().ok
    assert not plant.beat(running=True).ok


def test_a_pendulum_that_hangs_while_nothing_runs_is_no_fault():
    assert Plant().armed().beat(tilt=math.pi).ok


def test_the_angle_is_not_judged_while_the_pendulum_is_swung_up_but_the_arm_is():
    plant = Plant().armed()
    assert all(plant.beat(tilt=a, running=True, upright=False).ok for a in (3.1, -3.1, 9.0, 1.5))
    assert plant.beat(running=True).ok
    assert plant.beat(arm=2.5, running=True, upright=False).cause == 'arm'


def test_a_hanging_pendulum_seen_before_the_hand_over_is_no_fall_whatever_comes_first():
    for overtaken in (False, True):
        plant = Plant().armed()
        watch, now = plant.watch, plant.now
        watch.see_heartbeat(now + 0.01, now + 0.01, 10, {}, GAINS, True, False, '', 0)
        late = (now + 0.02, now + 0.012, 'joints', {'tilt': math.pi, 'arm': 0.0})
        hand_over = (now + 0.02, now + 0.015, 11, {}, GAINS, True, True, '', 0)
        if overtaken:
            watch.see_heartbeat(*hand_over)
        watch.see_signals(*late)
        if not overtaken:
            watch.see_heartbeat(*hand_over)
        assert watch.check(now + 0.02).ok
        watch.see_signals(now + 0.025, now + 0.02, 'joints', {'tilt': math.pi, 'arm': 0.0})
        assert watch.check(now + 0.03).cause == 'tilt'


@pytest.mark.parametrize(('silent', 'cause'), [
    ({'joints': False}, 'state_age'), ({'gyro': False}, 'state_age'),
    ({'heartbeat': False}, 'heartbeat_age')])
def test_silence_stops_and_reset_is_refused_until_it_ends(silent, cause):
    plant = Plant(state_age=0.245, heartbeat_age=0.245).armed()
    verdicts = [plant.beat(**silent) for _ in range(40)]
    first = next(i for i, v in enumerate(verdicts) if not v.ok)
    assert first == 24  # the 25th beat of a hundredth of a second
    assert verdicts[first].cause == cause
    ok, words = plant.watch.reset(plant.now)
    assert not ok
    assert 'persists' in words
    plant.beat()
    assert plant.watch.reset(plant.now)[0]
    assert plant.beat().state is SafetyState.DISARMED
    assert plant.watch.arm(plant.now)[0]


def test_a_stop_by_the_operator_needs_reset_and_arm():
    plant = Plant().armed()
    plant.watch.stop('stopped by the operator')
    assert not plant.beat().ok
    assert not plant.watch.arm(plant.now)[0]
    assert plant.watch.reset(plant.now)[0]
    assert not plant.beat().ok
    assert plant.watch.arm(plant.now)[0]
    assert plant.beat().ok


def test_the_operators_heartbeat_is_needed_only_where_asked_for():
    plant = Plant(operator_age=0.055)
    plant.beat()
    assert 'operator' in plant.watch.arm(plant.now)[1]
    plant.watch.see_operator(plant.now, plant.now, 1)
    assert plant.watch.arm(plant.now)[0]
    verdicts = [plant.beat() for _ in range(8)]
    assert [v.ok for v in verdicts[:5]] == [True] * 5
    assert verdicts[-1].cause == 'operator_age'


def test_gains_in_force_must_be_those_proposed():
    plant = Plant().armed()
    plant.watch.see_candidate(plant.now, 'run', 3, {'lift': -2.0, 'damp': 25.0})
    assert all(plant.beat(running=True, run_id='run', iteration=3).ok for _ in range(60))
    plant.beat()
    plant.watch.see_candidate(plant.now, 'run', 4, {'lift': -2.0, 'damp': 26.0})
    verdicts = [plant.beat(running=True, run_id='run', iteration=4) for _ in range(60)]
    assert verdicts[0].ok  # the candidate may still be on its way
    assert verdicts[-1].cause == 'candidate'


def test_a_manual_episode_needs_no_candidate():
    plant = Plant().armed()
    assert all(plant.beat(running=True).ok for _ in range(60))


@given(st.lists(st.tuples(st.sampled_from(['arm', 'reset', 'stop', 'good', 'bad', 'silent']))))
def test_only_arm_ever_gives_consent_and_a_stop_always_takes_it(steps):
    plant = Plant()
    for (step,) in steps:
        before = plant.watch.check(plant.now).ok
        if step == 'arm':
            plant.watch.arm(plant.now)
        elif step == 'reset':
            plant.watch.reset(plant.now)
        elif step == 'stop':
            plant.watch.stop('x')
        elif step == 'silent':
            plant.now += 1.0
        else:
            plant.beat(running=True, tilt=2.0 if step == 'bad' else 0.0)
        after = plant.watch.check(plant.now).ok
        assert not after or before or step == 'arm'
        assert not (after and step in ('stop', 'bad', 'silent'))


@pytest.mark.parametrize(('make', 'words'), [
    (lambda: Watched('tilt', -1.0), 'limit of tilt'), (lambda: Watched('x', math.nan), 'limit'),
    (lambda: limits(state_age=0.0), 'state_age'),
    (lambda: limits(values={'lift': (1.0, 0.0)}), 'range of lift')])
def test_limits_that_make_no_sense_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize('fault', [{'thrust': 0.5}, {'running': True}])
def test_a_stop_that_is_not_obeyed_is_noticed_and_cannot_be_reset(fault):
    plant = Plant().armed()
    plant.watch.stop('stopped by the operator')
    verdicts = [plant.beat(**fault) for _ in range(60)]
    assert not any(v.ignored for v in verdicts[:49])  # it takes a moment to hear of a stop
    assert 'after the stop' in verdicts[-1].ignored
    ok, words = plant.watch.reset(plant.now)
    assert not ok
    assert 'after the stop' in words
    assert not plant.beat().ignored
    assert plant.watch.reset(plant.now)[0]


def test_what_a_silent_node_last_said_is_not_held_against_its_stop():
    plant = Plant().armed()
    plant.beat(thrust=3.0, running=True)
    verdicts = [plant.beat(heartbeat=False) for _ in range(200)]
    assert verdicts[-1].cause == 'heartbeat_age'
    assert not verdicts[-1].ignored


def test_two_controllers_stop_the_plant_and_say_so():
    plant = Plant().armed()
    for number in range(3):
        plant.now += 0.01
        plant.watch.see_heartbeat(plant.now, plant.now, 100 + number, {}, GAINS, False, False,
                                  '', 0, source=1 + number % 2)
    verdict = plant.beat(heartbeat=False)
    assert (verdict.state, verdict.cause) == (SafetyState.STOPPED, 'controllers')
    assert 'two nodes' in verdict.reason


@pytest.mark.parametrize('proposed', [{}, {'lift': math.nan}])
def test_a_candidate_without_gains_allows_none(proposed):
    plant = Plant(candidate_grace=0.015).armed()
    plant.watch.see_candidate(plant.now, 'r', 1, proposed)
    verdicts = [plant.beat(running=True, run_id='r', iteration=1) for _ in range(4)]
    assert verdicts[-1].cause == 'candidate'


def test_a_proposal_of_another_run_while_an_episode_runs_means_two_optimisers():
    plant = Plant().armed()
    plant.watch.see_candidate(plant.now, 'r', 1, {'lift': -2.0})
    assert plant.beat(running=True, run_id='r', iteration=1).ok
    plant.watch.see_candidate(plant.now, 's', 1, {'lift': -2.0})
    verdict = plant.beat(running=True, run_id='r', iteration=1)
    assert verdict.cause == 'optimisers'
    assert 'two optimisers' in verdict.reason


def test_a_candidate_that_overtakes_the_end_of_the_episode_before_it_is_no_fault():
    plant = Plant(candidate_grace=0.055).armed()
    plant.watch.see_candidate(plant.now, 'r', 1, {'lift': -2.0})
    for _ in range(20):
        assert plant.beat(running=True, run_id='r', iteration=1).ok
    plant.watch.see_candidate(plant.now, 'r', 2, {'lift': -2.0})
    assert all(plant.beat(running=True, run_id='r', iteration=1).ok for _ in range(5))
    # What nobody takes back is one.
    assert plant.beat(running=True, run_id='r', iteration=1).cause == 'candidate'


def test_commands_that_nobody_has_consented_to_are_a_stop():
    plant = Plant(stop_grace=0.045)
    plant.beat()
    assert plant.watch.check(plant.now).state is SafetyState.DISARMED
    verdicts = [plant.beat(thrust=3.0) for _ in range(10)]
    assert verdicts[2].state is SafetyState.DISARMED  # news of a stop may still be under way
    assert (verdicts[-1].state, verdicts[-1].cause) == (SafetyState.STOPPED, 'disobedience')
    assert 'nobody has armed' in verdicts[-1].reason


def test_every_arming_and_every_wish_to_reset_is_counted():
    plant = Plant()
    assert not plant.watch.arm(plant.now)[0]
    assert plant.watch.armings == 0  # refused
    plant.armed()
    assert plant.watch.arm(plant.now) == (True, 'armed already; noted')
    assert plant.watch.armings == 2
    plant.watch.reset(plant.now)
    assert plant.watch.resets == 1


def test_limits_that_contradict_the_robots_forbid_arming_and_are_named():
    plant = Plant()
    plant.beat()
    found = plant.watch.see_robot({'tilt': 2.0, 'arm': 1.0}, {'thrust': 24.0},
                                  {'damp': (0.0, 500.0)})
    assert [line.split(':')[0] for line in found] == ['tilt', 'thrust', 'damp']
    ok, words = plant.watch.arm(plant.now)
    assert not ok
    assert 'limits contradict' in words
    assert plant.watch.see_robot({'tilt': 0.5}, {'thrust': 18.0}, {'damp': (0.0, 50.0)}) == ()
    assert plant.watch.arm(plant.now)[0]


def test_a_limit_beyond_the_mechanics_is_refused():
    with pytest.raises(ValueError, match='ends at 2'):
        Watched('theta', 2.5, 'rad', mechanics=2.4)


def test_a_late_hand_on_the_dead_mans_handle_is_no_hand():
    plant = Plant(operator_age=0.055)
    for number in range(100):
        plant.watch.see_operator(plant.now, plant.now, number)
        plant.beat()
    assert plant.watch.arm(plant.now)[0]
    for number in range(100, 150):
        plant.watch.see_operator(plant.now, plant.now - 2.0, number)
        verdict = plant.beat()
    assert verdict.cause == 'operator_age'
