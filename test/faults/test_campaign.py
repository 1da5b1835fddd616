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

"""The campaign itself: its table comes whatever happens, and it knows when the machine stood."""
import os
import signal
import time

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='faults need ROS 2: run them by make test')
from faults import __main__ as main
from faults.cases import Fault
from faults.graph import wait_for
from faults.readers import damaged_files, DAMAGES, KINDS
from faults.rows import Row
from faults.stalls import StallWatch


def test_the_table_comes_whatever_happens(monkeypatch, tmp_path, capsys):
    def no_rig(*_, **__):
        raise OSError('no room for a rig')

    def fine(repeats, _):
        return Row('fine', 'nothing', repeats=repeats, recovered=repeats)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, 'Rig', no_rig)
    monkeypatch.setattr(main, 'GROUPS', {'group': (
        lambda: iter([Fault('first', print), Fault('second', print)]), {})})
    monkeypatch.setattr(main, 'OTHERS', {'fine': (fine, 1.0), 'broken': (no_rig, 1.0),
                                         'interrupted': (interrupted, 1.0), 'never': (fine, 1.0)})
    (tmp_path / 'file').touch()  # where the folder of the table cannot be
    for out in (tmp_path / 'out', tmp_path / 'file' / 'out'):
        monkeypatch.setattr('sys.argv', ['faults', '--repeats', '3', '--out', str(out)])
        assert main.main() == 1
        said = capsys.readouterr().out
        for name in ('first', 'second', 'broken'):
            assert f'| {name} | 1 |' in said
            assert f'{name}, repeat 1: OSError: no room for a rig' in said
        assert '| fine | 3 |' in said
        assert 'the rest of the campaign, repeat 1: KeyboardInterrupt' in said
        assert '4 complaints' in said
    assert '| fine | 3 |' in (tmp_path / 'out' / 'README.md').read_text()


def test_a_machine_that_stood_still_is_named_with_how_that_is_known(tmp_path):
    watch = StallWatch(tmp_path)
    try:
        wait_for(lambda: (tmp_path / 'stalls.txt').read_text(), 'the watch')
        began = time.monotonic()
        os.kill(watch._popen.pid, signal.SIGSTOP)  # as if nothing were run
        time.sleep(0.1)
        os.kill(watch._popen.pid, signal.SIGCONT)
        wait_for(lambda: watch.stalled(began, time.monotonic()), 'a stall')
        assert watch.worst(began, time.monotonic()) >= 0.1
        words = watch.words(began, time.monotonic())
        assert words.startswith("the machine's fault: ")
        assert 'process' in words
        assert 'not the machine' in watch.words(0.0, 0.0)
    finally:
        watch.close()


def test_every_kind_of_file_is_read_or_refused_however_it_is_damaged(tmp_path):
    row = damaged_files(len(KINDS) * len(DAMAGES), tmp_path, seed=5)
    assert row.complaints == []
    assert row.outcomes['refused'] > row.repeats / 2
