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

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.history import COLUMNS
from pacsbo_ros.predictor import CheckpointError, load_multiplier, load_predictor
from pacsbo_ros.predictor import train_multiplier as train
from pacsbo_ros.predictor.checkpoint import SHIPPED
from pacsbo_ros.predictor.loops import Loops, Plan, run
from pacsbo_ros.predictor.multiplier import (
    features,
    FILE,
    FLOOR,
    INPUTS,
    load_multiplier_checkpoint,
    MOST,
    save_multiplier,
)
import pytest

ROWS = np.array([[0.0, 0.0, -0.3, 0.1, 3.0], [1.2, 0.1, 0.5, -1.0, 4.0],
                 [-4.0, 0.9, 3.0, -6.0, 5.0]])


@pytest.fixture
def saved(tmp_path, some_checkpoint):
    path = tmp_path / FILE
    save_multiplier(path, some_checkpoint())
    return path


def test_what_was_saved_says_the_same_after_loading(saved, some_predictor):
    eta, before = load_multiplier(saved, Settings()), some_predictor()
    assert eta.raw(ROWS, 1) == pytest.approx(before.raw(ROWS, 1), rel=1e-5)
    assert (eta.dimensions, eta.constants) == (before.dimensions, before.constants)
    assert (eta.path, eta.hash) == (str(saved), json.loads(saved.read_text())['sha256'])
    assert load_multiplier_checkpoint(saved).training == {'seed': 0}


def test_the_two_kinds_of_predictors_cannot_be_mixed_up(saved):
    with pytest.raises(CheckpointError, match='of the kind that is needed'):
        load_multiplier(SHIPPED / 'matern32_n1.json', Settings())
    with pytest.raises(CheckpointError, match='of the kind that is needed'):
        load_predictor(saved, Settings.paper())


@pytest.mark.parametrize(('changes', 'word'), [
    ({'dimension': 3}, 'dimension is 3'),
    ({'kernel': 'rbf'}, "kernel is 'rbf'"),
    ({'length_scales': (0.3,)}, 'length_scales is 0.3'),
    ({'rule': 'scale_free'}, "rule is 'scale_free'"),
])
def test_a_checkpoint_that_does_not_fit_the_problem_is_refused(saved, changes, word):
    with pytest.raises(CheckpointError, match=word):
        load_multiplier(saved, Settings(**changes))


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 4, st.floats(1, 1e4)), min_size=1,
                max_size=25), st.integers(0, 3), st.floats(1e-6, 1e6))
def test_no_history_and_no_network_gives_a_multiplier_below_the_floor(
        some_predictor, history, seed, c):
    eta = some_predictor(seed, (c, c))
    assert FLOOR <= eta.multiplier(np.array(history), Settings()) <= MOST


def test_the_inputs_do_not_depend_on_the_scale_of_what_is_measured():
    shown = []

    class Keep:

        def multiplier(self, history, settings):
            shown.append(features(history, settings.dimension))
            return 1.0

    for size in (1.0, 1000.0):
        optimizer = SafeOptimizer(Settings(
            constraints=0, reward_threshold=-2 * size, noise_bound=0.01 * size, candidates=60,
            scale_prior=0.0), 0, Keep())
        for x in (0.4, 0.5, 0.7):
            optimizer.tell([x], [size * (0.3 + np.sin(9 * x))])
    np.testing.assert_allclose(shown[:3], shown[3:], rtol=1e-3, atol=1e-3)
    assert shown[0].shape == (INPUTS,)


def led(eta, told=()):
    """Run the optimiser, or go on after what was told; give all samples and the band."""
    settings = Settings(constraints=0, reward_threshold=0.0, candidates=80, budget=12,
                        scale_prior=0.0)
    optimizer = SafeOptimizer(settings, 3, eta)
    for x, y in told or (((0.4,), 0.2), ((0.45,), 0.4), ((0.5,), 0.5)):
        optimizer.tell(x, [y])
    while len(optimizer.samples[0]) < 9:
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        x = proposal.point
        optimizer.tell(x, [float(0.5 - 6 * (x[0] - 0.5) ** 2 - 0.3 * (x[0] > 0.6))])
    A, Y = optimizer.samples
    return list(zip(map(tuple, A.tolist()), Y[:, 0].tolist(), strict=True)), optimizer


def test_a_run_with_it_is_a_pure_function_of_the_samples(some_predictor):
    eta = some_predictor(constants=(4.0, 4.0))
    samples, optimizer = led(eta)
    again, other = led(replace(eta), samples[:5])
    assert (again, len(samples) > 5) == (samples, True)
    X = np.linspace(0, 1, 9)[:, None]
    np.testing.assert_array_equal(other.predict(X).low, optimizer.predict(X).low)
    copy = SafeOptimizer.from_record(optimizer.to_record(), eta)
    np.testing.assert_array_equal(copy.predict(X).low, optimizer.predict(X).low)


def test_with_it_the_band_is_nowhere_narrower(some_predictor):
    samples, _ = led(some_predictor(constants=(4.0, 4.0)))
    widths = []
    for eta in (some_predictor(constants=(4.0, 4.0)), None):
        optimizer = led(eta, samples)[1]
        band = optimizer.predict(np.linspace(0, 1, 50)[:, None])
        widths.append(band.up - band.low)
    assert np.all(widths[0] >= widths[1] * (1 - 1e-12))


def test_a_run_is_numbered_by_seed_and_index_and_knows_what_was_unsafe():
    plan = Plan(1, 3, 'jump', samples=10)
    a, b = run(plan, 4, explore=True), run(plan, 4, explore=True)
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name])
    many = Loops.join([run(plan, i) for i in range(6)])
    assert np.array_equal(np.sum(many.error[:, :, 0] > many.slack, axis=1), many.unsafe)
    assert np.all(many.slack[np.arange(10) < many.steps[:, None]] >= 1.0 - 1e-9)
    assert many.history.shape == (6, 10, len(COLUMNS))


def test_the_constant_of_a_run_is_what_would_have_kept_it_safe(some_predictor):
    eta = some_predictor()
    runs = Loops.join([run(Plan(1, 3, 'jump', samples=10), i) for i in range(6)])
    slack, error = np.full_like(runs.slack, 1.5), np.full_like(runs.error, 0.5)
    error[2, 1, 0] = 3.0
    scores = train.run_scores(replace(runs, slack=slack, error=error), eta, 1)
    g = eta.raw(runs.history[2, :2], 1)
    np.testing.assert_allclose(scores, [0, 0, 1.5 / max(g, 1e-3), 0, 0, 0])


ARGUMENTS = ['--dimensions', '1', '--functions', '6', '--calibration', '4', '--test', '2',
             '--epochs', '2', '--workers', '1']


def test_training_twice_with_one_seed_gives_the_same_checkpoint(tmp_path, monkeypatch):
    pytest.importorskip('torch')
    monkeypatch.setattr(train, 'SAMPLES', 8)
    texts = []
    for name in 'ab':
        assert train.main([*ARGUMENTS, '--out', str(tmp_path / name),
                           '--work', str(tmp_path / name / 'work')]) == 0
        texts.append((tmp_path / name / FILE).read_text())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])['content']['training']['functions'] == 6


def test_inference_in_numpy_equals_torch(some_predictor):
    torch = pytest.importorskip('torch')
    network = some_predictor().network
    x = np.stack([features(ROWS[:k], 2) for k in (1, 2, 3)])
    z = torch.tensor(np.clip((x - network.mean) / network.scale, -6, 6))
    for weight, bias in list(zip(network.weights, network.biases, strict=True))[:-1]:
        z = torch.relu(z @ torch.tensor(weight) + torch.tensor(bias))
    z = torch.nn.functional.softplus(
        z @ torch.tensor(network.weights[-1]) + torch.tensor(network.biases[-1]))
    np.testing.assert_allclose(network(x), z[:, 0].numpy(), rtol=1e-9)


def test_without_torch_the_command_says_what_to_install(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr('pacsbo_ros.predictor.command.find_spec', lambda name: None)
    with pytest.raises(SystemExit) as end:
        train.main(['--out', str(tmp_path / 'out')])
    assert end.value.code == 1
    assert 'pip install .[train]' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
