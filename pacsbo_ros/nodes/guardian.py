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
Put the originals back when the episode_runner cannot: it was killed, or it stands still.

The runner starts it, in a session of its own, and beats on its standard input. The end of that
pipe is the runner's death, however it came; a beat that fails to come while values are changed is
a frozen runner, which finds out by itself that its episode is void (HELD_UP is below PATIENCE).
Signals do not end the guardian: it ends by itself when the target is as it was.
"""
from __future__ import annotations

import contextlib
import os
from pathlib import Path
import select
import signal
import subprocess
import sys
import time

from pacsbo_ros.nodes.parameter_calls import OWED, ParameterCalls, spin_until
from pacsbo_ros.nodes.transport import use_datagrams
from pacsbo_ros.robots.parameters.custody import Custody, CustodyError, Locks, read_originals
import rclpy
from rclpy.signals import SignalHandlerOptions

BEAT = b'.'
FAREWELL = b'x'  # all is as it was, the runner leaves
READY = b'ready\n'
PATIENCE = 2.0  # s without a beat
TRIES = 60.0  # s that a target gets to come back
WATCH = OWED  # s for which a late set of the dead runner is looked out for


def put_back(node, calls: ParameterCalls, originals, patience: float) -> str:
    """Set the originals until they are read back; return why not."""
    deadline, failure = time.monotonic() + patience, ''
    while time.monotonic() < deadline:
        if not spin_until(node, lambda: not calls.ready(), min(2.0, patience)):
            failure = f'{calls.ready()[0]} is not there'
            continue
        failure = calls.wait(calls.set(originals), 5.0)
        if not failure:
            return ''
        time.sleep(0.2)
    return failure


def main() -> int:
    """Watch over one runner."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder = Path(sys.argv[1])
    custody, originals = Custody(folder), read_originals(folder)
    use_datagrams()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f'guardian_{os.getpid()}', start_parameter_services=False,
                             enable_rosout=False)
    calls = ParameterCalls(node, list(originals))
    try:
        spin_until(node, lambda: not calls.ready(), 10.0)
        os.write(sys.stdout.fileno(), READY)
        return _watch(node, calls, custody, originals)
    finally:
        rclpy.try_shutdown()


def _watch(node, calls: ParameterCalls, custody: Custody, originals) -> int:
    beaten, acted = time.monotonic(), False
    while True:
        if select.select([0], [], [], 0.2)[0]:
            beats = os.read(0, 4096)
            if FAREWELL in beats:
                return 0
            if not beats:
                return _bury(node, calls, custody, originals)
            beaten, acted = time.monotonic(), False
        elif time.monotonic() - beaten > PATIENCE and custody.changed and not acted:
            # The marker stays: the runner still lives, and takes it away when it has looked.
            acted = not put_back(node, calls, originals, PATIENCE)


def _bury(node, calls: ParameterCalls, custody: Custody, originals) -> int:
    """Put the originals back after the runner's death, unless a new runner has taken over."""
    if not custody.changed:
        return 0
    locks = Locks(originals, custody.folder)
    try:
        locks.acquire(0.5)
    except CustodyError:
        return 0  # a new runner holds the target, and puts the values back before anything else
    failure = put_back(node, calls, originals, TRIES)
    # A set that the dead runner had sent may still be on its way to a slow node.
    deadline = time.monotonic() + WATCH
    while not failure and time.monotonic() < deadline:
        time.sleep(0.2)
        if calls.wait(calls.check(originals), 2.0):
            failure = put_back(node, calls, originals, TRIES)
    if failure:
        os.write(2, f'the original values are not back ({failure}): ros2 run pacsbo_ros restore '
                 f'{custody.folder}\n'.encode())
        return 1
    custody.end()
    return 0


class Guardian:
    """The runner's side: start it, beat, say farewell."""

    def __init__(self, folder: Path) -> None:
        """Start the process; it says when it is ready."""
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'pacsbo_ros.nodes.guardian', str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        os.set_blocking(self._process.stdout.fileno(), False)
        os.set_blocking(self._process.stdin.fileno(), False)
        self._ready = False

    @property
    def ready(self) -> bool:
        """Tell whether it can do its work."""
        if not self._ready and self.alive:
            self._ready = self._process.stdout.read(len(READY)) == READY
        return self._ready and self.alive

    @property
    def alive(self) -> bool:
        """Tell whether it runs."""
        return self._process.poll() is None

    def beat(self) -> None:
        """Say that the runner lives."""
        self._write(BEAT)

    def farewell(self, all_is_well: bool, patience: float = 8.0) -> bool:
        """Leave; wait until the guardian has done what is left, and tell whether it has."""
        if all_is_well:
            self._write(FAREWELL)
        self._process.stdin.close()
        try:
            return self._process.wait(patience) == 0
        except subprocess.TimeoutExpired:
            return False  # it goes on without us

    def _write(self, word: bytes) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # `alive` tells
            os.write(self._process.stdin.fileno(), word)


if __name__ == '__main__':
    raise SystemExit(main())
