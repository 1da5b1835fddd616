"""The monitor's judgement, moment by moment."""
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from pacsbo_ros.safety import Freshness, SafetyLimits, SafetyState, Watch

GAINS = (-2.0, 25.0, -1.5, 3.0)


class Plant:
    """Feed a watch as a healthy graph would, one hundredth of a second at a time."""

    def __init__(self, limits=None):
        self.watch = Watch(limits or SafetyLimits())
        self.now, self.sequence = 100.0, 0

    def beat(self, alpha=0.0, theta=0.0, speed=0.0, voltage=0.0, gains=GAINS, running=False,
             upright=True, run_id='', iteration=0, joints=True, heartbeat=True):
        self.now += 0.01
        self.sequence += 1
        if joints:
            self.watch.see_joints(self.now, self.now, theta, alpha, speed, 0.0)
        if heartbeat:
            self.watch.see_heartbeat(self.now, self.now, self.sequence, voltage, gains, running,
                                     upright and running, run_id, iteration)
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
    assert 'joint state' in words
    assert plant.armed().beat().ok


@pytest.mark.parametrize(('fault', 'cause', 'measured'), [
    ({'alpha': 1.2}, 'alpha', True), ({'alpha': -1.2}, 'alpha', True),
    ({'theta': 2.5}, 'theta', True), ({'speed': -100.0}, 'speed', True),
    ({'voltage': 19.0}, 'voltage', False), ({'voltage': math.nan}, 'voltage', False),
    ({'gains': (-2.0, 500.0, -1.5, 3.0)}, 'gains', False),
    ({'gains': (math.nan, 25.0, -1.5, 3.0)}, 'gains', False),
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
    assert Plant().armed().beat(alpha=math.pi).ok


def test_the_angle_is_not_judged_while_the_pendulum_is_swung_up_but_the_arm_is():
    plant = Plant().armed()
    assert all(plant.beat(alpha=a, running=True, upright=False).ok for a in (3.1, -3.1, 9.0, 1.5))
    assert plant.beat(running=True).ok
    assert plant.beat(theta=2.5, running=True, upright=False).cause == 'theta'


def test_a_hanging_pendulum_seen_before_the_hand_over_is_no_fall_whatever_comes_first():
    for overtaken in (False, True):
        plant = Plant().armed()
        watch, now = plant.watch, plant.now
        watch.see_heartbeat(now + 0.01, now + 0.01, 10, 0.0, GAINS, True, False, '', 0)
        late = (now + 0.02, now + 0.012, 0.0, math.pi, 0.0, 0.0)
        hand_over = (now + 0.02, now + 0.015, 11, 0.0, GAINS, True, True, '', 0)
        if overtaken:
            watch.see_heartbeat(*hand_over)
        watch.see_joints(*late)
        if not overtaken:
            watch.see_heartbeat(*hand_over)
        assert watch.check(now + 0.02).ok
        watch.see_joints(now + 0.025, now + 0.02, 0.0, math.pi, 0.0, 0.0)
        assert watch.check(now + 0.03).cause == 'alpha'


@pytest.mark.parametrize(('silent', 'cause'), [
    ({'joints': False}, 'state_age'), ({'heartbeat': False}, 'heartbeat_age')])
def test_silence_stops_and_reset_is_refused_until_it_ends(silent, cause):
    plant = Plant(SafetyLimits(state_age=0.245, heartbeat_age=0.245)).armed()
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
    plant = Plant(SafetyLimits(operator_age=0.055))
    plant.beat()
    assert 'operator' in plant.watch.arm(plant.now)[1]
    plant.watch.see_operator(plant.now)
    assert plant.watch.arm(plant.now)[0]
    verdicts = [plant.beat() for _ in range(8)]
    assert [v.ok for v in verdicts[:5]] == [True] * 5
    assert verdicts[-1].cause == 'operator_age'


def test_gains_in_force_must_be_those_proposed():
    plant = Plant().armed()
    plant.watch.see_candidate(plant.now, 'run', 3, {0: -2.0, 1: 25.0})
    assert all(plant.beat(running=True, run_id='run', iteration=3).ok for _ in range(60))
    plant.beat()
    plant.watch.see_candidate(plant.now, 'run', 4, {0: -2.0, 1: 26.0})
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
            plant.beat(running=True, alpha=2.0 if step == 'bad' else 0.0)
        after = plant.watch.check(plant.now).ok
        assert not after or before or step == 'arm'
        assert not (after and step in ('stop', 'bad', 'silent'))


@pytest.mark.parametrize('limits', [{'alpha': -1.0}, {'speed': math.nan}, {'gains_lower': (0.0,)},
                                    {'gains_lower': (1.0, 0.0, 0.0, 0.0)}])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(ValueError, match='limit'):
        SafetyLimits(**limits)


def test_duplicated_reordered_and_delayed_messages_do_not_refresh():
    fresh = Freshness(max_delay=0.05)
    assert fresh.age(0.0) == math.inf
    assert fresh.accept(10.00, 5.00, 1)
    assert not fresh.accept(10.01, 5.00, 1)  # duplicated
    assert not fresh.accept(10.02, 4.99, 0)  # reordered
    assert not fresh.accept(10.20, 5.02, 2)  # 0.18 s under way, the quickest took 0
    assert fresh.age(10.20) == pytest.approx(0.20)
    assert fresh.accept(10.21, 5.20, 3)


def test_a_restarted_source_counts_again_after_a_while():
    fresh = Freshness(forget=1.0)
    assert fresh.accept(10.0, 10.0, 500)
    assert not fresh.accept(10.5, 3.0, 1)
    assert fresh.accept(11.2, 3.7, 2)
    assert fresh.accept(11.3, 3.8, 3)


@given(st.lists(st.floats(0, 0.04), min_size=1, max_size=50), st.floats(-1e6, 1e6))
def test_ordinary_jitter_is_accepted_whatever_the_clocks_offset(delays, offset):
    fresh = Freshness(max_delay=0.05)
    for number, delay in enumerate(delays):
        sent = number * 0.05
        assert fresh.accept(sent + delay, sent + offset, number)


def test_another_process_counts_at_once_and_two_in_turn_are_rivals():
    fresh = Freshness(forget=1.0)
    assert fresh.accept(10.00, 10.00, 500, source=1)
    assert fresh.accept(10.02, 3.00, 1, source=2)  # restarted: its count begins anew
    assert not fresh.rivals(10.02)
    assert fresh.accept(10.04, 10.04, 502, source=1)  # the first one is not dead
    assert fresh.rivals(10.04)
    assert fresh.accept(10.06, 10.06, 503, source=1)
    assert fresh.rivals(11.0)
    assert not fresh.rivals(11.05)


def test_three_processes_in_turn_are_rivals_too():
    fresh = Freshness()
    for number in range(6):
        fresh.accept(10 + 0.02 * number, 10 + 0.02 * number, number, source=number % 3)
    assert fresh.rivals(10.1)


def test_clocks_that_drift_apart_slowly_do_not_make_messages_old():
    fresh = Freshness(max_delay=0.05)
    assert all(fresh.accept(t, t * (1 - 5e-4), number)
               for number, t in enumerate(0.02 * i for i in range(50 * 1200)))


def test_two_controllers_stop_the_plant_and_say_so():
    plant = Plant().armed()
    for number in range(3):
        plant.now += 0.01
        plant.watch.see_heartbeat(plant.now, plant.now, 100 + number, 0.0, GAINS, False, False,
                                  '', 0, source=1 + number % 2)
    verdict = plant.beat(heartbeat=False)
    assert (verdict.state, verdict.cause) == (SafetyState.STOPPED, 'controllers')
    assert 'two controllers' in verdict.reason


@pytest.mark.parametrize('proposed', [{}, {0: math.nan}])
def test_a_candidate_without_gains_allows_none(proposed):
    plant = Plant(SafetyLimits(candidate_grace=0.015)).armed()
    plant.watch.see_candidate(plant.now, 'r', 1, proposed)
    verdicts = [plant.beat(running=True, run_id='r', iteration=1) for _ in range(4)]
    assert verdicts[-1].cause == 'candidate'


def test_a_proposal_of_another_run_while_an_episode_runs_means_two_optimisers():
    plant = Plant().armed()
    plant.watch.see_candidate(plant.now, 'r', 1, {0: GAINS[0]})
    assert plant.beat(running=True, run_id='r', iteration=1).ok
    plant.watch.see_candidate(plant.now, 's', 1, {0: GAINS[0]})
    verdict = plant.beat(running=True, run_id='r', iteration=1)
    assert verdict.cause == 'optimisers'
    assert 'two optimisers' in verdict.reason


def test_a_candidate_that_overtakes_the_end_of_the_episode_before_it_is_no_fault():
    plant = Plant(SafetyLimits(candidate_grace=0.055)).armed()
    plant.watch.see_candidate(plant.now, 'r', 1, {0: GAINS[0]})
    for _ in range(20):
        assert plant.beat(running=True, run_id='r', iteration=1).ok
    plant.watch.see_candidate(plant.now, 'r', 2, {0: GAINS[0]})
    assert all(plant.beat(running=True, run_id='r', iteration=1).ok for _ in range(5))
    # What nobody takes back is one.
    assert plant.beat(running=True, run_id='r', iteration=1).cause == 'candidate'
