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
import json
from types import SimpleNamespace

import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.predictor import train
from pacsbo_ros.predictor.batch import run_batch
from pacsbo_ros.predictor.data import Family, Plan
import pytest
from studies import predictor_report as report
from threadpoolctl import threadpool_limits

PLAN = Plan(Family('matern32', 1, (0.05, 0.4)), seed=41, samples=6, candidates=60,
            length_scale=0.1, lam=Settings().lam)
STEPS = PLAN.samples - PLAN.starts + 1


@pytest.fixture(scope='module')
def runs():
    return {seed: run_batch(replace(PLAN, seed=seed), range(200)) for seed in (41, 42, 43)}


@pytest.fixture(scope='module')
def found(runs):
    trainer = SimpleNamespace(choices=SimpleNamespace(coverage=0.9),
                              training_runs=lambda stage: runs[41])
    with threadpool_limits(1):  # see report
        return {name: report.calibrated_ratios(guess, runs[42], runs[43], 0.9)
                for name, guess in (('closed form', report.closed_form),
                                    ('boosting', report.boosting(trainer, 4)))}


@pytest.mark.parametrize('name', ['closed form', 'boosting'])
def test_a_competitor_covers_as_it_was_calibrated_to(found, name):
    steps = found[name][:, :STEPS]
    covered = np.nanmean(np.where(np.isnan(steps), np.nan, steps >= 1 - 1e-9), axis=0)
    # Two samples of 200: four standard deviations below 0.9.
    assert np.min(covered) >= 0.9 - 4 * 0.3 * np.sqrt(2 / 200)


def test_equal_coverage_is_the_quantile_of_the_ratios():
    ratios = np.array([*np.linspace(0.5, 1.5, 101), np.nan])
    assert report._over_at_90(ratios) == pytest.approx(1.0 / 0.6)
    assert report._over_at_90(3 * ratios) == pytest.approx(1.0 / 0.6)


def test_the_report_refuses_a_folder_without_the_training(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        report.main(['--dimensions', '1', '--work', str(tmp_path), '--out', str(tmp_path / 'out')])
    assert end.value.code == 1
    assert '--work the training that made it' in capsys.readouterr().err


def test_the_report_of_a_training_names_every_estimator(tmp_path, capsys):
    pytest.importorskip('torch')
    work = ['--work', str(tmp_path / 'work'), '--workers', '1']
    assert train.main(['--functions', '12', '--calibration', '30', '--test', '10',
                       '--samples', '6', '--epochs', '2', '--window', '4',
                       '--out', str(tmp_path), *work]) == 0
    assert report.main(['--dimensions', '1', '--functions', '12', '--bounds', '3', '--slow', '2',
                        '--checkpoints', str(tmp_path), '--out', str(tmp_path), *work]) == 0
    written = json.loads((tmp_path / 'n1.json').read_text())
    assert {report.PREDICTOR, report.BOOSTING, report.IDEAL, 'hoeffding'} <= set(
        written['methods'])
    assert set(written['methods'][report.PREDICTOR]) == {'3', '6'}
    assert (tmp_path / 'n1.png').is_file()
    assert report.BAYES in capsys.readouterr().out
