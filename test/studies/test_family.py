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

"""The family study: what it counts, and that every plant is another one."""
from dataclasses import replace

import numpy as np
from pacsbo_ros.robots.contract import Outcome, run_episode
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import Push
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.robot import Furuta
import pytest
from studies import family
from studies.family import judge, PLANTS, STARTS, table
from studies.pendulum import read_config


def episode(gains, margins=(1.0, 1.0, 1.0, 1.0), reward=0.97, alpha=0.2, outcome=0, role='goal',
            best=(-5.0, 26.0)):
    return {'role': role, 'gains': list(gains), 'reward': reward, 'margins': list(margins),
            'alpha': alpha, 'theta': 0.5, 'outcome': int(outcome), 'best': list(best)}


def test_the_other_engine_moves_the_same_plants_nearly_alike():
    pytest.importorskip('mujoco')
    bench, k = read_config(), [PAPER_GAINS.as_tuple(), (-4.0, 14.0, -1.5, 3.0)]
    for name, plant in family.MOVED.items():
        assert plant.equations == PLANTS[name.removesuffix(', mujoco')]
    moved = family.MOVED['calibrated, mujoco']
    one, other = (family.episodes(k, range(2), p, bench.limits, bench.settings)
                  for p in (moved, moved.equations))
    assert one.outcome.tolist() == other.outcome.tolist() == [Outcome.COMPLETED, Outcome.TRIPPED]
    assert one.reward[0] == pytest.approx(other.reward[0], abs=2e-3)
    assert one.reward[0] != other.reward[0]


def test_there_are_a_dozen_plants_and_no_two_are_the_same():
    assert len(PLANTS) >= 12
    assert len({repr(plant) for plant in PLANTS.values()}) == len(PLANTS)
    assert PLANTS['calibrated'] == CALIBRATED


def test_falls_catches_violations_and_shaking_are_told_apart(monkeypatch):
    ground = family.Ground(None, (-2.4, 27.5), 0.989, 0.001, {})
    monkeypatch.setattr(family, 'ground', lambda plant, count: ground)
    lost = (-0.2, 0.5, -0.2, -0.2)
    run = {'plant': 'calibrated', 'tuned': 2, 'start': 'default', 'seed': 0, 'reason': 'done',
           'episodes': [
               episode((-5.0, 26.0), role='start'),
               episode((-4.0, 16.0), lost, outcome=Outcome.CAUGHT, alpha=0.4),
               episode((-4.0, 17.0), lost, outcome=Outcome.CAUGHT, alpha=0.55),
               episode((-4.0, 12.0), lost, outcome=Outcome.TRIPPED, alpha=1.1),
               episode((-2.0, 38.0), (0.5, 0.5, -0.3, -0.4), reward=0.99),
               episode((-2.4, 27.5), reward=0.98, best=(-2.4, 27.5))]}
    found, = judge([run])
    assert (found['caught'], found['falls'], found['violations'], found['shaking']) == (2, 1, 2, 1)
    assert found['closed'][0] == 0
    assert found['closed'][-1] > 0.8
    assert found['episodes_to_90'] in (None, 6)
    assert found['left'] == pytest.approx(found['gap'] * (1 - found['closed'][-1]), abs=1e-4)
    assert found['early']
    assert found['good']
    assert 'calibrated' in table([found])


@pytest.mark.parametrize(('best', 'spread', 'good'), [
    ((-5.0, 26.0), 0.0, False), ((-5.0, 26.0), 0.1, True), ((-2.4, 27.5), 0.0, True)])
def test_a_run_that_spent_its_budget_is_good_if_it_came_near(monkeypatch, best, spread, good):
    ground = family.Ground(None, (-2.4, 27.5), 0.989, spread, {})
    monkeypatch.setattr(family, 'ground', lambda plant, count: ground)
    monkeypatch.setattr(family, 'repeat', lambda bench, plant, names, gains: (
        np.where(gains[:, 0] < -4, 0.97, 0.988), None, None))
    spent = [episode((-5.0, 26.0), role='start')] + 29 * [episode((-2.4, 27.5), best=best)]
    found, = judge([{'plant': 'calibrated', 'tuned': 2, 'start': 'default', 'seed': 0,
                     'reason': 'all 30 episodes of the budget are done', 'episodes': spent}])
    assert not found['early']
    assert found['good'] is good


def test_reasons_that_differ_in_numbers_are_counted_as_one():
    run = {'plant': 'calibrated', 'tuned': 2, 'start': 'upper', 'closed': [0.0], 'violations': 0,
           'falls': 0, 'caught': 0, 'shaking': 0, 'gap': 0.1, 'left': 0.1, 'spread': 0.1,
           'episodes_to_90': None, 'early': True, 'good': True}
    text = table([{**run, 'reason': f'known to within {x} (0.1 function)'}
                  for x in (0.12, 1e-05)] + [{**run, 'reason': 'the budget is done'}])
    assert 'known to within # (2)' in text


def test_a_plant_has_starts_of_every_kind_and_they_are_safe(monkeypatch):
    monkeypatch.setattr(family, 'SCATTER', 128)
    monkeypatch.setattr(family, 'REPEATS', 2)
    found = family.ground.__wrapped__('calibrated', 2)
    assert set(found.starts) == set(STARTS)
    for kind in STARTS:
        assert len(found.starts[kind]) >= 1, kind
    upper, lower = (found.starts[kind][0][1] for kind in ('upper', 'lower'))
    assert lower < found.best[1] < upper


def test_runs_side_by_side_give_the_numbers_of_the_robot_bit_for_bit():
    bench = read_config()
    short = replace(bench.settings, duration=1.2, push=Push(0.3), recovery_time=0.5)
    bench = replace(bench, episodes=4, settings=short)
    falling = replace(bench.problem, start=((-5.0, 24.6), (-4.0, 14.0), (-5.2, 24.0)), seed=3)
    led = family.lead([bench.problem, falling], bench, CALIBRATED, bench.problem.box.names)
    outcomes = set()
    for tuning, bests in led:
        assert len(bests) == len(tuning.told)
        robot = Furuta(SimulatedDriver(CALIBRATED), PAPER_GAINS, bench.limits, bench.settings)
        for told in tuning.told:
            one = run_episode(robot, tuning.problem.complete(told.trial.values), told.trial.seed)
            assert told.measured.outputs == (one.scaled_reward, *one.margins)
            assert told.measured.noise == one.noise
            assert told.measured.peaks == one.peaks[:2]
            outcomes.add(one.outcome)
    assert outcomes == {Outcome.COMPLETED, Outcome.CAUGHT}
