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

"""No file makes a reader hang, grow or raise anything but its own error."""
import io
import json
import os
from pathlib import Path
import resource
import subprocess
import sys
import zipfile

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.files import (
    ARRAYS,
    DEPTH,
    FileError,
    parse_json,
    parse_yaml,
    read_arrays,
    read_bytes,
)
from pacsbo_ros.predictor.checkpoint import load_checkpoint
from pacsbo_ros.predictor.sealed import CheckpointError
from pacsbo_ros.tuning.journal import Journal, JournalError
import pytest

BOMB = b'a: &a [x, x, x, x, x, x, x, x, x]\n' + b''.join(
    f'{chr(98 + n)}: &{chr(98 + n)} [{", ".join([f"*{chr(97 + n)}"] * 9)}]\n'.encode()
    for n in range(12))


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    for path in (tmp_path / 'pipe', Path('/dev/zero'), Path('/dev/full')):
        with pytest.raises(FileError, match='regular file'):
            read_bytes(path, 100)
    for path in (tmp_path, tmp_path / 'none'):
        with pytest.raises(FileError, match='cannot be read'):
            read_bytes(path, 100)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    path = tmp_path / 'large'
    with path.open('wb') as file:
        file.truncate(10 ** 12)
    with pytest.raises(FileError, match='too many'):
        read_bytes(path, 10 ** 6)


@pytest.mark.parametrize('text', [b'[' * 100_000, b'{"a":' * 50_000, b'[' * 50 + b']' * 50,
                                  b'', b'\xff', b'nul', b'1' * 10_000],
                         ids=range(7))
def test_json_that_is_deep_or_damaged_is_refused(text):
    with pytest.raises(FileError):
        parse_json(text, 'x')


@pytest.mark.parametrize('text', [BOMB, b'a: &b\n  c: *b', b'[' * 20_000, b'!!int ""',
                                  b'!!bool x', b'!!timestamp x', b'!!float ""',
                                  b'!!python/object/apply:os.system [ls]', b'a: [b', b'? {a: b}',
                                  b'2001-99-99', b'\x00'], ids=range(12))
def test_yaml_that_unfolds_or_is_damaged_is_refused(text):
    with pytest.raises(FileError):
        parse_yaml(text, 'x')


def test_ordinary_files_are_read(tmp_path):
    assert parse_json(b'{"a": [1, {"b": null}]}', 'x') == {'a': [1, {'b': None}]}
    assert parse_yaml(b'/**:\n  ros__parameters: {a: [1.5, 2]}', 'x') == {
        '/**': {'ros__parameters': {'a': [1.5, 2]}}}
    nested = b'[' * (DEPTH - 1) + b']' * (DEPTH - 1)
    assert parse_json(nested, 'x')
    arrays = {'a': np.arange(6.0).reshape(2, 3), 'b': np.array(['x', 'yz']),
              'c': np.asfortranarray(np.eye(3)), 'd': np.array(7)}
    np.savez_compressed(tmp_path / 'a.npz', **arrays)
    read = read_arrays(tmp_path / 'a.npz')
    assert all(np.array_equal(read[k], v) and read[k].dtype == v.dtype for k, v in arrays.items())


def archive(content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, 'w', zipfile.ZIP_DEFLATED) as file:
        file.writestr('a.npy', content)
    return made.getvalue()


def npy(shape, dtype, body=b''):
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {'shape': shape, 'fortran_order': False,
                                                'descr': dtype})
    return made.getvalue() + body


@pytest.mark.parametrize('content', [
    archive(bytes(4 * ARRAYS)), archive(npy((10 ** 12,), '<f8')), archive(npy((3,), '|O')),
    archive(npy((2,), '<f8', bytes(15))), archive(b'no array'), b'PK\x03\x04', b''],
    ids=range(7))
def test_an_archive_that_lies_about_its_size_is_refused(tmp_path, content):
    (tmp_path / 'a.npz').write_bytes(content)
    with pytest.raises(FileError):
        read_arrays(tmp_path / 'a.npz')


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(['json', 'yaml', 'npz', 'checkpoint', 'journal']))
def test_no_bytes_raise_anything_but_the_readers_own_error(tmp_path_factory, content, kind):
    path = tmp_path_factory.mktemp('fuzz') / 'file'
    path.write_bytes(content)
    try:
        if kind == 'json':
            parse_json(content, 'x')
        elif kind == 'yaml':
            parse_yaml(content, 'x')
        elif kind == 'npz':
            read_arrays(path)
        elif kind == 'checkpoint':
            load_checkpoint(path)
        else:
            Journal(path, {}).close()
        words = ''
    except (FileError, CheckpointError, JournalError) as error:
        words = str(error)
    assert '\n' not in words
    assert not words or path.read_bytes() == content


def run_folder(folder):
    """Make a folder whose every file is hostile; a sound header makes it a run."""
    for name in ('slices', 'traces'):
        (folder / name).mkdir()
    head = json.dumps({'format': 2, 'problem': {'box': {'names': ['a', 'b']}}})
    episode = json.dumps({
        'trial': {'iteration': 1, 'values': [1, 2], 'point': [0, 0], 'seed': 1, 'role': 'start',
                  'domain': 'start', 'mean': [], 'lower': [], 'upper': []},
        'measured': {'reward': 0.5, 'scaled_reward': 0.1, 'margins': [0.1, 0.1], 'noise': [],
                     'peaks': [0.1, 0.1], 'outcome': 0, 'reason': ''}})
    (folder / 'episodes.jsonl').write_text(f'{head}\n{episode}\n' + '[' * 100_000 + '\n')
    (folder / 'parameters.yaml').write_bytes(BOMB)
    os.mkfifo(folder / 'progress.jsonl')
    os.mkfifo(folder / 'traces' / '0001.csv')
    (folder / 'slices' / '0001.npz').symlink_to('/dev/zero')
    (folder / 'slices' / '0002.npz').write_bytes(archive(bytes(4 * ARRAYS)))


def test_a_report_of_a_hostile_folder_is_written_within_seconds_and_little_memory(tmp_path):
    run_folder(tmp_path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run([sys.executable, '-m', 'pacsbo_ros.tuning.report', str(tmp_path)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 'Traceback' not in done.stderr
    page = (tmp_path / 'report.html').read_text()
    for name in ('Line 3 of episodes.jsonl', 'parameters.yaml', 'slices/0001.npz',
                 'slices/0002.npz', 'traces/0001.csv', 'progress.jsonl'):
        assert f'{name} could not be read' in page
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert most == before or most < 400_000  # kilobytes; half of it is matplotlib


@pytest.mark.parametrize('name', ['episodes.jsonl'])
def test_a_report_of_a_pipe_or_a_device_is_one_line(tmp_path, name):
    os.mkfifo(tmp_path / name)
    done = subprocess.run([sys.executable, '-m', 'pacsbo_ros.tuning.report', str(tmp_path)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count('\n') == 1
