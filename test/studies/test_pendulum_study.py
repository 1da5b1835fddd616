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

from dataclasses import replace

import pytest
from studies import pendulum
from studies.pendulum import METHODS, read_config, Rewards

FALLING, CYCLING, CALM = (-2.0, 11.0), (-2.0, 48.0), (-2.5, 27.0)


@pytest.fixture(scope='module')
def bench():
    return read_config()


@pytest.fixture(scope='module')
def runs(bench):
    short = replace(bench, episodes=6)
    return [{'method': m, 'seed': 3, **pendulum.tune({'method': m, 'seed': 3}, short)}
            for m in (pendulum.DEFAULT, 'SafeOpt, B = 10', 'SafeOpt, β = 2', pendulum.RANDOM)]


def episode(gains, safe=True, reward=0.9, role='maximiser', seed=1):
    return {'role': role, 'gains': gains, 'seed': seed, 'reward': reward, 'safe': safe,
            'alpha': 0.2, 'outcome': 0}


def test_every_method_sees_the_same_episodes_starts(runs):
    seeds = [[e['seed'] for e in run['episodes']][:3] for run in runs]
    assert all(s == seeds[0] for s in seeds)
    starts = [[e['gains'] for e in run['episodes']][:3] for run in runs]
    assert all(s == starts[0] for s in starts)


def test_every_method_of_the_table_makes_its_own_optimiser(bench):
    made = [pendulum.make_problem(bench, m, 7) for m in METHODS if pendulum.PREDICTOR not in m]
    assert all(p.seed == 7 and p.start == bench.problem.start for p in made)
    assert len({(type(p), p.known_norm, p.settings) for p in made}) == len(METHODS) - 1
    assert made[0].settings == bench.problem.settings  # the default is what a user runs


def test_the_incumbent_is_the_best_that_was_never_unsafe():
    run = {'episodes': [episode((0,), reward=0.5), episode((1,), reward=0.8),
                        episode((2,), safe=False, reward=0.9), episode((1,), safe=False),
                        episode((3,), reward=0.6), episode((4,), reward=1.0,
                                                           role='verification')]}
    assert pendulum.incumbents(run) == [(0,), (1,), (1,), (0,), (3,)]


def test_only_gains_that_drop_the_pendulum_count_as_falls(bench):
    runs = [{'episodes': [episode(FALLING, safe=False), episode(FALLING, safe=False, seed=2)]},
            {'episodes': [episode(CALM, safe=False), episode(FALLING)]},
            {'episodes': [episode(CALM)]}]
    assert pendulum.count_falls(bench, runs) == [2, 0, 0]


def test_progress_is_one_at_the_optimum_and_zero_at_the_start(bench):
    rewards = Rewards(bench)
    rewards.measure([CALM, *bench.problem.start])
    best = max(bench.problem.start, key=rewards.__getitem__)
    run = {'method': pendulum.DEFAULT, 'seed': 0, 'reason': '',
           'episodes': [episode(best), episode(CALM, reward=0.95), episode(FALLING, safe=False)]}
    outcome = pendulum.judge(bench, [run], rewards, CALM)[0]
    assert outcome['closed'][0] == 0
    assert outcome['closed'][1] == outcome['closed'][-1] == 1
    assert (outcome['episodes_to_90'], outcome['violations'], outcome['falls']) == (2, 1, 1)


def test_the_safe_optimum_is_safe_and_better_than_the_starts(bench):
    rewards = Rewards(bench)
    _, optimum = pendulum.safe_optimum(bench, rewards, 9, False)
    rewards.measure(list(bench.problem.start))
    assert rewards.known[optimum][1]
    assert rewards[optimum] > max(rewards[g] for g in bench.problem.start)


def test_the_table_names_every_method(bench, runs):
    rewards = Rewards(bench)
    rewards.measure([CALM])
    text = pendulum.table(pendulum.judge(bench, runs, rewards, CALM))
    assert all(f'| {run["method"]} | 1 |' in text for run in runs)
