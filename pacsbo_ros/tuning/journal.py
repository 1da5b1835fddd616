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
The memory of a run: a header line and one line per episode, on disk before the next step.

A line counts once it is whole. A crash can only tear the last line, and that episode is then
repeated. Any other damage is reported, never skipped. A journal is judged before it is touched:
what a crash left is mended with the first episode that is appended, so a run that is refused, here
or later, leaves the file as it was.
"""
from __future__ import annotations

import contextlib
from dataclasses import asdict
import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

from pacsbo_ros.files import FileError, parse_json, read_bytes, read_open, RECORDS
from pacsbo_ros.tuning.trial import Told

FORMAT = 2


class JournalError(Exception):
    """A journal that cannot be used; the message names file, line and what to do."""


def planned_budget(path: Path) -> int | None:
    """
    Return the budget over which a journal's run spread its risk; None if it does not say.

    A run that is resumed with more iterations keeps it: what was promised was promised for it.
    """
    try:
        header = parse_json(read_bytes(path, RECORDS).split(b'\n', 1)[0], 'line 1')
        budget = header['problem']['settings']['budget']
    except (FileError, KeyError, TypeError):
        return None  # whoever opens the journal says what is wrong with it
    return budget if type(budget) is int and budget >= 1 else None


class Journal:
    """Append episodes to a file that one process at a time may write."""

    def __init__(self, path: Path, problem: dict[str, Any]) -> None:
        """Open or create; refuse a journal of another problem or of a running process."""
        self.path = path
        self.told: list[Told] = []
        self.torn = False  # the last line is torn; it goes when the next one is written
        header = _line({'format': FORMAT, 'problem': problem})
        try:
            # Without waiting: opening a pipe would last until somebody reads.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
                                 | os.O_NOCTTY | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise JournalError(f'{path}: {error.strerror}; choose another run folder') from error
        self._file = os.fdopen(descriptor, 'r+b', buffering=0)  # unwritten is not kept either
        try:
            self._lock()
            content = read_open(self._file, str(path), RECORDS)
            self._length = len(content)  # of the file as we left it
            self._good = self._judge(content, header)  # of that, what counts
            self._mend = b'' if content[:self._good].endswith(b'\n') or not self._good else b'\n'
            if not self._good:
                self._write(header)
        except FileError as error:
            self._file.close()
            raise JournalError(f'{error}; restore the file or choose another run '
                               'folder') from error
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JournalError(f'{self.path}: another optimiser writes to it; stop that one or '
                               'choose another run folder') from error

    def _judge(self, content: bytes, header: bytes) -> int:
        """Take in what was told; return how many bytes of the content count."""
        whole, newline, rest = content.rpartition(b'\n')
        lines = whole.split(b'\n') if newline else []
        good = len(whole) + len(newline)
        if rest:
            self.torn = not _is_json(rest)
            if not lines and self.torn and not header.startswith(rest):
                raise self._damage(1)
            if not self.torn:
                lines.append(rest)
                good = len(content)
        if lines:
            self._check_header(self._parse(lines[0], 1), json.loads(header)['problem'])
        for number, line in enumerate(lines[1:], start=2):
            self.told.append(self._told(self._parse(line, number), number))
        return good

    def _check_header(self, header: dict[str, Any], wanted: dict[str, Any]) -> None:
        if header.get('format') != FORMAT:
            raise JournalError(f'{self.path}: format {header.get("format")!r} is not {FORMAT}; '
                               'use the version of pacsbo_ros that wrote it')
        recorded = header.get('problem')
        if recorded != wanted:
            differing = _differences('', recorded, wanted)
            raise JournalError(
                f'{self.path}: belongs to another problem (different: {", ".join(differing)}); '
                'start a new run or give the parameters it was made with')

    def _damage(self, number: int) -> JournalError:
        return JournalError(f'{self.path}: line {number} is damaged; restore the file, or cut it '
                            'off before that line to repeat the episodes after it')

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            data = parse_json(line, f'line {number}')
        except FileError as error:
            raise self._damage(number) from error
        if not isinstance(data, dict):
            raise self._damage(number)
        return data

    def _told(self, data: dict[str, Any], number: int) -> Told:
        try:
            told = Told.from_record(data)
            if told.trial.iteration != number - 1:
                raise ValueError(f'its number is {told.trial.iteration}')
        except ValueError as error:
            raise JournalError(f'{self.path}: line {number} is not episode {number - 1}; restore '
                               'the file') from error
        return told

    def append(self, told: Told) -> None:
        """Write an episode so that it survives a power cut."""
        self._write(_line({'trial': asdict(told.trial), 'measured': asdict(told.measured)}))
        self.told.append(told)

    def _write(self, line: bytes) -> None:
        self._check_unchanged()
        try:
            if self._good != self._length:
                self._file.truncate(self._good)
            line = self._mend + line
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._good)  # no half line for the next one to be glued to
            self._length = os.fstat(self._file.fileno()).st_size
            raise self._unsaved(f'{error.strerror}', 'make room and resume the run') from error
        self._good += len(line)
        self._length, self._mend = self._good, b''

    def _check_unchanged(self) -> None:
        """Refuse to write into a file that nobody will find, or that somebody else wrote to."""
        ours = os.fstat(self._file.fileno())
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise self._unsaved('the file is gone', 'restore it and resume the run') from error
        if (found.st_dev, found.st_ino) != (ours.st_dev, ours.st_ino):
            raise self._unsaved('another file is in its place', 'restore it and resume the run')
        if ours.st_size != self._length:
            raise self._unsaved(f'it has {ours.st_size} bytes, not {self._length}: somebody else '
                                'wrote to it', 'restore it and resume the run')

    def _unsaved(self, why: str, remedy: str) -> JournalError:
        return JournalError(f'{self.path}: {why}; the last episode is not saved: {remedy}')

    def close(self) -> None:
        """Let another process have the journal."""
        self._file.close()


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False).encode() + b'\n'


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text, '')
    except FileError:
        return False
    return True


def _differences(name: str, recorded: Any, wanted: Any) -> list[str]:
    """Say where two headers differ, with the values if they are short enough to be read."""
    recorded, wanted = _by_name(recorded), _by_name(wanted)
    if isinstance(recorded, dict) and isinstance(wanted, dict):
        return [words for key in sorted({*recorded, *wanted})
                if recorded.get(key) != wanted.get(key)
                for words in _differences(f'{name}.{key}' if name else key, recorded.get(key),
                                          wanted.get(key))]
    short = all(isinstance(value, str | int | float | None) for value in (recorded, wanted))
    return [f'{name} was {recorded!r}, is {wanted!r}' if short else name or 'everything']


def _by_name(value: Any) -> Any:
    """Return a list of things that have names as a mapping."""
    if isinstance(value, list) and value and all(
            isinstance(item, dict) and 'name' in item for item in value):
        return {item['name']: item for item in value}
    return value
