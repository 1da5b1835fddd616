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

"""One picture per question of the benchmark."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from studies import canvas
from studies.benchmark.groups import GROUPS
from studies.benchmark.method import METHODS
from studies.records import Record

Cells = dict[str, dict[str, Record]]  # problem, method
FACTORS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
LINES = ('pacsbo', 'pacsbo, ℓ from data', 'pacsbo with multipliers', 'SafeOpt, B = norm',
         'SafeOpt, β = 2', 'LoSBO, true L', 'tubes of drawn functions')
PENDULUMS = ('pacsbo, size told', 'SafeOpt, β = 2', 'StageOpt, β = 2',
             'tubes of drawn functions', 'LoSBO, true L', 'Optuna GP', 'BoTorch qLogNEI',
             'random search')


def draw(cells: Cells, out: Path) -> dict[str, str]:
    """Draw what the cells can answer; give the questions by the names of their pictures."""
    done: dict[str, str] = {}
    if not any(_able(cells, p) for p in cells):
        return done
    for name, (question, make) in QUESTIONS.items():
        figure = make(cells)
        if figure is not None:
            canvas.write(figure, out, name)
            done[name] = question
    return done


def _able(cells: Cells, problem: str) -> dict[str, Record]:
    return {m: c for m, c in cells.get(problem, {}).items() if 'unable' not in c}


def _colour(name: str) -> Any:
    import matplotlib
    return matplotlib.colormaps['tab20'](list(METHODS).index(name) % 20)


def _mark(name: str) -> str:
    return '*' if name.startswith('pacsbo') else 'os^vD'[list(METHODS).index(name) % 5]


def both(cells: Cells) -> Any:
    """Draw unsafe runs against regret, a panel per group of problems: down and left is good."""
    groups = {g: [p for p in some if _able(cells, p)] for g, some in GROUPS.items()}
    groups = {g: some for g, some in groups.items() if some}
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    figure, axes = canvas.axes(rows, columns, (3.4, 2.7))
    for axis, (group, some) in zip(axes.flat, groups.items(), strict=False):
        for m in METHODS:
            found = [c[m] for p in some if m in (c := _able(cells, p))]
            if found:
                axis.plot(np.mean([_end(c) for c in found]),
                          100 * np.mean([c['unsafe_runs'] / c['runs'] for c in found]),
                          _mark(m), color=_colour(m), ms=9 if m.startswith('pacsbo') else 6,
                          label=m, clip_on=False)
        axis.axhline(10, color='0.6', lw=0.8, ls='--')
        axis.set(title=group, xlim=(-0.03, 1.05), ylim=(-0.3, 110))
        axis.set_yscale('symlog', linthresh=2)
        axis.set_yticks([0, 1, 2, 10, 100], ['0', '1', '2', '10', '100'])
    for axis in axes.flat[len(groups):]:
        axis.axis('off')
    for axis in axes[:, 0]:
        axis.set_ylabel('unsafe runs [%]')
    for axis in axes[-1]:
        axis.set_xlabel('reachable regret left')
    _legend(figure, axes, min(5, 2 * columns))
    return figure


def safety(cells: Cells) -> Any:
    """Draw the share of unsafe runs of every cell."""
    return _map(cells, 'unsafe runs [%]', lambda c: 100 * c['unsafe_runs'] / c['runs'], 100)


def regret(cells: Cells) -> Any:
    """Draw the regret left of every cell."""
    return _map(cells, 'reachable regret left at the end [%]', lambda c: 100 * _end(c), 100)


def length_scale(cells: Cells) -> Any:
    """Draw what a wrong length scale costs in safety and in regret."""
    if not any(p.startswith('ell') for p in cells):
        return None
    figure, axes = canvas.axes(2, 2, (4.0, 2.6))
    for column, n in enumerate((1, 2)):
        for m in LINES:
            known = {f: _able(cells, f'assumed, n = {n}' if f == 1 else f'ell x {f:g}, n = {n}')
                     for f in FACTORS}
            factors = [f for f in FACTORS if m in known[f]]
            if not factors:
                continue
            some = [known[f][m] for f in factors]
            style = {'color': _colour(m), 'marker': _mark(m), 'label': m,
                     'lw': 2 if m.startswith('pacsbo') else 1}
            axes[0, column].plot(factors, [100 * c['unsafe_runs'] / c['runs'] for c in some],
                                 **style)
            axes[1, column].plot(factors, [_end(c) for c in some], **style)
        axes[0, column].axhline(10, color='0.6', lw=0.8, ls='--')
        axes[0, column].set_title(f'n = {n}')
        axes[1, column].set_xlabel('told length scale / true one')
    for axis in axes.flat:
        axis.set_xscale('log')
        axis.set_xticks(FACTORS, [f'{f:g}' for f in FACTORS])
        axis.minorticks_off()
    axes[0, 0].set_ylabel('unsafe runs [%]')
    axes[1, 0].set_ylabel('reachable regret left')
    _legend(figure, axes, 4)
    return figure


def cost(cells: Cells) -> Any:
    """Draw the processor time of a step by the number of parameters."""
    problems = {p: int(p.split()[-1]) for p in ('assumed, n = 1', 'assumed, n = 2',
                                                'assumed, n = 4') if p in cells}
    problems |= {p: n for p, n in (('hartmann', 6), ('gaussian', 10)) if p in cells}
    if len(problems) < 2:
        return None
    figure, axes = canvas.axes(1, 1, (7.0, 4.2))
    axis = axes[0, 0]
    for m in METHODS:
        if m == 'random search':
            continue  # it costs nothing and would stretch the axis
        points = [(n, c[m]['ms']) for p, n in problems.items()
                  if m in (c := _able(cells, p)) and c[m]['moved'] and c[m]['ms'] > 0]
        if points:
            axis.plot(*zip(*points, strict=True), marker=_mark(m), color=_colour(m), label=m)
    axis.set(yscale='log', xlabel='parameters', ylabel='processor time of a step [ms]')
    axis.set_xticks(sorted(problems.values()))
    _legend(figure, axes, 4)
    return figure


def pace(cells: Cells) -> Any:
    """Draw the regret left after 10, 20 and all experiments on the pendulum."""
    problems = [p for p in GROUPS['pendulum'] if p in cells]
    if not problems:
        return None
    figure, axes = canvas.axes(1, len(problems), (4.4, 3.2))
    for axis, p in zip(axes.flat, problems, strict=True):
        for m in PENDULUMS:
            if m in (able := _able(cells, p)):
                c = able[m]
                axis.plot([int(k) for k in c['left']], list(c['left'].values()),
                          marker=_mark(m), color=_colour(m),
                          label=m, lw=2 if m.startswith('pacsbo') else 1)
                axis.annotate(f'{c["unsafe_runs"]}/{c["runs"]}',
                              (int(list(c['left'])[-1]), _end(c)), xytext=(4, -3),
                              textcoords='offset points', fontsize=6, color=_colour(m))
        axis.set(title=f'{p}; at the ends: unsafe runs', xlabel='experiments', ylim=(-0.03, 1.05))
        axis.set_xticks([int(k) for k in next(iter(_able(cells, p).values()))['left']])
    axes[0, 0].set_ylabel('reachable regret left')
    _legend(figure, axes, 4)
    return figure


QUESTIONS = {
    'both': ('Who is safe and gets there?', both),
    'safety': ('How often is a run unsafe?', safety),
    'regret': ('How much is left to gain?', regret),
    'length_scale': ('What if the length scale is wrong?', length_scale),
    'pace': ('How soon on the pendulum?', pace),
    'cost': ('What does a step cost?', cost),
}


def _end(cell: Record) -> float:
    return float(list(cell['left'].values())[-1])


def _legend(figure: Any, axes: Any, columns: int) -> None:
    """Put one legend below all panels."""
    handles = {label: handle for axis in axes.flat
               for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    order = [m for m in METHODS if m in handles]
    figure.legend([handles[m] for m in order], order, loc='outside lower center', ncols=columns)


def _map(cells: Cells, label: str, value: Any, high: float) -> Any:
    """Draw one number of every cell, problems down and methods across."""
    problems = list(cells)
    methods = [m for m in METHODS if any(m in _able(cells, p) for p in problems)]
    Z = np.array([[value(c[m]) if m in (c := _able(cells, p)) else np.nan for m in methods]
                  for p in problems])
    figure, axes = canvas.axes(1, 1, (1.6 + 0.46 * len(methods), 1.6 + 0.21 * len(problems)))
    axis = axes[0, 0]
    axis.set_facecolor('0.92')  # of cells that cannot be run
    axis.imshow(np.sqrt(Z), cmap='RdYlGn_r', vmin=0, vmax=np.sqrt(high), aspect='auto')
    for i, j in np.ndindex(Z.shape):
        if np.isfinite(Z[i, j]):
            axis.text(j, i, f'{Z[i, j]:.0f}', ha='center', va='center', fontsize=6.5,
                      color='white' if Z[i, j] > 0.7 * high or Z[i, j] < 0.5 else 'black')
    axis.set_xticks(range(len(methods)), methods, rotation=55, ha='right', fontsize=7)
    axis.set_yticks(range(len(problems)), problems, fontsize=7)
    axis.set_title(label)
    return figure
