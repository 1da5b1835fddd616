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

"""Both kinds of checkpoints, damaged in every way: refused with a reason, and nothing runs."""

import base64
import hashlib
import json
import os
import pickle
import subprocess
import sys

from hypothesis import given, HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.predictor import CheckpointError, load_multiplier, load_predictor
from pacsbo_ros.predictor.checkpoint import save_checkpoint
from pacsbo_ros.predictor.model import feature_count
from pacsbo_ros.predictor.multiplier import INPUTS, save_multiplier
from pacsbo_ros.predictor.sealed import LARGEST_FILE, VERSION
import pytest

WINDOW, TWO = 5, Settings(dimension=2, length_scales=(0.2,))
ROWS = np.array([[0.0, 0.0, -0.3, 0.1, 3.0], [1.2, 0.1, 0.5, -1.0, 4.0]])
LOAD = {'norm': lambda path: load_predictor(path, TWO),
        'multiplier': lambda path: load_multiplier(path, Settings())}
SAYS = {'norm': lambda eta: eta(np.array([[1.0, 1.2], [1.5, 1.4]]), TWO, 'box'),
        'multiplier': lambda eta: eta.raw(ROWS, 1)}
fast = hypothesis_settings(max_examples=40, deadline=None,
                           suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=LOAD)
def kind(request):
    return request.param


@pytest.fixture
def saved(tmp_path, kind, small_checkpoint, some_checkpoint):
    path = tmp_path / 'saved.json'
    if kind == 'norm':
        save_checkpoint(path, small_checkpoint())
    else:
        save_multiplier(path, some_checkpoint())
    return path


def rewrite(path, change, seal=True):
    """Change the data of a checkpoint; sealed, its hash fits again."""
    data = json.loads(path.read_text())
    change(data)
    if seal:
        text = json.dumps(data['content'], sort_keys=True, separators=(',', ':'))
        data['sha256'] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(data))


def pack(values):
    data = np.asarray(values, dtype='<f4')
    return {'shape': list(data.shape), 'float32': base64.b64encode(data.tobytes()).decode()}


def test_a_pickle_that_would_run_a_command_is_refused_and_runs_nothing(tmp_path, kind):
    witness = tmp_path / 'it ran'

    class Hostile:

        def __reduce__(self):
            return subprocess.call, ([sys.executable, '-c', f'open({str(witness)!r}, "w")'],)

    raw = pickle.dumps(Hostile())
    archive, named = tmp_path / 'hostile.npz', tmp_path / 'hostile.json'
    np.savez(archive, weights=np.array([Hostile()], dtype=object))
    named.write_bytes(raw)
    for path in (named, archive):
        with pytest.raises(CheckpointError, match='not a predictor checkpoint'):
            LOAD[kind](path)
    assert not witness.exists()
    pickle.loads(raw)  # the file is what it claims to be: whoever unpickles it is caught
    assert witness.exists()


@pytest.mark.parametrize('share', [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(saved, kind, share):
    raw = saved.read_bytes()
    saved.write_bytes(raw[:int(share * len(raw))])
    with pytest.raises(CheckpointError, match='truncated'):
        LOAD[kind](saved)


@fast
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_no_changed_byte_changes_the_word_unnoticed(saved, kind, where, byte):
    raw = bytearray(saved.read_bytes())
    raw[int(where * len(raw))] = byte
    path = saved.with_name('changed.json')
    path.write_bytes(bytes(raw))
    try:
        eta = LOAD[kind](path)
    except CheckpointError:
        return
    assert SAYS[kind](eta) == SAYS[kind](LOAD[kind](saved))


@fast
@given(raw=st.binary(max_size=200))
def test_any_foreign_bytes_are_refused(tmp_path, kind, raw):
    path = tmp_path / 'foreign'
    path.write_bytes(raw)
    with pytest.raises(CheckpointError):
        LOAD[kind](path)


@pytest.mark.parametrize('text', ['[]', '{}', '3', '{"magic": "other"}', '[' * 100_000, 'NaN'])
def test_foreign_json_is_refused(tmp_path, kind, text):
    path = tmp_path / 'foreign.json'
    path.write_text(text)
    with pytest.raises(CheckpointError, match='not a predictor checkpoint'):
        LOAD[kind](path)


def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path, kind):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    for path in (tmp_path / 'none.json', tmp_path, pipe):
        with pytest.raises(CheckpointError, match='cannot be read'):
            LOAD[kind](path)


def test_a_huge_file_is_refused_unread(tmp_path, kind):
    path = tmp_path / 'huge.json'
    with path.open('wb') as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(CheckpointError, match='too many'):
        LOAD[kind](path)


def test_a_file_from_the_future_is_refused(saved, kind):
    rewrite(saved, lambda data: data.update(version=VERSION + 1))
    with pytest.raises(CheckpointError, match=r'from the future.*update'):
        LOAD[kind](saved)


@pytest.mark.parametrize('version', [0, -1, 1.0, '1', None, True])
def test_a_strange_version_is_refused(saved, kind, version):
    rewrite(saved, lambda data: data.update(version=version))
    with pytest.raises(CheckpointError, match='version'):
        LOAD[kind](saved)


def test_content_that_was_changed_without_its_hash_is_refused(saved, kind):
    rewrite(saved, lambda data: data['content'].update(kernel='rbf'), seal=False)
    with pytest.raises(CheckpointError, match='hash'):
        LOAD[kind](saved)


BOTH = {
    'no layers': lambda c: c.update(layers=[]),
    'a shape that lies': lambda c: c['layers'][0]['bias'].update(shape=[10 ** 12]),
    'an unknown kernel': lambda c: c.update(kernel='exec'),
    'training that is no table': lambda c: c.update(training=3),
}
DAMAGES = {
    'norm': {
        **BOTH,
        'a weight that is not finite': lambda c: c['layers'][0].update(
            weight=pack(np.full((feature_count(WINDOW), 4), np.nan))),
        'layers that do not fit': lambda c: c['layers'].reverse(),
        'a bias of another size': lambda c: c['layers'][0].update(bias=pack(np.zeros(3))),
        'two outputs': lambda c: c['layers'][1].update(
            weight=pack(np.zeros((4, 2))), bias=pack(np.zeros(2))),
        'a negative shape': lambda c: c['layers'][0]['bias'].update(shape=[-4]),
        'no base64': lambda c: c['layers'][0]['bias'].update(float32='***'),
        'a scale of zero': lambda c: c['inputs'].update(
            scale=pack(np.zeros(feature_count(WINDOW)))),
        'another window': lambda c: c.update(window=WINDOW + 1),
        'an endless window': lambda c: c.update(window=10 ** 9),
        'dimension zero': lambda c: c.update(dimension=0),
        'other domains': lambda c: c.update(domains=['box']),
        'a range upside down': lambda c: c.update(length_scales=[0.5, 0.1]),
        'a range of text': lambda c: c.update(lam='ab'),
        'a negative kappa': lambda c: c['calibration'].update(
            kappa=pack(-np.ones((2, 3, WINDOW)))),
        'a kappa of another shape': lambda c: c['calibration'].update(kappa=pack(np.ones(3))),
        'length scales that descend': lambda c: c['calibration'].update(
            length_scales=pack([0.3, 0.1])),
        'a coverage of two': lambda c: c['calibration'].update(coverage=2),
        'a missing part': lambda c: c.pop('inputs'),
    },
    'multiplier': {
        **BOTH,
        'a weight that is not finite': lambda c: c['layers'][0].update(
            weight=pack(np.full((INPUTS, 4), np.inf))),
        'too few inputs': lambda c: c['inputs'].update(mean=pack(np.zeros(INPUTS - 1))),
        'no dimensions': lambda c: c.update(dimensions=[]),
        'dimension zero': lambda c: c['dimensions'][0].update(dimension=0),
        'a dimension twice': lambda c: c['dimensions'][0].update(dimension=2),
        'a constant of zero': lambda c: c['dimensions'][0].update(constant=0.0),
        'a constant of text': lambda c: c['dimensions'][0].update(constant='ab'),
        'a range upside down': lambda c: c['dimensions'][0].update(length_scales=[0.5, 0.1]),
    },
}


@pytest.mark.parametrize(('kind', 'damage'), [(k, d) for k, ds in DAMAGES.items() for d in ds],
                         indirect=['kind'])
def test_content_that_makes_no_sense_is_refused_even_with_a_true_hash(saved, kind, damage):
    rewrite(saved, lambda data: DAMAGES[kind][damage](data['content']))
    with pytest.raises(CheckpointError, match='corrupt'):
        LOAD[kind](saved)
