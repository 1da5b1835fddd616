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

"""Caught, not dropped: the trigger, the law that catches, what good episodes teach."""
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup, ENOUGH, Experience, FAR, REACH
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.linear import linearise
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.phases import Phase
from pacsbo_ros.robots.furuta.plant import Measurement, Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.robot import Furuta
from pacsbo_ros.robots.furuta.running import run_episode
import pytest

CAREFUL = EpisodeSettings(backup=Backup())
FALLING = (Gains(-4.0, 14.0), Gains(-4.0, 18.0), Gains(-1.0, 10.0))
LONGER = Plant(Parameters(arm_inertia=1.144e-4, pendulum_length=0.1677, coulomb_torque=9e-4),
               encoder_counts=2048, velocity_filter=50.0, delay=1, voltage_limit=18.0,
               arm_stop=2.4)


def test_the_heading_grows_with_the_rate_of_the_unstable_mode():
    A, _ = linearise(CALIBRATED.parameters)
    w = np.array(Backup().weights)
    rate = np.linalg.eigvals(A).real.max()
    assert w @ A == pytest.approx(rate * w, abs=1e-9)
    assert w[1] == 1.0


@pytest.mark.parametrize('gains', FALLING, ids=str)
def test_gains_that_fall_are_caught_and_are_an_unsafe_datum(gains):
    dropped = run_episode(SimulatedDriver(), gains, Limits(alpha=math.pi, theta=9), seed=3)
    assert dropped.max_abs_alpha > math.pi / 2
    driver = SimulatedDriver()
    result = run_episode(driver, gains, settings=replace(CAREFUL, trace=True), seed=3)
    assert result.outcome is Outcome.CAUGHT
    assert result.is_datum
    assert max(result.values[i] for i in (1, 3, 4)) < 0
    assert 'the backup took over' in result.reason
    assert result.max_abs_alpha < 1.3 * Limits().alpha
    assert abs(driver.read().alpha) < 0.2
    assert result.duration < 5.0
    assert np.diff(result.trace[:, 0]) == pytest.approx(SAMPLE_PERIOD)
    assert result.trace[-1, 0] > result.duration  # the catch is shown too


def test_safe_gains_are_left_alone_and_measured_as_without_a_backup():
    for k_alpha in (23.0, 27.0, 31.0):
        for seed in range(3):
            with_it, without = (run_episode(SimulatedDriver(), Gains(-3.0, k_alpha),
                                            settings=s, seed=seed)
                                for s in (CAREFUL, EpisodeSettings()))
            assert with_it.outcome is Outcome.COMPLETED
            assert with_it.values == without.values


def test_the_longer_pendulum_is_caught_though_its_edge_is_no_linear_one():
    settings = EpisodeSettings(backup=Backup(Gains(-2.0, 34.0)))  # safe on this one
    caught = [run_episode(SimulatedDriver(LONGER), Gains(-4.0, k), settings=settings, seed=6)
              for k in (24.0, 28.0, 31.0)]
    assert [r.outcome for r in caught] == [Outcome.CAUGHT] * 3


def test_the_backup_acts_at_every_sample():
    episode = Episode(PAPER_GAINS, settings=CAREFUL)
    episode.step(Measurement(0.0, 0.0, 0.0, 0.0))
    episode.step(Measurement(0.0, 0.45, 0.0, 6.0))
    assert episode.phase is Phase.RECOVERING
    sent = [episode.step(Measurement(0.0, 0.3 - 0.01 * i, 0.0, 0.0)) for i in range(6)]
    assert len(set(sent)) == 6


def test_what_the_backup_loses_gets_zero_volts():
    episode = Episode(PAPER_GAINS, settings=CAREFUL)
    episode.step(Measurement(0.0, 0.0, 0.0, 0.0))
    assert episode.step(Measurement(0.0, 0.6, 0.0, 3.0)) != 0.0
    assert not episode.done
    assert episode.step(Measurement(0.0, 1.01, 0.0, 8.0)) == 0.0
    result = episode.result()
    assert result.outcome is Outcome.TRIPPED
    assert result.limit_violated
    assert 'lost it' in result.reason


def test_a_pendulum_that_is_held_but_never_calm_ends_caught():
    episode = Episode(PAPER_GAINS, settings=replace(CAREFUL, recovery_time=0.5))
    episode.step(Measurement(0.0, 0.0, 0.0, 0.0))
    steps = 0
    while not episode.done:
        episode.step(Measurement(0.0, 0.45, 0.0, 6.0))
        steps += 1
    assert episode.result().outcome is Outcome.CAUGHT
    assert steps == pytest.approx(0.5 / SAMPLE_PERIOD, abs=2)


def test_experience_keeps_the_calmest_gains():
    experience = Experience(Backup(reach=0.9))
    experience.learn(Gains(-4.0, 24.0), (1.0, 0.2))
    assert experience.backup.gains == Gains(-4.0, 24.0)
    experience.learn(Gains(-3.0, 28.0), (1.0, 0.6))
    experience.learn(Gains(-5.0, 28.0), (1.0, -0.1))  # shakes: nothing to learn from
    experience.learn(Gains(-2.0, 22.0), (0.3, 0.3))
    assert experience.backup == Backup(Gains(-3.0, 28.0), 0.9)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_large_heading_is_left_to_gains_that_answer_it_and_a_huge_one_to_none(sign):
    backup, limit = Backup(), 0.5
    heading = sign * 1.1 * REACH * limit
    enough = -backup.enough * heading
    assert not backup.takes_over(heading, 1.05 * enough, limit)
    assert backup.takes_over(heading, 0.95 * enough, limit)
    assert backup.takes_over(heading, -enough, limit)
    assert not backup.takes_over(sign * 0.9 * REACH * limit, -enough, limit)
    assert backup.takes_over(sign * 1.01 * FAR * REACH * limit, -sign * 18.0, limit)


def test_an_answer_that_is_enough_makes_the_heading_shrink():
    A, B = linearise(CALIBRATED.parameters)
    backup, x = Backup(), np.array([0.0, 0.5, 0.0, 0.0])
    w = np.array(backup.weights)
    rate = np.linalg.eigvals(A).real.max()
    growth = w @ (A @ x + np.ravel(B) * -backup.enough * (w @ x))
    assert growth == pytest.approx((1 - ENOUGH) * rate * (w @ x))


def test_the_robot_catches_by_default_learns_and_goes_on():
    robot = Furuta(SimulatedDriver(PRESETS['calibrated']))

    def outcome(k_theta, k_alpha, seed):
        robot.begin({'k_theta': k_theta, 'k_alpha': k_alpha}, seed)
        while not robot.tick().over:
            pass
        return robot.result().outcome
    assert outcome(-3.0, 27.0, 1) is Outcome.COMPLETED
    assert outcome(-4.0, 16.0, 2) is Outcome.CAUGHT
    assert outcome(-3.0, 27.0, 3) is Outcome.COMPLETED
    alone = Furuta(SimulatedDriver(PRESETS['calibrated']), backup=False)
    alone.begin({'k_theta': -4.0, 'k_alpha': 16.0}, 2)
    while not alone.tick().over:
        pass
    assert alone.result().outcome is Outcome.TRIPPED


def test_a_reach_that_is_none_is_refused():
    with pytest.raises(ValueError, match='reach'):
        Backup(reach=0.0)
