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
The restore rule on disk: what a target had before it was touched, and whether it is touched now.

    FOLDER/originals.yaml   what the nodes had, an ordinary ROS parameter file; written first
    FOLDER/target_changed   is there while a node may have other values than its originals
    HOME/targets/NODE       locked by whoever may change that node; says in which folder

All of it is on the disk (fsync) before the first value is changed. The lock keeps two runs off one
node, and lets a later run find what an earlier one, killed with its guardian, left behind.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
import contextlib
import fcntl
import os
from pathlib import Path
import time
from typing import TextIO

from pacsbo_ros.files import parse_yaml, read_bytes, TEXT
from pacsbo_ros.robots.contract import RobotError
from pacsbo_ros.robots.parameters.sections import finite
import yaml

ORIGINALS = 'originals.yaml'
CHANGED = 'target_changed'
Values = Mapping[str, Mapping[str, float]]  # node -> parameter -> value


class CustodyError(RobotError):
    """The restore rule cannot be kept; one line says why."""


def home() -> Path:
    """Return the folder of the locks, one per machine user and ROS domain."""
    base = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    return base / 'pacsbo_ros' / f'targets-{os.environ.get("ROS_DOMAIN_ID", "0")}'


def write_durably(path: Path, text: str) -> None:
    """Replace a file in one step and have it on the disk before returning."""
    temporary = path.with_name(f'.{path.name}.tmp')
    with temporary.open('w', encoding='utf-8') as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_originals(folder: Path) -> dict[str, dict[str, float]]:
    """Return what the nodes had before a run; CustodyError if the folder does not say."""
    path = folder / ORIGINALS
    try:
        data = parse_yaml(read_bytes(path, TEXT), str(path))
        return {str(node): {str(name): finite(value, str(name)) for name, value
                            in inner['ros__parameters'].items()} for node, inner in data.items()}
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        if not path.exists():
            raise CustodyError(f'{folder} has no {ORIGINALS}: no values were changed from there, '
                               'or it is not the folder of a run') from error
        raise CustodyError(f'{path} is damaged: {error}') from error


class Locks:
    """Whoever holds these may change the nodes."""

    def __init__(self, nodes: Iterable[str], folder: Path) -> None:
        """Know the nodes and the folder in which their values are kept."""
        self._paths = [home() / node.strip('/').replace('/', '.') for node in sorted(nodes)]
        self._folder = folder
        self._files: list[TextIO] = []

    def acquire(self, patience: float) -> list[Path]:
        """Lock all nodes; return the folders of runs that left one of them changed."""
        home().mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + patience
        left = []
        for path in self._paths:
            file = path.open('a+', encoding='utf-8')
            self._files.append(file)
            while not _locked(file):
                if time.monotonic() > deadline:
                    file.seek(0)
                    folder = file.read().strip()
                    self.release()
                    raise CustodyError(f'{path.name} is being tuned by the run in {folder}; end '
                                       'that run first')
                time.sleep(0.1)
            file.seek(0)
            before = file.read().strip()
            if before and (Path(before) / CHANGED).exists():
                left.append(Path(before))
        return left

    def claim(self) -> None:
        """Write down in which folder the values are kept, once nothing is left behind."""
        for file in self._files:
            file.seek(0)
            file.truncate()
            file.write(str(self._folder))
            file.flush()
            os.fsync(file.fileno())

    def release(self) -> None:
        """Let others change the nodes."""
        for file in self._files:
            file.close()
        self._files = []


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Custody:
    """The originals of one run."""

    def __init__(self, folder: Path) -> None:
        """Keep them in this folder."""
        self.folder = folder

    def keep(self, originals: Values) -> None:
        """Write the originals down; only where nothing is changed."""
        if self.changed:
            raise CustodyError(f'{self.folder} still has values to be put back')
        self.folder.mkdir(parents=True, exist_ok=True)
        head = '# What the nodes had before this run; ros2 run pacsbo_ros restore puts it back.\n'
        write_durably(self.folder / ORIGINALS, head + yaml.safe_dump(
            {node: {'ros__parameters': dict(values)} for node, values in originals.items()},
            sort_keys=False))

    @property
    def changed(self) -> bool:
        """Tell whether a node may have other values than its originals."""
        return (self.folder / CHANGED).exists()

    def begin(self) -> None:
        """Say, on the disk, that values are going to be changed."""
        read_originals(self.folder)  # what cannot be put back must not be changed
        write_durably(self.folder / CHANGED, f'{os.getpid()}\n')

    def end(self) -> None:
        """Say that every node was seen to have its originals again."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / CHANGED).unlink()
            _sync(self.folder)
