# Copyright the pacsbo_ros developers. Apache-2.0.
import base64
import copy
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys

from hypothesis import given, HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import Kernel, SafeOptimizer, Settings
from pacsbo_ros.predictor import CheckpointError, load_predictor
from pacsbo_ros.predictor.checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
    SHIPPED,
)
from pacsbo_ros.predictor.model import Calibration, feature_count, Network, NormPredictor
from pacsbo_ros.predictor.sealed import LARGEST_FILE, VERSION
import pytest

WINDOW = 5


def small_checkpoint(seed=0):
    rng = np.random.default_rng(seed)
    P = feature_count(WINDOW)
    network = Network(rng.standard_normal(P), 0.5 + rng.random(P),
                      (rng.standard_normal((P, 4)), rng.standard_normal((4, 1))),
                      (rng.standard_normal(4), rng.standard_normal(1)))
    calibration = Calibration(np.array([0.1, 0.3]), 0.5 + rng.random((2, 3, WINDOW)), 0.9)
    return Checkpoint(NormPredictor(network, calibration, WINDOW), 'matern32', 2, (0.1, 0.5),
                      (0.001, 0.05), {'seed': seed}, {})


def problem(**changes):
    return Settings(**{'dimension': 2, 'length_scales': (0.2,), **changes})


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / 'predictor.json'
    save_checkpoint(path, small_checkpoint())
    return path


def rewrite(path, change, seal=True):
    """Change the data of a checkpoint; sealed, its hash fits again."""
    data = json.loads(path.read_text())
    change(data)
    if seal:
        text = json.dumps(data['content'], sort_keys=True, separators=(',', ':'))
        data['sha256'] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(data))


def test_what_was_saved_is_loaded_up_to_single_precision(saved):
    before, after = small_checkpoint(), load_checkpoint(saved)
    for old, new in zip(before.predictor.network.weights, after.predictor.network.weights,
                        strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6)
    np.testing.assert_allclose(after.predictor.calibration.kappa,
                               before.predictor.calibration.kappa, rtol=1e-6)
    assert (after.kernel, after.dimension, after.training) == ('matern32', 2, {'seed': 0})
    assert after.predictor.window == WINDOW


def test_hash_and_path_name_the_file_and_its_content(saved, tmp_path):
    eta = load_predictor(saved, problem())
    assert eta.path == str(saved)
    assert eta.hash == json.loads(saved.read_text())['sha256']
    other = tmp_path / 'other.json'
    assert save_checkpoint(other, small_checkpoint()) == eta.hash
    assert save_checkpoint(other, small_checkpoint(1)) != eta.hash


def test_a_pickle_that_would_run_a_command_is_refused_and_runs_nothing(tmp_path):
    witness = tmp_path / 'it ran'

    class Hostile:

        def __reduce__(self):
            return subprocess.call, ([sys.executable, '-c', f'open({str(witness)!r}, "w")'],)

    raw = pickle.dumps(Hostile())
    archive = tmp_path / 'hostile.npz'
    np.savez(archive, weights=np.array([Hostile()], dtype=object))
    named = tmp_path / 'hostile.json'
    named.write_bytes(raw)
    for path in (named, archive):
        with pytest.raises(CheckpointError, match='not a predictor checkpoint'):
            load_predictor(path, problem())
    assert not witness.exists()
    pickle.loads(raw)  # the file is what it claims to be: whoever unpickles it is caught
    assert witness.exists()


@pytest.mark.parametrize('share', [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(saved, share):
    raw = saved.read_bytes()
    saved.write_bytes(raw[:int(share * len(raw))])
    with pytest.raises(CheckpointError, match='truncated'):
        load_predictor(saved, problem())


@hypothesis_settings(max_examples=60, deadline=None,
                     suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_no_changed_byte_changes_the_prediction_unnoticed(saved, where, byte):
    raw = bytearray(saved.read_bytes())
    raw[int(where * len(raw))] = byte
    path = saved.with_name('changed.json')
    path.write_bytes(bytes(raw))
    try:
        eta = load_predictor(path, problem())
    except CheckpointError:
        return
    history = np.array([[1.0, 1.2], [1.5, 1.4]])
    same = load_predictor(saved, problem())
    assert eta(history, problem(), 'box') == same(history, problem(), 'box')


@hypothesis_settings(max_examples=60, deadline=None,
                     suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=200))
def test_any_foreign_bytes_are_refused(tmp_path, raw):
    path = tmp_path / 'foreign'
    path.write_bytes(raw)
    with pytest.raises(CheckpointError):
        load_predictor(path, problem())


@pytest.mark.parametrize('text', ['[]', '{}', '3', '{"magic": "other"}', '[' * 100_000, 'NaN'])
def test_foreign_json_is_refused(tmp_path, text):
    path = tmp_path / 'foreign.json'
    path.write_text(text)
    with pytest.raises(CheckpointError, match='not a predictor checkpoint'):
        load_predictor(path, problem())


def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    for path in (tmp_path / 'none.json', tmp_path, pipe):
        with pytest.raises(CheckpointError, match='cannot be read'):
            load_predictor(path, problem())


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / 'huge.json'
    with path.open('wb') as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(CheckpointError, match='too many'):
        load_predictor(path, problem())


def test_a_file_from_the_future_is_refused(saved):
    rewrite(saved, lambda data: data.update(version=VERSION + 1))
    with pytest.raises(CheckpointError, match=r'from the future.*update'):
        load_predictor(saved, problem())


@pytest.mark.parametrize('version', [0, -1, 1.0, '1', None, True])
def test_a_strange_version_is_refused(saved, version):
    rewrite(saved, lambda data: data.update(version=version))
    with pytest.raises(CheckpointError, match='version'):
        load_predictor(saved, problem())


def pack(values):
    data = np.asarray(values, dtype='<f4')
    return {'shape': list(data.shape), 'float32': base64.b64encode(data.tobytes()).decode()}


DAMAGES = {
    'a weight that is not finite': lambda c: c['layers'][0].update(
        weight=pack(np.full((feature_count(WINDOW), 4), np.nan))),
    'layers that do not fit': lambda c: c['layers'].reverse(),
    'no layers': lambda c: c.update(layers=[]),
    'a bias of another size': lambda c: c['layers'][0].update(bias=pack(np.zeros(3))),
    'two outputs': lambda c: c['layers'][1].update(
        weight=pack(np.zeros((4, 2))), bias=pack(np.zeros(2))),
    'a shape that lies': lambda c: c['layers'][0]['bias'].update(shape=[10 ** 12]),
    'a negative shape': lambda c: c['layers'][0]['bias'].update(shape=[-4]),
    'no base64': lambda c: c['layers'][0]['bias'].update(float32='***'),
    'a scale of zero': lambda c: c['inputs'].update(scale=pack(np.zeros(feature_count(WINDOW)))),
    'another window': lambda c: c.update(window=WINDOW + 1),
    'an endless window': lambda c: c.update(window=10 ** 9),
    'an unknown kernel': lambda c: c.update(kernel='exec'),
    'dimension zero': lambda c: c.update(dimension=0),
    'other domains': lambda c: c.update(domains=['box']),
    'a range upside down': lambda c: c.update(length_scales=[0.5, 0.1]),
    'a range of text': lambda c: c.update(lam='ab'),
    'a negative kappa': lambda c: c['calibration'].update(kappa=pack(-np.ones((2, 3, WINDOW)))),
    'a kappa of another shape': lambda c: c['calibration'].update(kappa=pack(np.ones(3))),
    'length scales that descend': lambda c: c['calibration'].update(
        length_scales=pack([0.3, 0.1])),
    'a coverage of two': lambda c: c['calibration'].update(coverage=2),
    'a missing part': lambda c: c.pop('inputs'),
    'training that is no table': lambda c: c.update(training=3),
}


@pytest.mark.parametrize('damage', DAMAGES)
def test_content_that_makes_no_sense_is_refused_even_with_a_true_hash(saved, damage):
    rewrite(saved, lambda data: DAMAGES[damage](data['content']))
    with pytest.raises(CheckpointError, match='corrupt'):
        load_predictor(saved, problem())


def test_content_that_was_changed_without_its_hash_is_refused(saved):
    def halve(data):
        data['content']['calibration']['coverage'] = 0.5
    rewrite(saved, halve, seal=False)
    with pytest.raises(CheckpointError, match='hash'):
        load_predictor(saved, problem())


@pytest.mark.parametrize(('changes', 'word'), [
    ({'dimension': 1}, 'dimension is 1'),
    ({'dimension': 3}, 'dimension is 3'),
    ({'kernel': 'rbf'}, "kernel is 'rbf'"),
    ({'length_scales': (0.05,)}, 'length_scales is 0.05'),
    ({'length_scales': (0.2, 0.6)}, 'length_scales is 0.6'),
    ({'lam': 0.5}, 'lam/output_scale is 0.5'),
    ({'output_scale': 100.0, 'lam': 0.005}, 'lam/output_scale is 5e-05'),
    ({'window': WINDOW - 1}, 'window is 4'),
    ({'output_kernels': (Kernel('matern32', (0.2, 0.2)), Kernel('matern32', (0.3, 0.3)))},
     'output_kernels differ'),
])
def test_a_checkpoint_that_does_not_fit_the_problem_is_refused(saved, changes, word):
    with pytest.raises(CheckpointError, match=word):
        load_predictor(saved, problem(**changes))


def test_an_interrupted_save_leaves_the_old_checkpoint(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr('os.replace', lambda *_: (_ for _ in ()).throw(OSError('power cut')))
    with pytest.raises(OSError, match='power cut'):
        save_checkpoint(saved, small_checkpoint(1))
    assert saved.read_bytes() == before


@pytest.mark.parametrize(('n', 'scale'), [(1, 0.1), (2, 0.3), (4, 0.5)])
def test_the_default_is_the_shipped_checkpoint_of_kernel_and_dimension(n, scale):
    eta = load_predictor('default', Settings(dimension=n, length_scales=(scale,)))
    assert eta.path == str(SHIPPED / f'matern32_n{n}.json')
    assert len(eta.hash) == 64


@pytest.mark.parametrize('changes', [{'dimension': 6}, {'kernel': 'rbf'}])
def test_no_default_is_a_clear_error(changes):
    with pytest.raises(CheckpointError, match=r'no predictor is shipped.*matern32_n1'):
        load_predictor('default', Settings(**changes))


def test_the_default_refuses_a_length_scale_outside_the_trained_range():
    with pytest.raises(CheckpointError, match='trained between'):
        load_predictor('default', Settings(length_scales=(5.0,)))


def test_the_shipped_checkpoints_are_small():
    files = list(SHIPPED.glob('*.json'))
    assert len(files) >= 3
    assert sum(f.stat().st_size for f in files) < 300_000


def test_loading_and_predicting_needs_no_torch_and_no_ros(tmp_path):
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in ('torch', 'sklearn', 'rclpy', 'distributed', 'matplotlib'):
            raise ImportError(name + ' is blocked')
sys.meta_path.insert(0, Block())
import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.predictor import load_predictor
settings = Settings()
print(load_predictor('default', settings)(np.array([[1.0, 1.5]]), settings, 'box'))
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 1.0


def test_the_optimiser_runs_with_a_loaded_predictor():
    settings = Settings(rule='scale_free', constraints=0, reward_threshold=-1.0,
                        candidates=100)
    optimizer = SafeOptimizer(settings, predictor=load_predictor('default', settings))
    for x, y in ((0.4, 0.5), (0.5, 0.7), (0.6, 0.4)):
        optimizer.tell([x], [y])
    words = [e.predictor for e in optimizer.state().norms]
    norm = optimizer.state().norms[0].mean_norm
    assert all(word is not None and word > norm for word in words)


def test_a_copied_checkpoint_predicts_the_same(tmp_path):
    settings = Settings()
    eta = load_predictor('default', settings)
    path = tmp_path / 'copy.json'
    shutil.copy(eta.path, path)
    again = load_predictor(path, copy.deepcopy(settings))
    history = np.array([[1.0, 1.2], [1.5, 1.4], [1.6, 2.0]])
    assert again(history, settings, 'hull') == eta(history, settings, 'hull')
    assert again.hash == eta.hash
