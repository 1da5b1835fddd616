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

"""On the simulated pendulum: noise above R is told early, a start on the edge at once."""

from dataclasses import replace

from pacsbo_ros.robots.contract import run_episode
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import preset
from pacsbo_ros.robots.furuta.robot import Furuta
from pacsbo_ros.tuning.journal import Journal
from pacsbo_ros.tuning.trial import Measured
from pacsbo_ros.tuning.tuning import Tuning
from studies.pendulum import read_config


def tune(path, plant, episodes, tells=True, **changes):
    """Run the configured tuning for some episodes on a plant that tells its noise or does not."""
    bench = read_config()
    problem = replace(bench.problem, **changes)
    robot = Furuta(SimulatedDriver(plant), PAPER_GAINS, bench.limits, bench.settings)
    tuning = Tuning(problem, bench.episodes, Journal(path, problem.identity('')))
    while len(tuning.told) < episodes and (trial := tuning.next()) is not None:
        measured = Measured.of(run_episode(robot, problem.complete(trial.values), trial.seed))
        tuning.tell(measured if tells else replace(measured, noise=()))
    return tuning


def test_repeats_that_scatter_are_told_within_six_episodes(tmp_path):
    """
    With three times the friction six of eight runs are told, with once none.

    That is for a robot that is believed to have the noise of noise_bound. The pendulum's episodes
    tell how sure they are, and that grows with the friction: two of eight are told then.
    """
    plant = preset('calibrated')

    def told(factor, seed):
        friction = replace(plant.parameters,
                           coulomb_torque=factor * plant.parameters.coulomb_torque)
        tuning = tune(tmp_path / f'{factor}-{seed}', replace(plant, parameters=friction), 6,
                      tells=False, seed=seed, start_repeats=1)
        return any('set noise_bound to' in text for text in tuning.notices)
    assert sum(told(3, seed) for seed in range(8)) >= 5
    assert not any(told(1, seed) for seed in range(4))


def test_starts_on_the_upper_edge_are_told_at_once(tmp_path):
    tuning = tune(tmp_path / 'edge', preset('calibrated'), 30,
                  start=((-2.75, 38.0), (-2.55, 37.5), (-2.48, 38.5)))
    searched = [t.trial.role for t in tuning.told if t.trial.role != 'verification']
    assert len(searched) <= 8
    # By the constraints that see the edge they are unsafe; without those nothing else is safe.
    assert ('none of the start values is safe' in tuning.reason
            or 'no point besides the measured ones' in tuning.reason)
