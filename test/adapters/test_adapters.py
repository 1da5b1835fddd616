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

"""PACSBO where researchers are."""
from pacsbo_ros.adapters.generator import NothingSafe, PacsboGenerator
import pytest


def measure(p, d):
    """Give a reward with its optimum at (30, 1) and a margin that forbids p > 25."""
    return 1 - ((p - 30) / 30) ** 2 - 0.1 * (d - 1) ** 2, (25 - p) / 20


def test_a_generator_gets_better_and_stays_safe():
    generator = PacsboGenerator({'p': (1.0, 40.0), 'd': (0.0, 4.0)}, 'reward', ['margin'],
                                length_scales=(0.5,), candidates=900)
    rows = [dict(zip(('p', 'd', 'reward', 'margin'), (p, d, *measure(p, d)), strict=True))
            for p, d in ((8.0, 0.8), (9.0, 0.8), (8.0, 1.0))]
    generator.ingest(rows)
    for _ in range(12):
        point = generator.suggest()[0]
        reward, margin = measure(**point)
        assert margin >= 0
        rows.append({**point, 'reward': reward, 'margin': margin})
        generator.ingest(rows[-1:])
    assert max(r['reward'] for r in rows) > rows[0]['reward'] + 0.2


def test_a_row_without_a_column_is_refused_by_name():
    generator = PacsboGenerator({'p': (1.0, 40.0)}, 'reward', ['margin'])
    with pytest.raises(ValueError, match='margin'):
        generator.ingest([{'p': 8.0, 'reward': 0.3}])


def test_a_generator_gives_one_point_at_a_time():
    with pytest.raises(ValueError, match='one at a time'):
        PacsboGenerator({'p': (1.0, 40.0)}, 'reward', ['margin']).suggest(3)


def test_nothing_safe_is_told_with_its_reason():
    generator = PacsboGenerator({'p': (0.0, 1.0)}, 'reward', ['margin'], noise_bound=5.0)
    generator.ingest([{'p': 0.5, 'reward': 0.0, 'margin': 1e-6}] * 4)
    with pytest.raises(NothingSafe, match='safe'):
        generator.suggest()


def test_optuna_tunes_with_our_sampler_and_stays_safe():
    optuna = pytest.importorskip('optuna', reason='needs optuna')
    from pacsbo_ros.adapters.optuna_sampler import PacsboSampler
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        reward, margin = measure(trial.suggest_float('p', 1.0, 40.0),
                                 trial.suggest_float('d', 0.0, 4.0))
        trial.set_user_attr('margins', [margin])
        return reward

    sampler = PacsboSampler(lambda trial: trial.user_attrs['margins'], length_scales=(0.5,),
                            candidates=900)
    study = optuna.create_study(direction='maximize', sampler=sampler)
    for p, d in ((8.0, 0.8), (9.0, 0.8), (8.0, 1.0)):
        study.enqueue_trial({'p': p, 'd': d})
    study.optimize(objective, n_trials=12)
    assert all(trial.user_attrs['margins'][0] >= 0 for trial in study.trials)
    assert study.best_value > study.trials[0].value + 0.1


def test_optuna_without_a_safe_start_is_refused():
    optuna = pytest.importorskip('optuna', reason='needs optuna')
    from pacsbo_ros.adapters.optuna_sampler import PacsboSampler
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=PacsboSampler(lambda trial: [1.0]))
    with pytest.raises(ValueError, match='enqueue_trial'):
        study.optimize(lambda trial: trial.suggest_float('p', 0.0, 1.0), n_trials=1)
