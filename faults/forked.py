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
Nodes as forks of one process that has imported everything: tests need not wait for imports.

A node's process is as real as one of its executable, which runs the same `main()`; it only begins
tenths of a second instead of seconds after it was asked for.
"""
from __future__ import annotations

from collections.abc import Sequence
import importlib
import multiprocessing
from multiprocessing.forkserver import ensure_running
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

from faults.graph import changed_environment, Process
from pacsbo_ros.nodes.lifeline import tied_to

NODES = 'pacsbo_ros.nodes.'
# Not the page: what it imports is large, and few tests want it.
IMPORTED = [NODES + name for name in (
    'safety_monitor', 'furuta_controller', 'pacsbo_optimizer', 'progress_markers',
    'episode_runner', 'simulated_plant', 'record_chirp', 'ctl')]
SERVER = multiprocessing.get_context('forkserver')
SERVER.set_forkserver_preload(['faults.mother', *IMPORTED])
ROOT = Path(__file__).resolve().parent.parent


def _run(words: Sequence[str], log: str, folder: str, environment: dict[str, str]) -> None:
    """Be the node: never returns."""
    os.setsid()
    tied_to(os.getppid())()
    tests = multiprocessing.parent_process()
    if tests is None or not tests.is_alive():  # they died meanwhile
        os._exit(1)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = list(words)
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(file, number)
    sys.exit(importlib.import_module(NODES + Path(words[0]).name).main())


class Fork:
    """A forked process, spoken to as one of `subprocess`."""

    def __init__(self, words: Sequence[str], log: Path, folder: Path) -> None:
        self._process = SERVER.Process(
            target=_run, args=(words, str(log), str(folder), dict(os.environ)), daemon=True)
        # Where it finds what it imports, from whatever folder the tests were started.
        with changed_environment(PYTHONPATH=os.pathsep.join(
                filter(None, (str(ROOT), os.environ.get('PYTHONPATH'))))):
            ensure_running()
        self._process.start()
        self.pid: int = self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it."""
        self._process.kill()


class Forked(Process):
    """A node in a process of its own that begins at once."""

    def launch(self, words: list[str], folder: Path) -> Any:
        """Fork it, unless it is a program that is not imported."""
        if NODES + Path(words[0]).name not in IMPORTED:
            return super().launch(words, folder)
        return Fork(words, self.log, folder)
