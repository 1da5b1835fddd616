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

"""The batch gives the numbers of the scalar simulation, bit for bit."""
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup
from pacsbo_ros.robots.furuta.batch import CHUNK, simulate_batch
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits, Push, Start
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS, STARTS
from pacsbo_ros.robots.furuta.reward import QuadraticReward
from pacsbo_ros.robots.furuta.running import run_episode
import pytest
from studies.gain_map import gain_map, main
from studies.length_scales import fit, repeat

FIELDS = ('reward', 'max_abs_alpha', 'max_abs_theta', 'decay_rate', 'swing', 'saturated',
          'outcome', 'duration')
CASES = {
    'default': (CALIBRATED, Limits(), EpisodeSettings()),
    'ideal': (PRESETS['ideal'], Limits(), EpisodeSettings()),
    'qube3': (PRESETS['qube3'], Limits(), EpisodeSettings()),
    'wide limits, arm stop': (CALIBRATED, Limits(math.pi, 10.0, 1e3), EpisodeSettings()),
    'low arm and speed limits': (CALIBRATED, Limits(theta=0.5, speed=5.0), EpisodeSettings()),
    'all effects': (
        replace(CALIBRATED, delay=3, theta_bias=0.02, alpha_bias=-0.01, start_spread=0.3,
                voltage_limit=5.0, substeps=8, encoder_counts=512),
        Limits(voltage=4.0),
        EpisodeSettings(duration=3.0, control_every=3, push=Push(0.5, -1.0),
                        reward=QuadraticReward())),
    'no push, no filter': (replace(CALIBRATED, velocity_filter=None, delay=0), Limits(),
                           EpisodeSettings(push=None)),
}


def random_gains(n):
    rng = np.random.default_rng(5)
    return np.column_stack([rng.uniform(-6, 0, n), rng.uniform(10, 50, n),
                            rng.uniform(-2, -1, n), rng.uniform(2.5, 3.5, n)])


@pytest.mark.parametrize('case', CASES)
def test_batch_equals_scalar(case):
    plant, limits, settings = CASES[case]
    k = random_gains(24)
    batch = simulate_batch(k, range(100, 124), plant, limits, settings)
    driver = SimulatedDriver(plant)
    for i, row in enumerate(k):
        one = run_episode(driver, Gains.from_sequence(row), limits, settings, seed=100 + i)
        for name in FIELDS:
            np.testing.assert_equal(getattr(batch, name)[i], getattr(one, name), (i, name))
        assert tuple(batch.values[i]) == one.values
        assert tuple(batch.noise[i]) == one.noise


def test_a_batch_with_backups_equals_scalar_and_sees_catches():
    k, plant = random_gains(12), replace(CALIBRATED, delay=2)
    backups = [Backup(reach=0.7 + 0.05 * i) for i in range(12)]
    batch = simulate_batch(k, range(100, 112), plant, backups=backups)
    for i, row in enumerate(k):
        one = run_episode(SimulatedDriver(plant), Gains.from_sequence(row),
                          settings=EpisodeSettings(backup=backups[i]), seed=100 + i)
        for name in FIELDS:
            np.testing.assert_equal(getattr(batch, name)[i], getattr(one, name), (i, name))
        assert tuple(batch.values[i]) == one.values
        assert tuple(batch.noise[i]) == one.noise
    assert {Outcome.COMPLETED, Outcome.CAUGHT} <= set(batch.outcome)


def test_the_cases_see_every_way_an_episode_can_end_on_a_plant():
    outcomes = set()
    for plant, limits, settings in CASES.values():
        outcomes |= set(simulate_batch(random_gains(24), range(100, 124), plant, limits,
                                       settings).outcome)
    assert outcomes == {Outcome.COMPLETED, Outcome.TRIPPED, Outcome.START_FAILED}


def test_absurd_gains_trip_on_voltage():
    result = simulate_batch([[-1e308, 1e308, -1e308, 1e308], PAPER_GAINS.as_tuple()], [1, 2])
    one = run_episode(SimulatedDriver(), Gains(-1e308, 1e308, -1e308, 1e308), seed=1)
    assert result.outcome[0] == one.outcome
    assert result.outcome[1] == Outcome.COMPLETED


def test_an_episode_does_not_depend_on_its_neighbours():
    k = random_gains(CHUNK + 3)[:, :4]
    short = EpisodeSettings(duration=0.2, push=None)
    together = simulate_batch(k, range(len(k)), settings=short)
    alone = simulate_batch(k[-2:], range(len(k) - 2, len(k)), settings=short)
    assert np.array_equal(together.values[-2:], alone.values)


def test_an_empty_batch_is_empty():
    assert simulate_batch(np.zeros((0, 4)), []).values.shape == (0, 5)


@pytest.mark.parametrize(('gains', 'seeds', 'match'), [
    ([[1, 2, 3]], [0], 'shape'), ([[1, 2, 3, math.nan]], [0], 'not finite'),
    ([[1, 2, 3, 4]], [0, 1], 'seeds'), (np.zeros((2, 2, 4)), [0, 1], 'shape')])
def test_malformed_batches_are_refused(gains, seeds, match):
    with pytest.raises(ValueError, match=match):
        simulate_batch(gains, seeds)


def test_what_a_batch_cannot_do_is_refused():
    k = [PAPER_GAINS.as_tuple()]
    for settings in (EpisodeSettings(start=Start.SWING_UP), EpisodeSettings(trace=True),
                     EpisodeSettings(backup=Backup())):
        with pytest.raises(ValueError, match='use run_episode'):
            simulate_batch(k, [0], settings=settings)
    with pytest.raises(ValueError, match='2 backups for 1 gains'):
        simulate_batch(k, [0], backups=[Backup(), Backup()])
    with pytest.raises(ValueError, match='delay'):
        simulate_batch(k, [0], replace(CALIBRATED, delay=1000))


def test_the_map_has_an_interior_best_between_two_unsafe_edges():
    result = gain_map(grid=13, repeats=2)
    safe = result.safe.all(axis=2)
    k_theta, k_alpha, reward = result.best
    assert -4.5 <= k_theta <= -1.0
    assert 22 <= k_alpha <= 32
    assert reward > 0.985
    for column in safe:
        inside = np.flatnonzero(column)
        assert inside.size
        assert not column[0]
    # The limit cycle grows with the gain until it reaches the limit in every other episode.
    assert result.safe[:, -1].mean() < 0.75
    assert result.safe[:, 5:9].mean() > 0.95
    assert 0.3 < safe.mean() < 0.85
    assert np.array_equal(result.values[..., 1] >= 0, result.safe)


def test_the_map_is_drawn_by_one_command(tmp_path, capsys):
    picture = tmp_path / 'map.png'
    main(['--grid', '5', '--repeats', '1', '--output', str(picture)])
    assert picture.stat().st_size > 10_000
    assert 'best safe reward' in capsys.readouterr().out
    with pytest.raises(ValueError, match='grid'):
        gain_map(grid=1)


@pytest.mark.parametrize('name', PRESETS)
def test_every_preset_has_starts_that_are_safe_in_20_of_20_episodes(name):
    gains = [Gains(*start).as_tuple() for start in STARTS[name] for _ in range(20)]
    seen = simulate_batch(gains, list(range(20)) * len(STARTS[name]), PRESETS[name],
                          settings=EpisodeSettings())
    assert (seen.outcome == Outcome.COMPLETED).all()
    assert seen.values[:, 1:].min() > 0
    if name == 'qube3':  # which is why it has its own
        others = [Gains(*start).as_tuple() for start in STARTS['calibrated']]
        assert simulate_batch(others, range(3), PRESETS[name]).values[:, 1:].min() < 0


def test_the_default_starts_are_safe_and_clearly_worse_than_the_best():
    best = repeat(-2.4, 27.5).reward
    for start in STARTS['calibrated']:
        runs = repeat(*start)
        assert (runs.outcome == Outcome.COMPLETED).all()
        assert runs.max_abs_alpha.max() < math.radians(20)
        assert runs.reward.max() < best.min() - 0.005


def test_the_fit_recovers_the_process_that_drew_the_data():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(150, 2))
    scales = np.array([0.6, 0.2])
    d = np.sqrt(3) * np.linalg.norm((x[:, None] - x[None]) / scales, axis=-1)
    covariance = 0.8 ** 2 * (1 + d) * np.exp(-d) + 1e-10 * np.eye(150)
    y = np.linalg.cholesky(covariance) @ rng.normal(size=150) + 0.05 * rng.normal(size=150)
    model = fit(x, y)
    assert model.length_scales == pytest.approx(tuple(scales), rel=0.5)
    assert model.signal == pytest.approx(0.8, rel=0.5)
    assert model.noise == pytest.approx(0.05, rel=0.5)
