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
Run one method on one problem, and condense the runs of a cell.

  symbol     meaning
  unsafe     evaluations of which the true value was below the threshold
  worst      the least true margin of an evaluation
  left(N)    (reachable - best of N samples)/(reachable - best start), at least 0
  ms         processor time of one ask and tell
  seconds    processor time of the whole run, the problem and its experiments included
"""
from __future__ import annotations

from collections.abc import Sequence
import math
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from studies import records
from studies.benchmark import others, ours, written  # noqa: F401, they enter their methods
from studies.benchmark.method import METHODS, Told, Unable
from studies.benchmark.problem import Problem, Trial
from studies.benchmark.problems import problem
from studies.records import Record

MARKS = (10, 20, 30)  # samples after which regret is noted; a longer budget adds its end


class Played(NamedTuple):
    """One run: its experiments, the time that asking took, and what broke, if anything."""

    trials: list[Trial]
    seconds: float
    broke: str


def play(p: Problem, name: str, index: int) -> Played:
    """Let a method work on a problem to the end; raises Unable where it cannot."""
    told, rng = Told.of(p), np.random.default_rng([index, 7])
    method = METHODS[name](told, index)
    trials: list[Trial] = []
    for x in p.starts:
        trials.append(p.experiment(x, len(trials), rng))
        y = trials[-1].told
        # A start is safe by assumption: noise may not contradict it.
        y[told.safety] = np.maximum(y[told.safety], p.threshold)
        method.tell(x, y)
    seconds = 0.0
    while len(trials) < p.budget:
        begun = time.process_time()
        try:
            x = method.ask()
        except Unable:
            raise
        except Exception as error:  # of somebody's package: the table says so
            return Played(trials, seconds, f'{type(error).__name__}: {str(error)[:80]}')
        seconds += time.process_time() - begun
        if x is None:
            break
        trials.append(p.experiment(np.asarray(x), len(trials), rng))
        begun = time.process_time()
        method.tell(x, trials[-1].told)
        seconds += time.process_time() - begun
    return Played(trials, seconds, '')


def run(key: Record) -> Record:
    """Run one method on one problem; a method that cannot says why."""
    begun = time.process_time()
    p = problem(key['problem'], key['index'])
    try:
        trials, asking, broke = play(p, key['method'], key['index'])
    except Unable as error:
        return {'unable': str(error)}
    count, chosen = len(p.starts), trials[len(p.starts):]
    start = max(t.value for t in trials[:count])
    gap = p.reachable - start
    left, best = {}, start
    for mark in sorted({*(m for m in MARKS if m <= p.budget), p.budget}):
        best = max([start, *(t.value for t in trials[:mark] if t.margin >= 0)])
        left[str(mark)] = round(max(p.reachable - best, 0.0) / gap, 5) if gap > 1e-9 else 0.0
    worst = min((t.margin for t in chosen), default=math.nan)
    return {'unsafe': sum(t.margin < 0 for t in chosen), 'left': left, 'samples': len(trials),
            'worst': round(worst, 5) if chosen else None, 'best': round(best, 5),
            'ms': round(1e3 * asking / max(len(chosen), 1), 3),
            'seconds': round(time.process_time() - begun, 3),
            **({'broke': broke} if broke else {})}


def memory(key: Record) -> Record:
    """Return the peak memory in MiB of a process that makes one run and nothing else."""
    code = ('import resource\n'
            'from studies.benchmark.cell import run\n'
            f'result = run({ {**key, "index": 0}!r})\n'
            "print('' if 'unable' in result else "
            'resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)')
    told = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()
    return {'mib': round(float(told[-1]), 1) if told else None}


def summary(group: Sequence[Record]) -> dict[str, Any]:
    """Condense the runs of one cell."""
    told = next((r['unable'] for r in group if 'unable' in r), None)
    if told is not None:
        return {'unable': told}
    count, hit = len(group), sum(r['unsafe'] > 0 for r in group)
    marks = list(group[0]['left'])
    shares = [r['unsafe'] / max(r['samples'], 1) for r in group]
    longest = max(r['samples'] for r in group)
    broke = [r['broke'] for r in group if 'broke' in r]
    return {
        'runs': count, 'unsafe_runs': hit,
        'unsafe_interval': [round(v, 4) for v in records.share_interval(hit, count)],
        'unsafe_evaluations': round(float(np.mean(shares)), 5),
        'worst_function': round(max(shares), 4),
        'left': {m: round(float(np.mean([r['left'][m] for r in group])), 4) for m in marks},
        'best': round(float(np.median([r['best'] for r in group])), 4),
        'worst': min((r['worst'] for r in group if r['worst'] is not None), default=None),
        'stopped_early': sum(r['samples'] < longest for r in group),
        'moved': sum(r['worst'] is not None for r in group),
        'ms': round(float(np.median([r['ms'] for r in group])), 3),
        **({'broke': len(broke), 'broke_with': broke[0]} if broke else {})}
