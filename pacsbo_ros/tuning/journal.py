# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The memory of a run: a header line and one line per episode, on disk before the next step.

A line counts once its newline is written and synced. A crash can only tear the last line, and
that episode is then repeated. Any other damage is reported, never skipped.
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

from pacsbo_ros.tuning.trial import Told

FORMAT = 1


class JournalError(Exception):
    """A journal that cannot be used; the message names file, line and what to do."""


class Journal:
    """Append episodes to a file that one process at a time may write."""

    def __init__(self, path: Path, problem: dict[str, Any]) -> None:
        """Open or create; refuse a journal of another problem or of a running process."""
        self.path = path
        self.told: list[Told] = []
        self.torn = False  # a torn last line was cut off
        try:
            self._file = path.open('a+b', buffering=0)  # what is not written is not kept either
        except OSError as error:
            raise JournalError(f'{path}: {error.strerror}; choose another run folder') from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise JournalError(f'{path}: another optimiser writes to it; stop that one or choose '
                               'another run folder') from error
        try:
            self._read(problem)
        except BaseException:
            self._file.close()
            raise

    def _read(self, problem: dict[str, Any]) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole, newline, rest = content.rpartition(b'\n')
        if rest:
            self.torn = True
            self._file.truncate(len(whole) + len(newline))
        lines = whole.split(b'\n') if newline else []
        if not lines:
            self._append({'format': FORMAT, 'problem': problem})
            return
        header = self._parse(lines[0], 1)
        if header.get('format') != FORMAT:
            raise JournalError(f'{self.path}: format {header.get("format")!r} is not {FORMAT}; '
                               'use the version of pacsbo_ros that wrote it')
        recorded = header.get('problem')
        wanted = json.loads(json.dumps(problem))
        if recorded != wanted:
            recorded = recorded if isinstance(recorded, dict) else {}
            differing = [_difference(key, recorded.get(key), wanted.get(key))
                         for key in sorted({*recorded, *wanted})
                         if recorded.get(key) != wanted.get(key)]
            raise JournalError(
                f'{self.path}: belongs to another problem (different: {", ".join(differing)}); '
                'start a new run or give the parameters it was made with')
        for number, line in enumerate(lines[1:], start=2):
            self.told.append(self._told(self._parse(line, number), number))

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            data = json.loads(line)
            if isinstance(data, dict):
                return data
        except (ValueError, RecursionError):
            pass
        raise JournalError(f'{self.path}: line {number} is damaged; restore the file, or cut it '
                           'off before that line to repeat the episodes after it')

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
        self._append({'trial': asdict(told.trial), 'measured': asdict(told.measured)})
        self.told.append(told)

    def _append(self, data: dict[str, Any]) -> None:
        end = self._file.seek(0, os.SEEK_END)
        try:
            line = json.dumps(data, allow_nan=False).encode() + b'\n'
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)  # no half line for the next one to be glued to
            raise JournalError(f'{self.path}: {error.strerror}; the last episode is not saved: '
                               'make room and resume the run') from error

    def close(self) -> None:
        """Let another process have the journal."""
        self._file.close()


def _difference(key: str, recorded: Any, wanted: Any) -> str:
    """Say how two values of a header differ, if that is short enough to be read."""
    short = all(isinstance(value, str | int | float | None) for value in (recorded, wanted))
    return f'{key} was {recorded!r}, is {wanted!r}' if short else key
