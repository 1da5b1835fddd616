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

import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.predictor import load_predictor, train
from pacsbo_ros.predictor.batch import run_batch
from pacsbo_ros.predictor.calibration import calibrate, conformal_quantile
from pacsbo_ros.predictor.checkpoint import load_checkpoint, SHIPPED
from pacsbo_ros.predictor.data import Family, Plan
from pacsbo_ros.predictor.model import NormPredictor
from pacsbo_ros.predictor.train import estimate_ratios, main, RECIPES
import pytest

PLAN = Plan(Family('matern32', 1, (0.05, 0.4)), seed=31, samples=10, candidates=60,
            length_scale=0.1, lam=Settings().lam)


@pytest.mark.parametrize('size', [40, 199, 200])
def test_the_conformal_quantile_covers_the_next_score_as_promised(size):
    rng = np.random.default_rng(size)
    coverage, hits = 0.9, []
    for _ in range(4000):
        scores = rng.gumbel(size=size + 1)
        hits.append(scores[-1] <= conformal_quantile(scores[:-1], coverage))
    assert np.mean(hits) >= coverage - 3 * 0.3 / np.sqrt(4000)
    assert np.mean(hits) <= coverage + 1 / (size + 1) + 3 * 0.3 / np.sqrt(4000)


def test_calibration_repairs_a_network_that_is_wrong():
    eta = load_predictor('default', Settings())
    broken = replace(eta.network, biases=(*eta.network.biases[:-1], eta.network.biases[-1] - 1.0))
    runs = run_batch(PLAN, range(400))
    calibration = calibrate(broken, eta.window, {0.1: runs}, {0.1: 0.9})
    repaired = NormPredictor(broken, calibration, eta.window)
    fresh = run_batch(replace(PLAN, seed=32), range(400))
    covered = np.nanmean(estimate_ratios(repaired, fresh) >= 1.0, axis=0)
    assert np.all(covered >= 0.9 - 4 * 0.3 * np.sqrt(2 / 400))
    raw = replace(repaired, calibration=replace(
        repaired.calibration, kappa=np.ones_like(repaired.calibration.kappa)))
    assert np.nanmin(np.nanmean(estimate_ratios(raw, fresh) >= 1.0, axis=0)) < 0.85


@pytest.mark.parametrize('n', [1, 2])
def test_the_shipped_predictor_covers_fresh_functions_in_the_loop(n):
    recipe = RECIPES[n]
    settings = Settings(dimension=n, length_scales=(recipe.main,))
    eta = load_predictor('default', settings)
    plan = Plan(Family('matern32', n, (recipe.length_scales[0], recipe.length_scales[-1])),
                seed=77, samples=12, candidates=recipe.candidates // (3 if n == 2 else 1),
                length_scale=recipe.main, lam=Settings().lam)
    with np.errstate(all='ignore'):  # runs that have ended are estimated too, of whatever
        runs = run_batch(plan, range(150), eta.estimates)
        ratios = estimate_ratios(eta, runs)
    covered = np.nanmean(np.where(np.isnan(ratios), np.nan, ratios >= 1.0), axis=0)
    # 150 functions: four standard deviations below the promised 0.9.
    assert np.nanmin(covered) >= 0.9 - 4 * 0.3 / np.sqrt(150)


@pytest.mark.parametrize('n', [1, 2, 4])
def test_a_shipped_checkpoint_says_how_it_was_made_and_how_well_it_does(n):
    made = load_checkpoint(SHIPPED / f'matern32_n{n}.json')
    assert made.training['seed'] == 1
    assert made.training['functions'] >= 100
    assert made.length_scales == (RECIPES[n].length_scales[0], RECIPES[n].length_scales[-1])
    assert set(made.metrics['least_coverage']) == {'hull', 'enlarged', 'box'}


ARGUMENTS = ['--functions', '12', '--calibration', '18', '--test', '10', '--samples', '6',
             '--epochs', '2', '--workers', '1', '--window', '4']


def test_training_twice_with_one_seed_gives_the_same_checkpoint(tmp_path, monkeypatch):
    pytest.importorskip('torch')
    monkeypatch.setattr('pacsbo_ros.predictor.workers.CHUNK', 9)
    texts = []
    for name, workers in (('a', '1'), ('b', '2')):
        folder = tmp_path / name
        assert main([*ARGUMENTS, '--workers', workers, '--out', str(folder),
                     '--work', str(folder / 'work')]) == 0
        texts.append((folder / 'matern32_n1.json').read_text())
    assert texts[0] == texts[1]
    # An interrupted training goes on with what it has, to the same end.
    for path in sorted((tmp_path / 'a' / 'work').glob('*.npz'))[::2]:
        path.unlink()
    main([*ARGUMENTS, '--out', str(tmp_path / 'a'), '--work', str(tmp_path / 'a' / 'work')])
    assert (tmp_path / 'a' / 'matern32_n1.json').read_text() == texts[0]
    assert json.loads(texts[0])['content']['training']['seed'] == 1


def told(capsys, *arguments):
    """Run the command that has to end with an error; give its exit code and last line."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code, capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def with_torch(monkeypatch):
    """Let the command believe in torch, where only what comes before it is tested."""
    monkeypatch.setattr('pacsbo_ros.predictor.command.find_spec', lambda name: True)


@pytest.mark.parametrize(('arguments', 'words'), [
    (['--dimensions', '7'], '--dimensions: invalid choice: 7'),
    (['--kernel', 'cubic'], "--kernel: invalid choice: 'cubic'"),
    (['--functions', '0'], '--functions: 0: a whole number from 10'),
    (['--epochs', 'many'], '--epochs: many: a whole number from 1'),
    (['--window', '2000'], '--window: 2000: a whole number from 1 to '),
    (['--coverage', '2'], '--coverage: 2: choose from 0.5 to 0.98'),
    (['--coverage', 'all'], '--coverage: all: choose from 0.5 to 0.98'),
    (['--workers', '-1'], '--workers: -1: a whole number from 1'),
])
def test_a_wrong_argument_is_named_before_anything_begins(capsys, arguments, words):
    code, line = told(capsys, *arguments)
    assert (code, words in line) == (2, True), line


def test_without_torch_the_command_says_what_to_install(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr('pacsbo_ros.predictor.command.find_spec', lambda name: None)
    code, line = told(capsys, '--out', str(tmp_path / 'out'))
    assert (code, 'pip install .[train]' in line) == (1, True), line
    assert not (tmp_path / 'out').exists()


def test_a_folder_that_cannot_be_made_is_named(capsys, with_torch, tmp_path):
    (tmp_path / 'file').touch()
    for name in ('--out', '--work'):
        folders = {'--out': tmp_path / 'out', '--work': tmp_path / 'work', name: tmp_path / 'file'}
        code, line = told(capsys, *(str(word) for pair in folders.items() for word in pair))
        assert (code, f'{name[2:]} is {tmp_path / "file"}' in line) == (1, True), line


def test_an_interrupted_training_says_how_to_go_on(capsys, monkeypatch, with_torch, tmp_path):
    def interrupt(trainer):
        raise KeyboardInterrupt
    monkeypatch.setattr(train.Trainer, 'train', interrupt)
    code, line = told(capsys, '--out', str(tmp_path), '--work', str(tmp_path / 'work'))
    assert (code, 'the same command goes on' in line) == (130, True), line


def test_trainings_in_one_work_folder_keep_apart(tmp_path):
    choices = (train.Choices(), train.Choices(seed=2), train.Choices(functions=20))
    paths = {train.Trainer('matern32', 1, c, None, tmp_path).path('network') for c in choices}
    assert len(paths) == 3


def test_a_training_never_overwrites_the_shipped_checkpoints_unasked():
    assert train._parser().parse_args([]).out.resolve() != SHIPPED


def test_the_numpy_network_is_the_torch_network(monkeypatch):
    torch = pytest.importorskip('torch')
    from pacsbo_ros.predictor import training
    runs = run_batch(PLAN, range(12))
    network, loss = training.fit(runs.take(slice(8)), runs.take(slice(8, None)), 5, 0.9, 0,
                                 hidden=(6,), epochs=2)
    X, y = training.rows(runs.take(slice(8, None)), 5)
    error = torch.tensor(y - network(X))
    assert float(training._pinball(error, 0.9)) == pytest.approx(loss, rel=1e-4)


def test_a_quantile_is_what_the_loss_asks_for():
    torch = pytest.importorskip('torch')
    from pacsbo_ros.predictor import training
    y = torch.tensor(np.random.default_rng(0).gumbel(size=2001))
    losses = [float(training._pinball(y - q, 0.9)) for q in y]
    best = float(y[int(np.argmin(losses))])
    assert best == pytest.approx(float(torch.quantile(y, 0.9)), abs=1e-9)
