# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Notice when the machine itself stands still: a process that sleeps and looks at the clock.

It is scheduled before everything else where the system allows it, so what holds it up (the host of
a virtual machine, the kernel) holds up every node too, and is no fault of theirs.
"""
from __future__ import annotations

import contextlib
import os
from pathlib import Path
import subprocess
import sys
import time

PERIOD = 0.002  # s
STALL = 0.02  # s without running


class StallWatch:
    """Keep a record of stalls in a file."""

    def __init__(self, folder: Path) -> None:
        """Start the process."""
        self._log = folder / 'stalls.txt'
        self._log.touch()
        self._popen = subprocess.Popen([sys.executable, __file__, str(self._log)])

    def stalled(self, since: float, until: float) -> bool:
        """Tell whether the machine stood still at some time in between."""
        ends = [tuple(map(float, line.split())) for line in self._log.read_text().splitlines()]
        return any(start < until and end > since for start, end in ends)

    def close(self) -> None:
        """End the process."""
        self._popen.kill()
        self._popen.wait()


def watch(log: Path) -> None:
    """Append start and end of every stall."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    last = time.monotonic()
    while True:
        time.sleep(PERIOD)
        now = time.monotonic()
        if now - last > STALL:
            with log.open('a') as file:
                file.write(f'{last} {now}\n')
        last = now


if __name__ == '__main__':
    watch(Path(sys.argv[1]))
