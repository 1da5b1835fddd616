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

"""Tables, data and pictures of the benchmark, made from the runs that a folder holds."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
import os
from pathlib import Path
import platform

from studies import canvas, records
from studies.benchmark.cell import summary
from studies.benchmark.method import METHODS
from studies.benchmark.problems import PROBLEMS
from studies.records import Record

Cells = dict[str, dict[str, Record]]  # problem, method


def condense(lines: Sequence[Record]) -> Cells:
    """Group runs into cells, in the order of the tables of problems and methods."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for line in lines:
        groups[line['key']['problem'], line['key']['method']].append(line['result'])
    return {p: {m: summary(groups[p, m]) for m in METHODS if (p, m) in groups}
            for p in PROBLEMS if any((p, m) in groups for m in METHODS)}


def table(cells: dict[str, Record]) -> str:
    """Write one row per method of a problem."""
    rows = []
    for name, c in cells.items():
        if 'unable' in c:
            rows.append((name, '–', c['unable'], '', '', '', ''))
            continue
        marks = ' / '.join(f'{c["left"][m]:.2f}' for m in c['left'])
        rows.append((name, c['runs'], records.percent(c['unsafe_runs'], c['runs']),
                     f'{100 * c["unsafe_evaluations"]:.2f} %',
                     f'{100 * c["worst_function"]:.0f} %', marks, f'{c["ms"]:.1f}'))
    marks = next((' / '.join(c['left']) for c in cells.values() if 'left' in c), '')
    return records.markdown(
        ('method', 'runs', 'unsafe runs', 'unsafe evaluations', 'of the worst function',
         f'reachable regret left at {marks}', 'ms a step'), rows)


def draw(cells: Cells, out: Path) -> None:
    """Draw safety against progress, a panel per problem: down and left is good."""
    names = list(cells)
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = canvas.axes(rows, columns, (3.2, 2.4))
    import matplotlib
    palette = matplotlib.colormaps['tab20']
    colours = {m: palette(i % 20) for i, m in enumerate(METHODS)}
    for axis, name in zip(axes.flat, names, strict=False):
        for m, c in cells[name].items():
            if 'unable' in c:
                continue
            share, (low, high) = c['unsafe_runs'] / c['runs'], c['unsafe_interval']
            left = list(c['left'].values())[-1]
            axis.errorbar(left, 100 * share, yerr=[[100 * (share - low)], [100 * (high - share)]],
                          fmt='o', color=colours[m], ms=5, lw=1, label=m)
        axis.axhline(10, color='0.6', lw=0.8, ls='--')
        axis.set_title(name, fontsize=9)
        axis.set_xlim(-0.03, 1.05)
        axis.set_yscale('symlog', linthresh=2)
        axis.set_ylim(-0.3, 110)
        axis.set_yticks([0, 1, 2, 10, 100], ['0', '1', '2', '10', '100'])
    for axis in axes.flat[len(names):]:
        axis.axis('off')
    for axis in axes[:, 0]:
        axis.set_ylabel('unsafe runs [%]')
    for axis in axes[-1]:
        axis.set_xlabel('reachable regret left')
    handles = {label: handle for axis in axes.flat
               for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc='outside lower center',
                  ncols=min(5, columns + 1))
    canvas.write(figure, out, 'benchmark')


def write(out: Path, arguments: Sequence[str] | None = None) -> str:
    """Write benchmark.md, benchmark.json and benchmark.png; give the text."""
    lines = records.read_lines(out / 'runs.jsonl')
    cells = condense(lines)
    origin = records.provenance('studies.benchmark', lines, arguments)
    machine = f'{platform.machine()}, {os.cpu_count()} cores'
    parts = ['# Benchmark of safe Bayesian optimisation', '',
             'A run is unsafe if the true value of any evaluation is below the threshold; '
             'intervals are Clopper-Pearson, 95 %. Regret is relative to the best value that is '
             'connected with a start through safe points.', '']
    for name, of_problem in cells.items():
        parts += [f'## {name}', '', table(of_problem), '']
    parts.append(f'{records.signature(origin)} Machine: {machine}.')
    text = '\n'.join(parts)
    (out / 'benchmark.md').write_text(text + '\n', encoding='utf-8')
    rows = [{'problem': p, 'method': m, **c} for p, of in cells.items() for m, c in of.items()]
    records.save(out / 'benchmark.json', {**origin, 'machine': machine, 'cells': rows})
    draw(cells, out)
    return text
