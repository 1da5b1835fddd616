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
  left(N)    (reachable - best of N samples)/(reachable - best start), at least 0
  ms         processor time of one ask and tell
"""
from __future__ import annotations

from collections.abc import Sequence
import math
import resource
import time
from typing import Any

import numpy as np
from studies import records
from studies.benchmark.method import METHODS, Told, Unable
from studies.benchmark.problems import problem
from studies.records import Record

MARKS = (10, 20, 30)  # samples after which regret is noted; a longer budget adds its end


def run(key: Record) -> Record:
    """Run one method on one problem; a method that cannot says why."""
    p = problem(key['problem'], key['index'])
    rng = np.random.default_rng([key['index'], 7])
    try:
        method = METHODS[key['method']](Told.of(p), key['index'])
    except Unable as error:
        return {'unable': str(error)}
    values, best, unsafe, seconds, worst = [], -math.inf, 0, 0.0, math.inf
    for x in p.starts:
        value = p.value(x, len(values))
        # A start is safe by assumption: noise may not contradict it.
        method.tell(x, max(value + p.noise(x, rng), p.threshold))
        values.append(value)
    start = max(values)
    gap = p.reachable - start
    while len(values) < p.budget:
        begun = time.process_time()
        try:
            x = method.ask()
        except Unable as error:
            return {'unable': str(error)}
        seconds += time.process_time() - begun
        if x is None:
            break
        value = p.value(np.asarray(x), len(values))
        unsafe += value < p.threshold
        worst = min(worst, value - p.threshold)
        values.append(value)
        begun = time.process_time()
        method.tell(x, value + p.noise(x, rng))
        seconds += time.process_time() - begun
    steps = max(len(values) - len(p.starts), 1)
    left = {}
    for mark in sorted({*(m for m in MARKS if m <= p.budget), p.budget}):
        safe = [v for v in values[:mark] if v >= p.threshold]
        best = max(safe, default=start)
        left[str(mark)] = round(max(p.reachable - best, 0.0) / gap, 5) if gap > 1e-9 else 0.0
    return {'unsafe': int(unsafe), 'left': left, 'samples': len(values),
            'worst': round(float(worst), 5) if math.isfinite(worst) else None,
            'ms': round(1e3 * seconds / steps, 3),
            'mib': round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)}


def summary(group: Sequence[Record]) -> dict[str, Any]:
    """Condense the runs of one cell."""
    told = next((r['unable'] for r in group if 'unable' in r), None)
    if told is not None:
        return {'unable': told}
    count, hit = len(group), sum(r['unsafe'] > 0 for r in group)
    marks = list(group[0]['left'])
    return {
        'runs': count, 'unsafe_runs': hit,
        'unsafe_interval': [round(v, 4) for v in records.share_interval(hit, count)],
        'unsafe_evaluations': round(float(np.mean(
            [r['unsafe'] / max(r['samples'], 1) for r in group])), 5),
        'worst_function': round(max(r['unsafe'] / max(r['samples'], 1) for r in group), 4),
        'left': {m: round(float(np.mean([r['left'][m] for r in group])), 4) for m in marks},
        'stopped_early': sum(r['samples'] < max(s['samples'] for s in group) for r in group),
        'ms': round(float(np.median([r['ms'] for r in group])), 3),
        'mib': round(max(r['mib'] for r in group), 1)}
