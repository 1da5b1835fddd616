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

"""
Damage every kind of file that is read, and read it: `python -m faults.readers`.

A reader may refuse a file by its own error, in one line. It may not hang, grow beyond MEMORY or
raise anything else.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import os
from pathlib import Path
import resource
import signal
import tempfile

from faults.rows import Row
import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.nodes.parameter_files import read as read_parameters
from pacsbo_ros.predictor.checkpoint import CheckpointError, load_checkpoint, shipped_path
from pacsbo_ros.robots.furuta.preset_file import read_preset, write_preset
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.recordings import read_recordings, RecordingError
from pacsbo_ros.robots.parameters.custody import CustodyError, ORIGINALS, read_originals
from pacsbo_ros.robots.parameters.sections import TaskError
from pacsbo_ros.robots.parameters.task import load as load_task
from pacsbo_ros.tuning.journal import Journal, JournalError, planned_budget
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.tuning.trial import Measured, Told, Trial

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 20  # that a reader gets
MEMORY = 200_000  # kilobytes by which all may grow
OWN = (ValueError, JournalError, CheckpointError, TaskError, CustodyError, RecordingError)
BOMB = b'a: &a [x, x, x, x, x, x, x, x, x]\n' + b''.join(
    f'{chr(98 + n)}: &{chr(98 + n)} [{", ".join([f"*{chr(97 + n)}"] * 9)}]\n'.encode()
    for n in range(12))
TOLD = Told(Trial(1, (-2.5, 23.0), (0.4, 0.3), 17, 'start', 'start'),
            Measured(0.97, 0.5, (0.6, 0.7), (), (0.2, 0.5), 0, 'fine'))


def _journal(folder: Path) -> Path:
    path = folder / 'episodes.jsonl'
    journal = Journal(path, {'box': {'names': ['a', 'b']}})
    journal.append(TOLD)
    journal.close()
    (folder / 'parameters.yaml').write_text('/**:\n  ros__parameters: {a: 1}\n')
    return path


def _copied(source: Path) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / source.name
        path.write_bytes(source.read_bytes())
        return path
    return make


def _preset(folder: Path) -> Path:
    write_preset(CALIBRATED, folder / 'preset.yaml', 'a plant')
    return folder / 'preset.yaml'


def _originals(folder: Path) -> Path:
    (folder / ORIGINALS).write_text('/a:\n  ros__parameters: {p: 1.0}\n')
    return folder / ORIGINALS


def _open(path: Path) -> None:
    planned_budget(path)
    Journal(path, {'box': {'names': ['a', 'b']}}).close()


# What makes a sound file in a folder, and what reads it.
KINDS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object]]] = {
    'journal': (_journal, _open),
    'run folder': (_journal, lambda path: RunData.load(path.parent)),
    'parameters': (_copied(ROOT / 'config' / 'furuta.yaml'),
                   lambda path: read_parameters(path, ('safety_monitor', 'furuta_controller'))),
    'task': (_copied(ROOT / 'examples' / 'joint_pid' / 'task.yaml'), load_task),
    'preset': (_preset, read_preset),
    'recording': (_copied(ROOT / 'pacsbo_ros' / 'robots' / 'furuta' / 'data'
                          / 'qube_chirps.csv'), read_recordings),
    'checkpoint': (_copied(shipped_path(Settings(dimension=2, constraints=1))), load_checkpoint),
    'originals': (_originals, lambda path: read_originals(path.parent)),
}


def _bytes(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    for where in rng.integers(len(content), size=rng.integers(1, 20)):
        content[where] = rng.integers(256)
    path.write_bytes(content)


def _cut(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(path.read_bytes()[:rng.integers(path.stat().st_size)])


def _put(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to('/dev/zero')


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _large(path: Path) -> None:
    with path.open('r+b') as file:
        file.truncate(10 ** 11)


DAMAGES: dict[str, Callable[[Path, np.random.Generator], object]] = {
    'other bytes': _bytes,
    'cut off': _cut,
    'a pipe': lambda path, _: _pipe(path),
    'an endless device': lambda path, _: _link(path),
    'an alias bomb': lambda path, _: _put(path, BOMB),
    'nested lists': lambda path, _: _put(path, b'[' * 100_000),
    'nested mappings': lambda path, _: _put(path, b'{"a":' * 50_000 + b'1' + b'}' * 50_000),
    'other types': lambda path, rng: _put(path, json.dumps(
        [None, [], {}, 'x', 1e308, {'/**': None}, {'/**': {'ros__parameters': []}}][
            rng.integers(7)]).encode() + b'\n'),
    'a hundred gigabytes': lambda path, _: _large(path),
    'nothing': lambda path, _: _put(path, b''),
}


def damaged_files(repeats: int, folder: Path, seed: int = 1) -> Row:
    """Read damaged files; complain of every reader that does not refuse or read them in order."""
    row = Row('damaged files', 'read, or refused in one line')
    rng = np.random.default_rng(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(repeats):
        row.repeats += 1
        kind = list(KINDS)[number % len(KINDS)]
        damage = list(DAMAGES)[number // len(KINDS) % len(DAMAGES)]
        make, read = KINDS[kind]
        place = folder / f'{seed}-{number}'
        place.mkdir()
        path = make(place)
        DAMAGES[damage](path, rng)
        wrong = _read(read, path)
        row.outcomes['refused' if wrong is None else 'read' if not wrong else 'neither'] += 1
        if wrong:
            row.complain(f'{kind}, {damage}: {wrong}')
        row.recovered += 1
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > MEMORY:
        row.complain(f'memory grew by {grown // 1000} MB')
    return row


def _read(read: Callable[[Path], object], path: Path) -> str | None:
    """Return what must not be; None if the file was refused in order, nothing if it was read."""
    def hangs(*_: object) -> None:
        raise TimeoutError(f'not done after {SECONDS} s')
    usual = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(SECONDS)
    try:
        read(path)
    except OWN as error:
        return None if '\n' not in str(error) else f'more than one line: {error}'
    except BaseException as error:
        return f'{type(error).__name__}: {error}'
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)
    return ''


def main() -> int:
    """Print how many files were read, refused, or neither."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--files', type=int, default=800)
    with tempfile.TemporaryDirectory() as folder:
        row = damaged_files(parser.parse_args().files, Path(folder))
    print(f'{row.repeats} damaged files: {dict(row.outcomes)}', *row.complaints, sep='\n    ')
    return int(bool(row.complaints))


if __name__ == '__main__':
    raise SystemExit(main())
