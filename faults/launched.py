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

"""Break a whole run of a task, as `make run` starts it, and read the target's parameters."""
from __future__ import annotations

import contextlib
import os
from pathlib import Path
import random
import signal
import sys
import time

from faults.graph import Process, wait_for
from faults.parameters import Bench, ORIGINALS
from faults.rows import Row

BREAKS: dict[str, tuple[str, int]] = {  # name -> which process gets which signal
    'parameters: launcher killed': ('', signal.SIGKILL),
    'parameters: launcher interrupted': ('', signal.SIGINT),
    'parameters: optimiser killed': ('pacsbo_optimizer', signal.SIGKILL),
    'parameters: optimiser frozen': ('pacsbo_optimizer', signal.SIGSTOP),
    'parameters: monitor killed': ('safety_monitor', signal.SIGKILL),
    'parameters: end of the run': ('', 0),
}


class Launched(Bench):
    """A target, and a run of the whole graph on it."""

    def __init__(self, folder: Path) -> None:
        """Start the target; the monitor is the real one now."""
        super().__init__(folder, optimizer={'iterations': 4, 'length_scales': [0.4],
                                            'candidates': 200, 'start_repeats': 0,
                                            'verifications': 1})
        self.consents = False
        self.start_target()
        wait_for(lambda: self.read() == ORIGINALS, 'the target', 30.0)

    def launch(self, number: int) -> Process:
        """Start a run."""
        return self._start('launcher', {}, [
            sys.executable, '-m', 'pacsbo_ros.nodes.run', f'task:={self.task}',
            f'run_dir:={self.folder / f"run{number}"}'], node=False)

    def members(self) -> dict[str, int]:
        """Return the processes of the run by name."""
        parent = f'PPid:\t{self.processes["launcher"].popen.pid}\n'
        found = {}
        for process in Path('/proc').glob('[0-9]*'):
            with contextlib.suppress(OSError):
                words = (process / 'cmdline').read_bytes().split(b'\0')
                if parent in (process / 'status').read_text() and b'-m' in words:
                    module = words[words.index(b'-m') + 1].decode()
                    found[module.rsplit('.', 1)[-1]] = int(process.name)
        return found

    def close(self) -> None:
        """End the run, then the rest."""
        if 'launcher' in self.processes:
            self.processes['launcher'].end()
        super().close()


def run(name: str, repeats: int, scratch: Path) -> Row:
    """Inject one fault into several runs, at random moments of their episodes."""
    row = Row(name, 'originals on the target')
    start, moments = time.monotonic(), random.Random(1)
    who, number = BREAKS[name]
    bench = Launched(scratch / f'launched-{abs(hash(name))}')
    try:
        for _ in range(repeats):
            row.repeats += 1
            launcher = bench.launch(row.repeats)
            try:
                wait_for(lambda: bench.read() not in (None, ORIGINALS), 'an episode', 90.0)
                time.sleep(moments.uniform(0.0, 0.5))
                members, began = bench.members(), time.monotonic()
                if number:
                    os.kill(members[who] if who else launcher.popen.pid, number)
                _await_end(bench, launcher, members, who, number)
                row.times.append(time.monotonic() - began)
                if bench.read() != ORIGINALS:
                    raise AssertionError(f'the target has {bench.read()}')
                row.recovered += 1
            except (AssertionError, KeyError) as error:
                row.complain(f'{error}; {launcher.output[-500:]}')
            finally:
                launcher.end()
    finally:
        bench.close()
    row.seconds = time.monotonic() - start
    return row


def _await_end(bench: Launched, launcher: Process, members: dict[str, int], who: str,
               number: int) -> None:
    """Wait until nobody is left who could change anything."""
    if number == signal.SIGSTOP:
        bench.restored()  # the runner ends its episode by itself, and no new one comes
        os.kill(members[who], signal.SIGCONT)
        launcher.signal(signal.SIGINT)
    wait_for(lambda: not launcher.alive and not any(map(_alive, members.values())),
             'the end of the run', 90.0)
    bench.restored()
    time.sleep(0.3)  # a late set would come now


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return 'State:\tZ' not in Path(f'/proc/{pid}/status').read_text()
    return False
