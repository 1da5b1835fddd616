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

"""Run many episodes in a row and watch memory and file handles: `python -m faults.soak`."""
from __future__ import annotations

import argparse
import os
from pathlib import Path
import tempfile
import time

from faults.graph import Graph, own_domain, wait_for
import numpy as np
from pacsbo_ros.core import SafeOptimizer, Settings

NODES = {'safety_monitor': {'auto_arm': True, 'state_timeout': 1.0, 'heartbeat_timeout': 1.0},
         'furuta_controller': {'speed': 0.0, 'verdict_timeout': 1.0, 'episode_duration': 1.0,
                               'push_time': 0.3},
         'progress_markers': {}}
FIRST = 50  # episodes until everybody has warmed up
GROWTH = 1.1  # of memory that still counts as flat


def use(pid: int) -> tuple[float, int, int]:
    """Return memory [MB], file handles and threads of a process."""
    folder = Path(f'/proc/{pid}')
    status = dict(line.split(':', 1) for line in (folder / 'status').read_text().splitlines())
    return (int(status['VmRSS'].split()[0]) / 1e3, len(os.listdir(folder / 'fd')),
            int(status['Threads']))


def model_growth(points: np.ndarray, first: int) -> float:
    """Return by how much [MB] a model grows with its data, which is no leak."""
    model = SafeOptimizer(Settings(dimension=2, constraints=4))
    for number, point in enumerate(points):
        model.tell(point, (0.5,) * 5)
        if number == first:
            before = use(os.getpid())[0]
    return use(os.getpid())[0] - before


def main() -> int:
    """Run the episodes, print what the processes used; exit with 1 if it has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--episodes', type=int, default=1000)
    episodes = parser.parse_args().episodes
    # All are start gains: a model of a thousand episodes would take its time, and is not the
    # question here. The run is ended before the last of them.
    spare = episodes + 10
    starts = np.random.default_rng(0).uniform((-5.1, 25.2), (-4.8, 26.3), (spare, 2))
    begun = time.monotonic()
    with own_domain(), tempfile.TemporaryDirectory(prefix='soak-') as scratch:
        graph = Graph(Path(scratch), ['told_result'])
        try:
            processes = [graph.start(name, **parameters) for name, parameters in NODES.items()]
            processes.append(graph.start(
                'pacsbo_optimizer', run_dir=f'{scratch}/run', iterations=spare,
                start=starts.round(4).ravel().tolist()))
            told = graph.client.messages['told_result']
            used = []
            for target in (FIRST, episodes):
                wait_for(lambda n=target: told and told[-1].iteration >= n, f'episode {target}',
                         3600.0)
                used.append([use(process.popen.pid) for process in processes])
            lines = (Path(scratch) / 'run' / 'episodes.jsonl').read_text().count('\n') - 1
        finally:
            graph.close()
    print(f'{lines} episodes in the journal after {(time.monotonic() - begun) / 60:.1f} minutes\n')
    print(f'| process | memory [MB] at episode {FIRST} | at {episodes} '
          '| file handles | threads |\n|---|---|---|---|---|')
    flat = True
    model = model_growth((starts - starts.min(axis=0)) / np.ptp(starts, axis=0), FIRST)
    for process, first, last in zip(processes, *used, strict=True):
        print(f'| {process.name} | {first[0]:.1f} | {last[0]:.1f} | {first[1]} → {last[1]} '
              f'| {first[2]} → {last[2]} |')
        data = model if process.name == 'pacsbo_optimizer' else 0.0
        flat &= last[0] <= GROWTH * first[0] + data and last[1:] <= first[1:]
    print(f'\nThe model of the optimiser alone grows by {model:.1f} MB with its data.')
    print('flat' if flat else 'GROWN')
    return int(not flat or lines < episodes)


if __name__ == '__main__':
    raise SystemExit(main())
