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
Run the benchmark: every method on every problem, in pieces that survive a stop.

    python -m studies.benchmark --quick                     a small part, under three minutes
    python -m studies.benchmark                             what is missing of the whole
    python -m studies.benchmark --problems 'assumed, n = 1' --methods pacsbo
    python -m studies.benchmark --runs 0                    nothing but the report

A cell, one method on one problem, has --runs runs where one takes less than a second of processor
time, else as many as fit into --seconds, at least 5; the tables say how many. Two processes work
at once; --workers and --scheduler change that. The report (benchmark.md, benchmark.json and a
picture per question) is about all that the folder holds.
"""
from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
import math

import numpy as np
from pacsbo_ros.executors import carry_out
from studies import records
from studies.benchmark.cell import memory, run
from studies.benchmark.method import METHODS, NotInstalled, Told, Unable
from studies.benchmark.problems import problem, PROBLEMS
from studies.benchmark.report import write
from studies.records import Record

QUICK = {'runs': 2, 'problems': ['assumed, n = 1', 'jump, n = 1', 'LoSBO rbf', 'drift, n = 1',
                                 'pendulum'],
         'methods': ['pacsbo', 'pacsbo, size told', 'SafeOpt, B = norm', 'SafeOpt, β = 2',
                     'LoSBO, true L', 'StageOpt, β = 2', 'random search']}
SHORT = 1.0  # s, a run that every cell can have all of
LEAST = 5  # runs of a cell, however long they take
MEMORY = ('assumed, n = 1', 'assumed, n = 2', 'assumed, n = 4', 'hartmann')
BATCH = 25  # runs of a cell before the next cell has its turn


def _runs_here(name: str) -> bool:
    """Tell whether a method's package runs here; say so if not."""
    told = Told.of(problem('assumed, n = 1', 0))
    try:
        METHODS[name](told, 0)
    except NotInstalled as error:
        print(f'{name} is left out: {error}')
        return False
    except Unable:
        pass  # on this problem; its cells say where
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog='python -m studies.benchmark', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    records.add_options(parser, 'results/benchmark')
    parser.add_argument('--quick', action='store_true', help='a small part, for every day')
    parser.add_argument('--runs', type=int, default=200, help='runs of a cell')
    parser.add_argument('--seconds', type=float, default=20.0,
                        help='processor time of a cell whose runs take a second or more')
    parser.add_argument('--memory', action='store_true', help='measure memory too')
    parser.add_argument('--problems', nargs='+', default=list(PROBLEMS), metavar='NAME')
    parser.add_argument('--methods', nargs='+', default=list(METHODS), metavar='NAME')
    options = parser.parse_args(arguments)
    if options.quick:
        for name, value in QUICK.items():
            setattr(options, name, value)
    for kind, given, known in (('problem', options.problems, PROBLEMS),
                               ('method', options.methods, METHODS)):
        for name in given:
            if name not in known:
                parser.error(f'{kind} {name!r} is not one of: {", ".join(map(repr, known))}')
    return carry_out(parser, lambda: _run(options, arguments))


def fitting(found: Sequence[Record], seconds: float) -> float:
    """Return how many runs of a cell fit into its time, by those that were made."""
    if any('unable' in result for result in found):
        return 1
    if len(found) < LEAST:
        return LEAST
    mean = float(np.mean([result['seconds'] for result in found]))
    return math.inf if mean < SHORT else max(LEAST, seconds / mean)


def _run(options: argparse.Namespace, arguments: Sequence[str] | None) -> None:
    """Run what is missing, then write the report."""
    methods = [m for m in options.methods if _runs_here(m)]
    path = options.out / 'runs.jsonl'
    rounds = [1, LEAST, BATCH, *range(2 * BATCH, options.runs, 2 * BATCH), options.runs]
    with records.open_executor(options) as executor:
        for count in sorted({min(r, options.runs) for r in rounds}):
            found: dict[tuple[str, str], list[Record]] = defaultdict(list)
            for line in records.read_lines(path):
                found[line['key']['problem'], line['key']['method']].append(line['result'])
            wanted = [{'problem': p, 'method': m, 'index': i}
                      for p in options.problems for m in methods
                      for i in range(int(min(count, fitting(found[p, m], options.seconds))))]
            records.collect(run, wanted, path, executor, f'up to {count} runs a cell')
        if options.memory:
            records.collect(memory, [{'problem': p, 'method': m} for p in MEMORY
                                     for m in methods], options.out / 'memory.jsonl', executor,
                            'memory')
    print(write(options.out, arguments))


if __name__ == '__main__':
    raise SystemExit(main())
