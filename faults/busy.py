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
Run episodes of known-good gains on a busy machine: `python -m faults.busy --load 8`.

The plant is a process of its own, as a robot on topics is, and the machine has so many programs
that only compute. Counted is what had to be tried again (no datum), and what was told although it
is not true of these gains (a limit was passed).
"""
from __future__ import annotations

import argparse
from collections import Counter
import multiprocessing
import os
from pathlib import Path
import tempfile
import time

from bench.bench_nodes import burn
from faults.graph import own_domain, wait_for
from faults.rig import Rig
import numpy as np

LOWER, UPPER = (-5.1, 25.2), (-4.8, 26.3)  # gains that are far from every limit
PATIENCE = 60.0  # s until the next result


def main() -> int:
    """Run the episodes, print what became of them; exit with 1 if good gains were told unsafe."""
    parser = argparse.ArgumentParser(prog='python -m faults.busy', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--episodes', type=int, default=200)
    parser.add_argument('--duration', type=float, default=2.0, help='of an episode [s]')
    parser.add_argument('--load', type=int, default=8, help='programs that only compute')
    options = parser.parse_args()
    starts = np.random.default_rng(0).uniform(LOWER, UPPER, (options.episodes + 10, 2))
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(options.load)]
    begun = time.monotonic()
    for burner in burners:
        burner.start()
    with own_domain(), tempfile.TemporaryDirectory(prefix='busy-') as scratch:
        rig = Rig(Path(scratch), operator=False, duration=options.duration)
        try:
            rig.run = Path(scratch) / 'run'
            for member in rig.members:
                rig.start(member)
            rig.start_optimizer(iterations=len(starts), start=starts.round(4).ravel().tolist())
            results = rig.client.messages['episode_result']
            while len(results) < options.episodes:
                known = len(results)
                wait_for(lambda n=known: rig.tend() or len(results) > n, 'a result', PATIENCE)
            results, load = results[:options.episodes], os.getloadavg()[0]
        finally:
            rig.close()
            for burner in burners:
                burner.kill()
    again = Counter(r.reason for r in results if not r.is_datum)
    wrong = Counter(r.reason for r in results if r.is_datum and min(r.margins) < 0)
    print(f'{len(results)} episodes in {(time.monotonic() - begun) / 60:.1f} minutes, '
          f'load {load:.0f}: {sum(again.values())} tried again, {sum(wrong.values())} told unsafe')
    for words, count in (*again.most_common(), *wrong.most_common()):
        print(f'  {count} x {words}')
    return int(bool(wrong))


if __name__ == '__main__':
    raise SystemExit(main())
