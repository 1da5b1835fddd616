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

"""The journal survives crashes and refuses damage."""
import errno
import json
import math
import os
from pathlib import Path
import resource

from hypothesis import given, settings
from hypothesis import strategies as st
from pacsbo_ros.tuning.journal import Journal, JournalError
from pacsbo_ros.tuning.trial import Measured, Told, Trial
import pytest

PROBLEM = {'box': [[0, 1]], 'seed': 3}


def told(number):
    return Told(Trial(number, (-2.5, 23.0 + number), (0.4, 0.3), 17, 'start', 'start'),
                Measured(0.97, 0.5, (0.6, 0.7), (), (0.2, 0.5), 0, 'fine'))


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'episodes.jsonl'


def write(path, count=3):
    journal = Journal(path, PROBLEM)
    for number in range(1, count + 1):
        journal.append(told(number))
    journal.close()


def test_what_was_appended_is_read_back(path):
    write(path)
    assert Journal(path, PROBLEM).told == [told(1), told(2), told(3)]


@pytest.mark.parametrize('cut', range(2, 40, 7))
def test_a_torn_last_line_is_cut_off_and_the_rest_is_kept(path, cut):
    write(path)
    with path.open('r+b') as file:
        file.truncate(path.stat().st_size - cut)
    before = path.read_bytes()
    journal = Journal(path, PROBLEM)
    assert journal.torn
    assert journal.told == [told(1), told(2)]
    assert path.read_bytes() == before  # until there is something to write
    journal.append(told(3))
    journal.close()
    assert Journal(path, PROBLEM).told == [told(1), told(2), told(3)]


def test_a_whole_last_line_without_its_newline_counts(path):
    write(path)
    path.write_bytes(path.read_bytes()[:-1])
    journal = Journal(path, PROBLEM)
    assert not journal.torn
    assert journal.told == [told(1), told(2), told(3)]
    journal.append(told(4))
    journal.close()
    assert Journal(path, PROBLEM).told == [told(n) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize('content', [
    b'{"format": 99', b'not ours at all', b'{"format": 1, "problem": {}}', b'[1, 2',
    b'\x00' * 40, b'{"a": ' * 5000], ids=range(6))
def test_nothing_that_is_refused_is_changed(path, content):
    path.write_bytes(content)
    with pytest.raises(JournalError):
        Journal(path, PROBLEM)
    assert path.read_bytes() == content


def test_a_last_line_that_is_whole_but_no_episode_is_refused_not_cut_off(path):
    write(path)
    path.write_bytes(path.read_bytes() + b'{"trial": {}}')
    before = path.read_bytes()
    with pytest.raises(JournalError, match='line 5'):
        Journal(path, PROBLEM)
    assert path.read_bytes() == before


def test_a_torn_header_is_written_again(path):
    write(path, 0)
    path.write_bytes(path.read_bytes()[:-10])
    write(path, 2)
    assert Journal(path, PROBLEM).told == [told(1), told(2)]


@pytest.mark.parametrize(('change', 'words'), [
    (lambda path: path.unlink(), 'gone'),
    (lambda path: path.rename(path.with_name('moved')), 'gone'),
    (lambda path: path.with_name('new').write_bytes(path.read_bytes())
     and path.with_name('new').replace(path), 'another file'),
    (lambda path: os.truncate(path, 100), '100 bytes'),
    (lambda path: path.open('ab').write(b'{}'), 'somebody else')])
def test_a_journal_that_is_deleted_replaced_or_changed_is_noticed(path, change, words):
    journal = Journal(path, PROBLEM)
    journal.append(told(1))
    change(path)
    with pytest.raises(JournalError, match=words):
        journal.append(told(2))
    assert journal.told == [told(1)]


def test_no_pipe_or_device_is_a_journal(tmp_path):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    for path in (pipe, Path('/dev/zero')):
        with pytest.raises(JournalError, match='regular file'):
            Journal(path, PROBLEM)


def test_damage_in_the_middle_is_an_error_that_names_the_line(path):
    write(path)
    lines = path.read_bytes().split(b'\n')
    lines[2] = lines[2][:20]
    path.write_bytes(b'\n'.join(lines))
    with pytest.raises(JournalError, match='line 3'):
        Journal(path, PROBLEM)


def test_a_journal_of_another_problem_is_refused_and_left_alone(path):
    write(path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r'another problem.*seed'):
        Journal(path, {**PROBLEM, 'seed': 4})
    assert path.read_bytes() == before


def test_a_journal_from_the_future_is_refused(path):
    path.write_text(json.dumps({'format': 99, 'problem': PROBLEM}) + '\n')
    with pytest.raises(JournalError, match='format 99'):
        Journal(path, PROBLEM)


def test_two_processes_cannot_write_the_same_journal(path):
    first = Journal(path, PROBLEM)
    with pytest.raises(JournalError, match='another optimiser'):
        Journal(path, PROBLEM)
    first.close()
    Journal(path, PROBLEM).close()


def test_a_full_disk_loses_the_last_episode_only_and_says_so(path, monkeypatch):
    journal = Journal(path, PROBLEM)
    journal.append(told(1))

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', full)
        with pytest.raises(JournalError, match='not saved'):
            journal.append(told(2))
    assert journal.told == [told(1)]
    journal.append(told(2))
    journal.close()
    assert Journal(path, PROBLEM).told == [told(1), told(2)]


def test_a_disk_that_fills_up_within_a_line_leaves_no_half_line(path):
    journal = Journal(path, PROBLEM)
    journal.append(told(1))
    before = path.read_bytes()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, old[1]))
    try:
        with pytest.raises(JournalError, match='not saved'):
            journal.append(told(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert path.read_bytes() == before
    journal.append(told(2))
    journal.close()
    assert Journal(path, PROBLEM).told == [told(1), told(2)]


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write to a read-only folder')
def test_a_read_only_folder_is_an_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match='choose another'):
        Journal(tmp_path / 'episodes.jsonl', PROBLEM)


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_never_written(path, value):
    journal = Journal(path, PROBLEM)
    size = path.stat().st_size
    bad = Told(told(1).trial, Measured(value, 0.5, (0.6, 0.7), (), (0.2, 0.5), 0, 'fine'))
    with pytest.raises(ValueError, match='JSON'):
        journal.append(bad)
    assert path.stat().st_size == size


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_any_garbage_is_refused_or_cut_off_but_never_believed(tmp_path_factory, garbage):
    path = tmp_path_factory.mktemp('fuzz') / 'episodes.jsonl'
    write(path, 2)
    good = path.read_bytes()
    path.write_bytes(good + garbage)
    try:
        journal = Journal(path, PROBLEM)
    except JournalError:
        return
    assert journal.told[:2] == [told(1), told(2)]
    assert len(journal.told) == 2
    journal.close()
