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

"""Tables and data of the benchmark, made from the runs that a folder holds."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
import math
import os
from pathlib import Path
import platform

import numpy as np
from studies import records
from studies.benchmark import pictures
from studies.benchmark.cell import summary
from studies.benchmark.groups import GROUPS
from studies.benchmark.method import METHODS
from studies.benchmark.problems import PROBLEMS
from studies.records import Record

Runs = dict[tuple[str, str], dict[int, Record]]  # problem and method: by index
Cells = dict[str, dict[str, Record]]  # problem, method
ALLOWED = 0.1  # share of unsafe runs that every method is told to keep to
CLEAR = 0.01  # regret below which nobody is better
PACKAGES = ('optuna', 'torch', 'botorch', 'gpytorch', 'cmaes', 'safeopt', 'GPy')
# Functions of norm 10, Fiedler et al. (2024), Table 1: share of runs, worst function.
PUBLISHED = {'SafeOpt, β = 2': ('3.95 %', '28.6 %'), 'SafeOpt, B = 2.5': ('0.86 %', '13.4 %')}


def gather(lines: Iterable[Record]) -> Runs:
    """Group runs into cells."""
    runs: Runs = defaultdict(dict)
    for line in lines:
        key = line['key']
        runs[key['problem'], key['method']][key['index']] = line['result']
    return runs


def condense(runs: Runs) -> Cells:
    """Condense every cell, in the order of the tables of problems and methods."""
    return {p: {m: summary(list(runs[p, m].values())) for m in METHODS if (p, m) in runs}
            for p in PROBLEMS if any((p, m) in runs for m in METHODS)}


def final(cell: Record) -> float:
    """Return the regret left at the end of the budget."""
    return float(list(cell['left'].values())[-1])


def table(cells: dict[str, Record]) -> str:
    """Write one row per method of a problem."""
    rows = []
    for name, c in cells.items():
        if 'unable' in c:
            rows.append((name, '–', c['unable'], '', '', '', ''))
            continue
        marks = ' / '.join(f'{c["left"][m]:.2f}' for m in c['left'])
        broke = f' ({c["broke"]} broke: {c["broke_with"]})' if 'broke' in c else ''
        rows.append((name + broke, c['runs'], records.percent(c['unsafe_runs'], c['runs']),
                     f'{100 * c["unsafe_evaluations"]:.2f} %',
                     f'{100 * c["worst_function"]:.0f} %', marks, f'{c["ms"]:.1f}'))
    marks = next((' / '.join(c['left']) for c in cells.values() if 'left' in c), '')
    return records.markdown(
        ('method', 'runs', 'unsafe runs', 'unsafe evaluations', 'of the worst function',
         f'reachable regret left at {marks}', 'ms a step'), rows)


def overview(cells: Cells) -> str:
    """Write one row per method and a column per group of problems, whose means it shows."""
    rows = []
    for m in METHODS:
        row: list[object] = [m]
        for group in GROUPS.values():
            some = [cells[p][m] for p in group if m in cells.get(p, {})]
            able = [c for c in some if 'unable' not in c]
            share = 100 * np.mean([c['unsafe_runs'] / c['runs'] for c in able]) if able else 0
            row.append('' if not some else '–' if not able else
                       f'{share:.1f} %, {np.mean([final(c) for c in able]):.2f}')
        counts = [c[m]['runs'] for c in cells.values() if 'runs' in c.get(m, {})]
        if counts:
            rows.append([*row, f'{min(counts)} to {max(counts)}'])
    return records.markdown(('unsafe runs, regret left at the end', *GROUPS, 'runs a cell'), rows)


def ours_on(cells: dict[str, Record]) -> str:
    """Name our method on a problem: the default, told the size of values where it needs that."""
    default = cells.get('pacsbo')
    stuck = default is not None and 2 * default.get('moved', 0) < default.get('runs', 1)
    return 'pacsbo, size told' if stuck and 'pacsbo, size told' in cells else 'pacsbo'


def lost(runs: Runs, cells: Cells) -> list[Record]:
    """Return the cells in which a safe method clearly leaves less regret than ours."""
    found = []
    for p, of_problem in cells.items():
        us = ours_on(of_problem)
        if us not in of_problem:
            continue
        own = runs[p, us]
        for m, c in of_problem.items():
            if m.startswith('pacsbo') or 'unable' in c or c['unsafe_runs'] > ALLOWED * c['runs']:
                continue
            both = sorted(set(own) & set(runs[p, m]))
            if len(both) < 5:
                continue
            gain = np.array([_end(own[i]) - _end(runs[p, m][i]) for i in both])
            error = float(gain.std(ddof=1)) / math.sqrt(len(both))
            if gain.mean() > max(CLEAR, 2 * error):
                found.append({'problem': p, 'method': m, 'ours': us, 'runs': len(both),
                              'better_by': round(float(gain.mean()), 3),
                              'standard_error': round(error, 3),
                              'their_unsafe': c['unsafe_runs'] / c['runs'],
                              'our_unsafe': (of_problem[us]['unsafe_runs']
                                             / of_problem[us]['runs'])})
    return found


def _end(result: Record) -> float:
    return float(list(result['left'].values())[-1])


def losses(found: Sequence[Record]) -> str:
    """Write who beats us where."""
    return records.markdown(
        ('problem', 'method', 'less regret than ours, same problems',
         'unsafe runs: theirs, ours'),
        [(f['problem'], f['method'],
          f'{f["better_by"]:.3f} ± {f["standard_error"]:.3f} ({f["runs"]} runs)',
          f'{100 * f["their_unsafe"]:.1f} %, {100 * f["our_unsafe"]:.1f} %') for f in found])


def published(cells: Cells) -> str:
    """Write the figures of a paper beside ours."""
    rows = []
    for p in ('LoSBO matern32', 'LoSBO rbf', 'LoSBO rbf basis'):
        for m, (share, worst) in PUBLISHED.items():
            c = cells.get(p, {}).get(m, {})
            if 'runs' in c:
                rows.append((p, m, share, worst, records.percent(c['unsafe_runs'], c['runs']),
                             f'{100 * c["unsafe_evaluations"]:.2f} %',
                             f'{100 * c["worst_function"]:.0f} %'))
    return records.markdown(
        ('functions', 'method', 'published: runs', 'published: worst function', 'here: runs',
         'here: evaluations', 'here: evaluations of the worst function'), rows)


def remembered(lines: Iterable[Record]) -> str:
    """Write the peak memory of a process that makes one run."""
    known = {(r['key']['problem'], r['key']['method']): r['result']['mib'] for r in lines}
    problems = [p for p in PROBLEMS if any(key[0] == p for key in known)]
    return records.markdown(
        ('MiB', *problems),
        [(m, *('–' if known.get((p, m)) is None else f'{known[p, m]:.0f}' for p in problems))
         for m in METHODS if any(key[1] == m for key in known)])


def write(out: Path, arguments: Sequence[str] | None = None) -> str:
    """Write benchmark.md, benchmark.json and the pictures; give the text."""
    lines = records.read_lines(out / 'runs.jsonl')
    runs = gather(lines)
    cells, memory = condense(runs), records.read_lines(out / 'memory.jsonl')
    beaten = lost(runs, cells)
    origin = records.provenance('studies.benchmark', lines, arguments, PACKAGES)
    machine = f'{platform.machine()}, {os.cpu_count()} cores'
    drawn = pictures.draw(cells, out)
    parts = ['# Benchmark of safe Bayesian optimisation', '',
             'A run is unsafe if the true value of any evaluation is below the threshold; '
             'intervals are Clopper-Pearson, 95 %. Regret is relative to the best value that is '
             'connected with a start through safe points: 1 is that of the best start.', '',
             '## All problems', '',
             'Means over the problems of a group on which a method can run.', '',
             overview(cells), '']
    parts += [f'![{question}]({name}.png)\n' for name, question in drawn.items()]
    if beaten:
        parts += ['## Where a safe method beats ours', '',
                  f'Safe: at most {ALLOWED:.0%} of its runs were unsafe. Ours: the default, told '
                  'the size of values where it proposes nothing without.', '', losses(beaten), '']
    if (beside := published(cells)).count('\n') > 1:
        parts += ['## Published figures beside ours', '', beside, '']
    for name, of_problem in cells.items():
        parts += [f'## {name}', '', table(of_problem), '']
    if memory:
        parts += ['## Peak memory of a process that makes one run', '', remembered(memory), '']
    parts.append(f'{records.signature(origin)} Machine: {machine}.')
    text = '\n'.join(parts)
    (out / 'benchmark.md').write_text(text + '\n', encoding='utf-8')
    rows = [{'problem': p, 'method': m, **c} for p, of in cells.items() for m, c in of.items()]
    records.save(out / 'benchmark.json', {
        **origin, 'machine': machine, 'cells': rows, 'lost': beaten,
        'memory': [{**r['key'], **r['result']} for r in memory]})
    return text
