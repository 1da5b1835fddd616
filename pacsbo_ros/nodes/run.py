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
Bring the graph up without ros2 launch: `make run ARGS="iterations:=10 speed:=20"`.

The arguments are those of furuta.launch.py, or with task:= or robot:= those of tune.launch.py.
The exit code is 0 if the run ended with verified values. Ctrl-C ends everything in order: the
optimiser first, then the others. So does a terminal that is closed, unless this was started with
nohup. If this program is killed, every process it has started is told to end.
"""
from __future__ import annotations

from collections.abc import Callable
import contextlib
from itertools import cycle
import json
import os
from pathlib import Path
import select
import signal
import subprocess
import sys
import threading
import time
from typing import IO

from ament_index_python.packages import get_package_prefix
from pacsbo_ros.nodes import bringup
from pacsbo_ros.nodes.lifeline import end_with_launcher, PARENT, tied_to

OPTIMIZER, MONITOR = 'pacsbo_optimizer', 'safety_monitor'
COLOURS = (36, 33, 32, 35, 34, 31)
PATIENCE = 15.0  # s that a process gets to end by itself
LAST = 3  # the turn of the programs of a task


class Running:
    """A started process whose output is passed on line by line under its name."""

    def __init__(self, process: bringup.Process, command: list[str], colour: int,
                 width: int) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches only this program."""
        self.process = process
        self._popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True, cwd=process.cwd, env=dict(os.environ, PYTHONUNBUFFERED='1'),
            preexec_fn=tied_to(os.getpid()))
        label = f'[{process.name}]'.ljust(width + 2)
        self._label = f'\033[{colour}m{label}\033[0m' if sys.stdout.isatty() else label
        self._muted = False
        self._reader = threading.Thread(target=self._pass_on, daemon=True)
        self._reader.start()

    def _pass_on(self) -> None:
        for line in self._popen.stdout:
            text = line.decode(errors='replace').rstrip()
            if not self._muted:
                say(f'{self._label} {text}')

    @property
    def code(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._popen.poll()

    def ask(self) -> None:
        """Ask it to end."""
        # A plain rclpy.spin() answers with a traceback, which would look like a failure.
        self._muted = not self.process.package
        self._popen.terminate()  # unlike SIGINT, without a traceback while it still starts

    def end(self) -> None:
        """Ask it to end, then make it; return when it is gone and its output is out."""
        if self.code is None:
            self.ask()
            try:
                self._popen.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self._popen.pid, signal.SIGKILL)
                self._popen.wait()
        self._reader.join(timeout=2.0)


def say(words: str, file: IO[str] | None = None) -> None:
    """Print a line; a terminal that is gone must not keep the graph from ending."""
    with contextlib.suppress(OSError):
        print(words, file=file, flush=True)


def command(process: bringup.Process, program: str, values: dict[str, str],
            share: Path) -> list[str]:
    """Return the command line of a process."""
    words = [program, *process.arguments]
    if not process.node:
        return words
    words = [*words, '--ros-args', '-r', f'__node:={process.name}']
    file = bringup.parameter_file(values, share)
    if file is not None:
        words += ['--params-file', str(file)]
    for name, value in process.parameters.items():
        words += ['-p', f'{name}:={json.dumps(value)}']
    if values['namespace']:
        words += ['-r', f'__ns:=/{values["namespace"].strip("/")}']
    return [*words, '--log-level', values['log_level'], '--enclave', process.enclave]


def main(arguments: list[str] | None = None) -> int:
    """Start the processes, wait for the end of the run, end them in order."""
    words = sys.argv[1:] if arguments is None else arguments
    if {'-h', '--help', '-s', '--show-args'} & set(words):
        print(__doc__)
        names = [word.partition(':=')[0] for word in words]
        for a in bringup.arguments_for(names):
            choices = f' One of {", ".join(a.choices)}.' if a.choices else ''
            print(f'  {a.name}:={a.default or "..."}\n      {a.description}{choices}')
        return 0
    try:
        pairs = dict(word.split(':=', 1) for word in words)
    except ValueError:
        print(f'error: {words} are not all of the form name:=value', file=sys.stderr)
        return 2
    if len(pairs) < len(words):
        names = [word.partition(':=')[0] for word in words]
        twice = next(name for name in names if names.count(name) > 1)
        print(f'error: {twice} is given twice; leave one of them out', file=sys.stderr)
        return 2
    share = Path(get_package_prefix(bringup.PACKAGE)) / 'share' / bringup.PACKAGE
    try:
        values = bringup.resolve(pairs)
        bringup.check(values, share)
    except bringup.ArgumentError as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    table = [(process, program) for process in bringup.processes(values, share)
             if (program := _found(process))]
    width = max(len(p.name) for p, _ in table)

    end_with_launcher()  # with make, which could not tell us if it is killed
    os.environ.pop(PARENT, None)
    stop, gone = threading.Event(), _terminal()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, lambda *_: stop.set())
    # A line per node and message, with its severity, is enough: the label names the node.
    os.environ.setdefault('RCUTILS_CONSOLE_OUTPUT_FORMAT', '{severity} {message}')
    running: list[Running] = []
    try:
        for (process, program), colour in zip(table, cycle(COLOURS)):
            running.append(Running(process, command(process, program, values, share), colour,
                                   width))
        return _watch(running, stop, gone)
    finally:
        running.sort(key=lambda item: _turn(item.process))
        for item in running:
            if item.process.essential and _turn(item.process) < LAST:
                item.ask()  # at once: a robot that moves does not wait for another's end
        for item in running:
            item.end()


def _terminal() -> Callable[[], bool]:
    """Return what tells whether the terminal we were started in is gone."""
    # Of a terminal that is closed, the kernel tells its first process alone. That may be make,
    # which waits for us and passes nothing on: `ssh -t robot make run`, `xterm -e make run`.
    poll = select.poll()
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        for number in range(3):
            if os.isatty(number):
                poll.register(number, 0)
    return lambda: bool(poll.poll(0))


def _turn(process: bringup.Process) -> int:
    """Return when a process is ended."""
    # The optimiser first, so that no new episode begins; then the monitor, so that it does not
    # take the end of the others for a fault; programs of a task last, because their original
    # values have to come back first.
    return 0 if process.name == OPTIMIZER else 1 if process.name == MONITOR else (
        LAST if process.essential and not process.package else 2)


def _found(process: bringup.Process) -> str | None:
    """Return a process's program; warn where an optional one is not installed."""
    program = bringup.program(process)
    if program is None and process.optional:
        say(bringup.absence(process))
        return None
    if program is None and not process.package:
        raise SystemExit(f'error: {process.executable!r} of processes in the task file is no '
                         'program; give one that is on the PATH')
    if program is None:
        raise SystemExit(f'error: {process.executable} is not installed; run make setup')
    return program


def _watch(running: list[Running], stop: threading.Event, gone: Callable[[], bool]) -> int:
    """Wait until the run ends; return the exit code of the whole."""
    warned = set()
    while not (stop.wait(0.1) or gone()):
        for item in running:
            if item.code is None or item in warned:
                continue
            name = item.process.name
            if not item.process.essential:
                say(f'{name} has ended with code {item.code}; the run goes on')
                warned.add(item)
            elif name == OPTIMIZER:
                if item.code < 0:  # it could not say anything itself
                    say(f'error: {name} was ended by signal {-item.code}; go on with resume:= and '
                        'the run folder', sys.stderr)
                return item.code if item.code >= 0 else 1
            elif item.code == 2:  # it would not start, and has said why in one line
                time.sleep(0.2)  # that line is on its way
                return 2
            else:
                time.sleep(1.0)  # let the others notice and say so
                say(f'error: {name} has ended with code {item.code}', sys.stderr)
                return 1
    say('stopping')
    return 130


if __name__ == '__main__':
    raise SystemExit(main())
