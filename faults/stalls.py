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
Measure how late the machine itself is: a process that sleeps and looks at the clock.

It is scheduled before everything else where the system allows it, so what holds it up (the host of
a virtual machine, the kernel) holds up every node too, and is no fault of theirs. Where the system
does not allow it, it is held up like an ordinary program, and so are the nodes.
"""
from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import time

PERIOD = 0.002  # s
NOTED = 0.005  # s without running that is written down
STALL = 0.02  # s that is no ordinary delay


class StallWatch:
    """Keep a record of delays in a file."""

    def __init__(self, folder: Path) -> None:
        """Start the process."""
        self._log = folder / 'stalls.txt'
        self._log.touch()
        self._popen = subprocess.Popen([sys.executable, __file__, str(self._log)])

    def worst(self, since: float, until: float) -> float:
        """Return for how long [s] the machine stood still at most in between."""
        delays = [tuple(map(float, line.split())) for line in self._lines() if line[0].isdigit()]
        return max((end - start for start, end in delays if start < until and end > since),
                   default=0.0)

    def stalled(self, since: float, until: float) -> bool:
        """Tell whether the machine stood still at some time in between."""
        return self.worst(since, until) > STALL

    def words(self, since: float, until: float) -> str:
        """Say whose fault something is that went wrong in between, and how that is known."""
        worst = self.worst(since, until)
        how = ('a process of higher priority' if 'first' in self._lines()
               else 'an ordinary process, the system allows no other,')
        if worst > STALL:
            return (f"the machine's fault: {how} was not run for {1e3 * worst:.0f} ms of that "
                    'time')
        return (f'not the machine: {how} was never held up for more than '
                f'{1e3 * max(worst, NOTED):.0f} ms')

    def _lines(self) -> list[str]:
        return self._log.read_text().split('\n')[:-1]  # the last one may be half written

    def close(self) -> None:
        """End the process."""
        self._popen.kill()
        self._popen.wait()


def watch(log: Path) -> None:
    """Append how we are scheduled, then start and end of every delay."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        log.write_text('first\n')
    except OSError:
        log.write_text('like others\n')
    last = time.monotonic()
    while True:
        time.sleep(PERIOD)
        now = time.monotonic()
        if now - last > NOTED:
            with log.open('a') as file:
                file.write(f'{last} {now}\n')
        last = now


if __name__ == '__main__':
    watch(Path(sys.argv[1]))
