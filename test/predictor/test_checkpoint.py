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

import copy
import json
import shutil
import subprocess
import sys

import numpy as np
from pacsbo_ros.core import Kernel, SafeOptimizer, Settings
from pacsbo_ros.predictor import CheckpointError, load_predictor
from pacsbo_ros.predictor.checkpoint import (
    load_checkpoint,
    save_checkpoint,
    SHIPPED,
)
import pytest

WINDOW = 5


def problem(**changes):
    return Settings(**{'dimension': 2, 'length_scales': (0.2,), **changes})


@pytest.fixture
def saved(tmp_path, small_checkpoint):
    path = tmp_path / 'predictor.json'
    save_checkpoint(path, small_checkpoint())
    return path


def test_what_was_saved_is_loaded_up_to_single_precision(saved, small_checkpoint):
    before, after = small_checkpoint(), load_checkpoint(saved)
    for old, new in zip(before.predictor.network.weights, after.predictor.network.weights,
                        strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6)
    np.testing.assert_allclose(after.predictor.calibration.kappa,
                               before.predictor.calibration.kappa, rtol=1e-6)
    assert (after.kernel, after.dimension, after.training) == ('matern32', 2, {'seed': 0})
    assert after.predictor.window == WINDOW


def test_hash_and_path_name_the_file_and_its_content(saved, tmp_path, small_checkpoint):
    eta = load_predictor(saved, problem())
    assert eta.path == str(saved)
    assert eta.hash == json.loads(saved.read_text())['sha256']
    other = tmp_path / 'other.json'
    assert save_checkpoint(other, small_checkpoint()) == eta.hash
    assert save_checkpoint(other, small_checkpoint(1)) != eta.hash


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


def test_an_interrupted_save_leaves_the_old_checkpoint(saved, monkeypatch, small_checkpoint):
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
