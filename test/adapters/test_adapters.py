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
import os
from pathlib import Path
import re
import subprocess
import sys

from pacsbo_ros.adapters.generator import NothingSafe, PacsboGenerator
import pytest

ROOT = Path(__file__).parents[2]


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


def overshoot_of(inputs):
    """Measure as Xopt asks for it: an overshoot that must stay below 1.25."""
    reward, margin = measure(inputs['p'], inputs['d'])
    return {'reward': reward, 'overshoot': 1.25 - margin}


def make_xopt(**options):
    """Give Xopt with our generator, and three safe starts evaluated."""
    pytest.importorskip('xopt', reason='needs xopt 3 or newer', minversion='3')
    from pacsbo_ros.adapters.xopt_generator import XoptPacsbo
    from xopt import Evaluator, VOCS, Xopt
    vocs = VOCS(variables={'p': [1.0, 40.0], 'd': [0.0, 4.0]},
                objectives={'reward': options.pop('direction', 'MAXIMIZE')},
                constraints={'overshoot': ['LESS_THAN', 1.25]})
    generator = XoptPacsbo(vocs=vocs, settings={'length_scales': (0.5,), 'candidates': 900},
                           **options)
    made = Xopt(vocs=vocs, generator=generator, evaluator=Evaluator(function=overshoot_of))
    made.evaluate_data([{'p': p, 'd': d} for p, d in ((8.0, 0.8), (9.0, 0.8), (8.0, 1.0))])
    return made


def test_xopt_tunes_with_our_generator_and_stays_safe():
    made = make_xopt()
    for _ in range(10):
        made.step()
    assert len(made.data) == 13
    assert made.data['overshoot'].max() <= 1.25
    assert made.data['reward'].max() > made.data['reward'].iloc[0] + 0.1


def test_xopt_minimises_what_it_is_told_to_minimise():
    made = make_xopt(direction='MINIMIZE')
    for _ in range(6):
        made.step()
    assert made.data['reward'].min() < made.data['reward'].iloc[:3].min() - 0.02


def test_a_scale_of_an_unknown_output_is_refused_by_name():
    with pytest.raises(ValueError, match='oversho0t'):
        make_xopt(scales={'oversho0t': 0.1})


def test_xopt_goes_on_with_the_data_of_an_earlier_run():
    made, again = make_xopt(), make_xopt()
    for _ in range(3):
        made.step()
    again.generator.data = made.data
    point, same = again.generator.generate(1)[0], made.generator.generate(1)[0]
    assert point == pytest.approx(same)


@pytest.mark.parametrize('package', ['optuna', 'xopt'])
def test_the_example_of_a_package_gets_better_and_stays_safe(package):
    pytest.importorskip(package, reason=f'needs {package}')
    told = subprocess.run([sys.executable, str(ROOT / 'examples/adapters' / f'with_{package}.py')],
                          env={**os.environ, 'PYTHONPATH': str(ROOT)}, capture_output=True,
                          text=True, check=True, timeout=300).stdout
    after, before, worst, limit = map(float, re.search(
        r'settles in (\S+) s instead of (\S+) s .* way (\S+) of (\S+)', told).groups())
    assert after < 0.8 * before
    assert worst <= limit
