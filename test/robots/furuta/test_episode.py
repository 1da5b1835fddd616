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

"""The step machine: control law, hold, trips, aborts, rewards and starts."""
from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits, Push, Start
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.judging import TRACE_COLUMNS
from pacsbo_ros.robots.furuta.phases import Phase
from pacsbo_ros.robots.furuta.plant import Measurement, NO_STATE, Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.reward import PaperReward, QuadraticReward
from pacsbo_ros.robots.furuta.running import check_delay, run_episode, tick
from pacsbo_ros.robots.furuta.scaling import Scaling, Seen, wrap
from pacsbo_ros.robots.furuta.swing_up import SwingUp
from pacsbo_ros.robots.stability import Estimate
import pytest

K = Gains(-2.0, 30.0, -1.5, 3.0)
REST = Measurement(0.0, 0.0, 0.0, 0.0)
QUIET = EpisodeSettings(push=None)


def test_the_voltage_is_minus_k_x_held_for_four_samples_and_clamped():
    episode = Episode(K, settings=QUIET)
    x = Measurement(0.1, 0.02, -0.3, 0.04)
    expected = -(-2.0 * 0.1 + 30.0 * 0.02 + -1.5 * -0.3 + 3.0 * 0.04)
    assert episode.step(x) == pytest.approx(expected)
    assert [episode.step(REST) for _ in range(3)] == [pytest.approx(expected)] * 3
    assert episode.step(REST) == 0.0
    for _ in range(3):
        episode.step(REST)
    assert episode.step(Measurement(0.0, 0.0, 0.0, 50.0)) == -18.0


@pytest.mark.parametrize(('state', 'outcome'), [
    (Measurement(0.0, 0.6, 0.0, 0.0), Outcome.TRIPPED),
    (Measurement(0.0, -0.6, 0.0, 0.0), Outcome.TRIPPED),
    (Measurement(0.0, 0.6 - 2 * math.pi, 0.0, 0.0), Outcome.TRIPPED),
    (Measurement(1.6, 0.0, 0.0, 0.0), Outcome.TRIPPED),
    (Measurement(0.0, 0.0, -61.0, 0.0), Outcome.TRIPPED),
    (Measurement(0.0, 0.0, 0.0, 61.0), Outcome.TRIPPED)])
@pytest.mark.parametrize('when', [1, 2, 4, 7])
def test_the_very_sample_that_violates_a_limit_gets_zero_volts(state, outcome, when):
    episode = Episode(K, settings=replace(QUIET, trace=True))
    for _ in range(when):
        assert episode.step(Measurement(0.1, 0.01, 0.0, 0.0)) != 0.0
    assert episode.step(state) == 0.0
    assert episode.done
    assert [episode.step(Measurement(0.1, 0.1, 1.0, 1.0)) for _ in range(9)] == [0.0] * 9
    result = episode.result()
    assert result.outcome is outcome
    assert result.is_datum
    assert result.values[1] < 0
    assert 'exceeds' in result.reason
    assert [row[-1] == 0.0 for row in result.trace] == [False] * when + [True]
    assert result.duration == pytest.approx((when + 1) * SAMPLE_PERIOD)


def test_a_state_on_the_limit_is_still_allowed():
    limits = Limits()
    episode = Episode(K, limits, QUIET)
    episode.step(REST)
    episode.step(Measurement(limits.theta, limits.alpha, limits.speed, limits.speed))
    assert not episode.done


@pytest.mark.parametrize('bad', [NO_STATE, REST._replace(alpha=math.nan),
                                 REST._replace(theta_dot=math.inf)])
@pytest.mark.parametrize('start', list(Start))
def test_a_state_that_is_no_number_ends_with_zero_volts_and_no_datum(bad, start):
    episode = Episode(K, settings=replace(QUIET, start=start))
    assert episode.step(bad) == 0.0
    assert episode.result().outcome is Outcome.INVALID_STATE
    assert not episode.result().is_datum


def test_a_voltage_that_overflows_trips():
    episode = Episode(Gains(-1e308, 1e308, -1e308, 1e308), settings=QUIET)
    assert episode.step(Measurement(0.1, 0.2, 50.0, 50.0)) == 0.0
    assert episode.result().outcome is Outcome.INVALID_COMMAND
    assert not episode.result().is_datum


@pytest.mark.parametrize('after', [0, 1, 5, 999])
def test_an_abort_at_any_time_gives_zero_volts_and_a_result(after):
    episode = Episode(K, settings=replace(QUIET, trace=True), seed=3)
    for _ in range(after):
        episode.step(Measurement(0.1, 0.01, 0.0, 0.0))
    episode.abort(Outcome.CANCELLED, 'the operator pressed stop')
    episode.abort(Outcome.INFRASTRUCTURE, 'too late to matter')
    assert episode.step(Measurement(0.1, 0.01, 0.0, 0.0)) == 0.0
    result = episode.result()
    assert (result.outcome, result.reason) == (Outcome.CANCELLED, 'the operator pressed stop')
    assert not result.is_datum
    assert result.seed == 3
    assert result.trace.shape == (after, len(TRACE_COLUMNS))
    assert all(map(math.isfinite, result.values))


def test_a_monitor_abort_is_a_datum_only_for_a_measured_limit():
    for violated in (False, True):
        episode = Episode(K, settings=QUIET)
        episode.step(REST)
        episode.abort(Outcome.ABORTED_BY_MONITOR, 'alpha too large', limit_violated=violated)
        result = episode.result()
        assert result.is_datum is violated
        assert (result.values[1] < 0) is violated


def test_an_unfinished_episode_is_no_datum():
    episode = Episode(K)
    assert episode.result().outcome is Outcome.INFRASTRUCTURE
    assert not episode.result().is_datum


def test_completion_after_exactly_all_samples():
    episode = Episode(K, settings=replace(QUIET, duration=0.1))
    for _ in range(20):
        episode.step(REST)
        assert not episode.done
    assert episode.step(REST) == 0.0
    result = episode.result()
    assert (result.outcome, result.duration, result.reward) == (Outcome.COMPLETED, 0.1, 1.0)


@given(st.lists(st.tuples(st.floats(-1.5, 1.5), st.floats(-0.5, 0.5)), min_size=20, max_size=20))
def test_reward_and_peaks_are_those_of_the_paper(states):
    states[0] = (0.1, 0.1)
    episode = Episode(K, settings=replace(QUIET, duration=0.1))
    for theta, alpha in states:
        episode.step(Measurement(theta, alpha, 0.0, 0.0))
    theta, alpha = np.abs(states).T
    result = episode.result()
    assert result.reward == pytest.approx(
        np.mean(np.maximum(1 - (0.8 * alpha + 0.2 * theta) / np.pi, 0) ** 2))
    assert result.max_abs_alpha == alpha.max()
    assert result.max_abs_theta == theta.max()


def test_cut_off_samples_count_as_the_worst():
    for reward, kept in ((PaperReward(), 1.0), (QuadraticReward(), 0.0)):
        episode = Episode(K, settings=replace(QUIET, duration=0.1, reward=reward))
        for _ in range(5):
            episode.step(REST)
        episode.abort(Outcome.CANCELLED, 'stop')
        assert episode.result().reward == pytest.approx((5 * kept + 15 * reward.worst) / 20)


@given(st.tuples(*[st.floats(-3, 3)] * 4), st.floats(-18, 18))
def test_quadratic_reward_is_the_floored_cost(state, volts):
    reward = QuadraticReward(q=(1.0, 2.0, 0.1, 0.2), r=0.01)
    cost = np.dot(np.square(state), reward.q) + 0.01 * volts ** 2
    assert reward.sample(*state, volts) == pytest.approx(-min(cost, 1.0))
    arrays = [np.array([x, 0.0]) for x in (*state, volts)]
    assert reward.samples(*arrays)[0] == reward.sample(*state, volts)


def seen(reward=0.9, alpha=0.5, theta=0.1, decay=1.0, swing=0.5, cut_off=None, noise=0.0,
         rest=None):
    return Seen(*(None if x is None else Estimate(x, noise)
                  for x in (reward, alpha, theta, decay, swing)), rest, cut_off)


@given(st.floats(0, 3), st.floats(0, 1))
def test_the_scaled_constraint_keeps_the_sign_of_the_margin(peak, cut_off):
    _, angle, *_ = Scaling().values(seen(alpha=peak, cut_off=cut_off if peak > 1 else None))
    assert (angle >= 0) is (peak <= 1)
    assert -1 <= angle <= 2


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_scaled_reward_is_monotone_and_bounded_below(a, b):
    low, high = (Scaling().values(seen(reward))[0] for reward in sorted((a, b)))
    assert -1 <= low <= high


def test_a_loop_that_forgets_worse_is_worth_less_and_early_falls_least():
    def stability(decay, cut_off=None):
        return Scaling().values(seen(decay=decay, cut_off=cut_off))[3]

    def swing(left, cut_off=None):
        return Scaling().values(seen(swing=left, cut_off=cut_off))[4]
    assert stability(2.5) == 1.0
    assert stability(9.0) == 2.0
    assert stability(1.0) > stability(0.1) > 0 > stability(-0.2)
    assert stability(1.0, 0.5) == swing(0.1, 0.5) == -0.125
    assert swing(0.2) > swing(0.9) > 0 > swing(1.1) > swing(5.0) == -1.0
    assert Scaling().values(seen(decay=None, swing=None))[3:] == (1.0, 1.0)


def test_a_loop_that_still_swings_at_the_end_is_unsafe_whatever_its_fit_says():
    calm, shaking = (Scaling().values(seen(swing=0.4, rest=rest))[4] for rest in (0.05, 0.3))
    assert calm == pytest.approx(0.6)
    assert shaking < 0
    hidden = replace(CALIBRATED, voltage_limit=10.0)  # the controller believes in 18 V
    result = run_episode(SimulatedDriver(hidden), Gains(-2.3, 46.7), seed=3)
    assert result.outcome is Outcome.COMPLETED
    assert result.decay_rate > 0
    assert result.values[4] < 0


@given(st.floats(-10, 10), st.floats(0, 5))
def test_loops_that_shake_within_the_limits_are_safe_if_the_user_says_so(decay, swing):
    shaking = seen(decay=decay, swing=swing)
    strict, lenient = (Scaling(cycles_are_safe=c).values(shaking)[3:] for c in (False, True))
    assert min(lenient) > 0
    assert all(b == a if a >= 0.1 else 0 < b < 0.1
               for a, b in zip(strict, lenient, strict=True))
    lost = Scaling(cycles_are_safe=True).values(seen(cut_off=0.2))
    assert max(lost[3:]) < 0


def test_the_noise_of_a_value_is_its_own_and_never_zero():
    assert Scaling().noise(seen()) == (0.02,) * 5
    assert Scaling().noise(seen(noise=0.04)) == pytest.approx(
        [math.hypot(0.02, x) for x in (1.0, 0.08, 0.04, 0.016, 0.04)], rel=0.03)
    assert Scaling().noise(seen(decay=None, swing=None, noise=0.04))[3:] == (0.02, 0.02)


def test_that_an_episode_was_lost_is_certain_and_by_how_much_is_not():
    reward, angle, arm, stability, swing = Scaling().noise(seen(cut_off=0.5, noise=0.04))
    assert swing == 0.02  # it alone keeps these gains unsafe
    assert reward == 1.0
    assert min(angle, stability) > max(abs(v) for v in Scaling().values(seen(cut_off=1.0))[1::2])
    assert arm == pytest.approx(math.hypot(0.02, 0.04))


@pytest.mark.parametrize(('k_alpha', 'low', 'high'), [
    (22.0, 0.1, 0.8), (28.0, 0.8, 1.6), (36.0, -0.2, 0.15), (38.0, -1.0, -0.15)])
def test_the_stability_of_the_pendulum_falls_towards_both_edges(k_alpha, low, high):
    result = run_episode(SimulatedDriver(), Gains(-3.0, k_alpha), seed=4)
    assert result.outcome is Outcome.COMPLETED
    assert low < result.values[3] < high
    assert result.values[3] == pytest.approx(max(-1, result.decay_rate / 2.5))
    if k_alpha < 36:
        assert result.values[4] == pytest.approx(1 - result.swing)
    else:  # it never comes to rest
        assert result.values[4] < min(0, 1 - result.swing)
    assert (result.saturated > 0.05) is (k_alpha == 38.0)


@pytest.mark.parametrize('gains', [Gains(-5.2, 24.0), Gains(-4.0, 24.0), Gains(-2.7, 30.0)])
def test_the_noise_of_every_value_is_that_of_repeats_within_a_factor_of_four(gains):
    results = [run_episode(SimulatedDriver(), gains, seed=s) for s in range(12)]
    spread = np.std([r.values for r in results], axis=0)
    own = np.median([r.noise for r in results], axis=0)
    assert (own > spread / 4).all()
    assert (own < 4 * np.maximum(spread, 0.02)).all()
    assert 0.5 < own[0] / max(spread[0], 0.02) < 2.5  # what finds the best gains


def test_without_a_push_nothing_is_said_about_stability():
    settings = EpisodeSettings(push=None)
    result = run_episode(SimulatedDriver(replace(CALIBRATED, start_spread=0.01)),
                         Gains(-3.0, 26.0), settings=settings, seed=1)
    assert result.outcome is Outcome.COMPLETED
    assert result.values[3:] == (1.0, 1.0)
    assert math.isnan(result.decay_rate)
    assert math.isnan(result.swing)


@given(st.floats(-100, 100))
def test_wrap_keeps_the_direction(angle):
    wrapped = wrap(angle)
    assert abs(wrapped) <= math.pi + 1e-9
    assert math.cos(wrapped) == pytest.approx(math.cos(angle), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(angle), abs=1e-9)
    if abs(angle) <= 3.14:
        assert wrapped == angle


def test_the_push_is_due_once_at_its_time():
    episode = Episode(K, settings=EpisodeSettings(push=Push(0.1, 2.0)))
    due = []
    for _ in range(100):
        episode.step(REST)
        due.append(episode.push_due)
    assert due == [0.0] * 20 + [2.0] + [0.0] * 79


def test_the_push_reaches_the_plant():
    settings = EpisodeSettings(trace=True)
    result = run_episode(SimulatedDriver(), PAPER_GAINS, settings=settings)
    time, alpha_dot = result.trace[:, 0], result.trace[:, 4]
    assert np.abs(alpha_dot[time <= 1.0]).max() < 1.0
    assert np.abs(alpha_dot[(time > 1.0) & (time < 1.1)]).max() > 1.0


def test_upright_start_is_refused_when_the_pendulum_lies():
    episode = Episode(K, settings=QUIET)
    assert episode.step(Measurement(0.0, 0.4, 0.0, 0.0)) == 0.0
    assert episode.result().outcome is Outcome.START_FAILED
    assert not episode.result().is_datum


def test_by_hand_waits_with_zero_volts_for_the_hold_time():
    episode = Episode(K, settings=replace(QUIET, start=Start.BY_HAND, hold_time=0.1))
    hanging = Measurement(0.0, 3.1, 0.0, 0.0)
    upright = Measurement(0.05, 0.1, 0.0, 0.0)
    for state in [hanging] * 50 + [upright] * 10 + [hanging] * 5 + [upright] * 19:
        assert episode.step(state) == 0.0
    assert episode.phase is Phase.WAITING
    assert episode.step(upright) != 0.0
    assert episode.phase is Phase.RUNNING
    assert episode.result().max_abs_alpha == pytest.approx(0.1)


def test_a_start_that_never_comes_fails_in_time():
    episode = Episode(K, settings=replace(QUIET, start=Start.BY_HAND, start_timeout=1.0))
    for _ in range(201):
        episode.step(Measurement(0.0, 3.1, 0.0, 0.0))
    assert episode.result().outcome is Outcome.START_FAILED
    assert episode.result().duration == 0.0


@pytest.mark.parametrize('name', PRESETS)
def test_swing_up_brings_most_hanging_starts_upright_and_the_episode_then_runs(name):
    plant = PRESETS[name]
    lag = 0.0 if plant.velocity_filter is None else 1 / plant.velocity_filter
    settings = EpisodeSettings(start=Start.SWING_UP,
                               swing_up=SwingUp(parameters=plant.parameters, lag=lag))
    up = 0
    for seed in range(6):
        driver = SimulatedDriver(plant, hanging=True)
        episode = Episode(PAPER_GAINS, settings=settings)
        driver.reset(np.random.default_rng(seed))
        highest = math.pi
        while not episode.done and episode.phase is not Phase.RUNNING:
            measurement = tick(driver, episode)
            highest = min(highest, abs(wrap(measurement.alpha)))
        if episode.phase is Phase.RUNNING:
            assert highest < 0.2
            up += 1
    assert up >= 4


def test_after_swing_up_the_score_covers_the_tried_gains_alone():
    settings = EpisodeSettings(start=Start.SWING_UP)
    result = run_episode(SimulatedDriver(hanging=True), PAPER_GAINS, settings=settings, seed=0)
    assert result.outcome is Outcome.COMPLETED
    assert result.duration == pytest.approx(5.0)
    assert result.max_abs_alpha < math.radians(30)


def test_an_arm_that_leaves_its_range_ends_the_swing_up():
    episode = Episode(K, settings=replace(QUIET, start=Start.SWING_UP))
    assert episode.step(Measurement(0.0, 3.1, 0.0, 0.0)) != 0.0
    assert episode.step(Measurement(2.3, 3.1, 0.0, 0.0)) == 0.0
    assert episode.result().outcome is Outcome.START_FAILED


def test_good_gains_complete_and_bad_gains_trip_with_the_motor_off():
    driver = SimulatedDriver()
    assert run_episode(driver, PAPER_GAINS).outcome is Outcome.COMPLETED
    result = run_episode(driver, Gains(-5.0, 12.0))
    assert result.outcome is Outcome.TRIPPED
    assert driver.voltage_log[-CALIBRATED.delay - 1] != 0.0  # it was still steering before


def test_the_same_seed_gives_the_same_episode():
    first, second = (run_episode(SimulatedDriver(), PAPER_GAINS, seed=11) for _ in range(2))
    assert first == second
    assert first.reward != run_episode(SimulatedDriver(), PAPER_GAINS, seed=12).reward


def test_a_driver_that_raises_is_closed():
    class Broken(SimulatedDriver):
        closed = False

        def read(self):
            if len(self.voltage_log) == 10:
                raise OSError('cable')
            return super().read()

        def close(self):
            self.closed = True
            super().close()

    driver = Broken()
    with pytest.raises(OSError, match='cable'):
        run_episode(driver, PAPER_GAINS)
    assert driver.closed
    driver.write(5.0)
    assert driver.voltage_log[-1] == 0.0


def test_a_nan_inside_the_plant_ends_the_episode_with_the_motor_off():
    driver = SimulatedDriver()
    episode = Episode(PAPER_GAINS)
    driver.reset(np.random.default_rng(0))
    for _ in range(50):
        tick(driver, episode)
    driver.set_state((0.0, math.nan, 0.0, 0.0))
    for _ in range(10):
        tick(driver, episode)
    assert episode.result().outcome is Outcome.INVALID_STATE
    assert set(driver.voltage_log) == {0.0}


def test_a_limit_seen_by_the_monitor_during_swing_up_is_not_held_against_the_gains():
    episode = Episode(K, settings=replace(QUIET, start=Start.SWING_UP))
    episode.step(Measurement(0.0, 3.1, 0.0, 0.0))
    episode.abort(Outcome.ABORTED_BY_MONITOR, 'alpha too large', limit_violated=True)
    assert not episode.result().is_datum


@pytest.mark.parametrize('make', [
    lambda: Limits(alpha=-1.0), lambda: Limits(alpha=4.0), lambda: Limits(speed=math.nan),
    lambda: EpisodeSettings(duration=0.0), lambda: EpisodeSettings(duration=math.nan),
    lambda: EpisodeSettings(control_every=0), lambda: EpisodeSettings(push=Push(9.0)),
    lambda: EpisodeSettings(hold_time=0.0), lambda: Push(alpha_dot=math.nan),
    lambda: QuadraticReward(q=(1.0,)), lambda: Scaling(reward_scale=0.0),
    lambda: SwingUp(acceleration=-1.0), lambda: SwingUp(lost_angle=0.1)])
def test_impossible_settings_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_a_delay_longer_than_the_episode_is_refused():
    late = replace(CALIBRATED, delay=2000)
    with pytest.raises(ValueError, match=r'delay of 2000 samples.*1000'):
        run_episode(SimulatedDriver(late), PAPER_GAINS)
    check_delay(CALIBRATED, EpisodeSettings())


def test_every_outcome_has_a_sentence_and_its_planned_number():
    assert [outcome.value for outcome in Outcome] == list(range(9))
    assert len({outcome.sentence for outcome in Outcome}) == 9


@pytest.mark.parametrize('gains', [[-2.5, 23.0], (float('nan'), 1.0), None])
def test_gains_that_are_no_gains_are_refused_with_advice(gains):
    with pytest.raises(ValueError, match=r'make them with Gains'):
        Episode(gains)


@pytest.mark.parametrize('plant', [{'delay': 1.5}, {'delay': math.nan}, {'substeps': 5.5},
                                   {'encoder_counts': math.nan}])
def test_counts_of_a_plant_must_be_whole_numbers(plant):
    with pytest.raises(ValueError, match='whole number'):
        Plant(**plant)


def test_changed_gains_are_the_gains_in_force():
    episode = Episode(Gains(-2.0, 20.0), settings=EpisodeSettings(control_every=1, push=None))
    state = Measurement(0.0, 0.1, 0.0, 0.0)
    assert episode.step(state) == pytest.approx(-2.0)
    episode.change_gains(Gains(-2.0, 30.0))
    assert episode.step(state) == pytest.approx(-3.0)
    assert episode.result().gains == Gains(-2.0, 30.0)
