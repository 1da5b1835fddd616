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
The histories of a run, as matplotlib figures.

Their margins are given: an automatic layout draws every figure three times to find them, and
every run waits for its pictures.
"""
from __future__ import annotations

import math
import textwrap
from typing import Any, TYPE_CHECKING

import numpy as np
from pacsbo_ros.tuning.report_files import Progress
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.view import palette
from pacsbo_ros.view.kinds import kind_of, KINDS
from pacsbo_ros.view.numbers import label, number, shown, shown_unit
from pacsbo_ros.view.words import BEST_LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, GRID = '#1f2933', '#66727f', '#e4e9ee'
STYLE: dict[Any, Any] = {
    'font.family': 'DejaVu Sans', 'font.size': 9.5, 'axes.edgecolor': '#b8c2cc',
    'axes.labelcolor': FAINT, 'axes.titlecolor': INK, 'axes.titlesize': 10.5,
    'axes.titleweight': 'bold', 'axes.titlelocation': 'left', 'axes.linewidth': 0.8,
    'xtick.color': FAINT, 'ytick.color': FAINT, 'axes.spines.top': False,
    'axes.spines.right': False, 'axes.grid': True, 'grid.color': GRID, 'grid.linewidth': 0.8,
    'axes.axisbelow': True, 'legend.frameon': False, 'legend.fontsize': 8.5,
    'svg.fonttype': 'path', 'svg.hashsalt': 'pacsbo_ros'}


WIDTH = 9.2  # inch, of every figure
MOST_TRACES = 5  # rows of the picture of the movement
LABEL = 16  # letters that have room beside such a row


def make_grid(height: float, rows: int, columns: int, gap: float = 0.5, bottom: float = 0.45,
              right: float = 0.1, top: float = 0.35, line: float = 0.15, left: float = 0.6,
              **options: Any) -> tuple[Figure, Any]:
    """Return a figure and its (rows, columns) axes; lengths in inch."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(WIDTH, height))
    wide = (WIDTH - left - right - (columns - 1) * gap) / columns
    high = (height - top - bottom - (rows - 1) * line) / rows
    return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw={
        'left': left / WIDTH, 'right': 1 - right / WIDTH, 'bottom': bottom / height,
        'top': 1 - top / height, 'wspace': gap / wide, 'hspace': line / high}, **options)


def history(run: RunData) -> Figure:
    """Draw reward, every margin and every largest |signal| over the episodes."""
    episodes = run.column(lambda t: t.trial.iteration)
    kinds = [kind_of(t.measured.safe, t.trial.role) for t in run.told]
    count = 2 + len(run.robot.signals)
    rows = -(-count // 2)
    figure, grid = make_grid(0.15 + 2.75 * rows, rows, 2, gap=0.6, line=0.75)
    axes = list(grid.ravel())
    for spare in axes[count:]:
        spare.set_visible(False)

    def dots(place: Axes, values: Any) -> None:
        for kind in KINDS:
            mask = np.array([k is kind for k in kinds])
            if mask.any():
                place.plot(episodes[mask], values[mask], kind.marker, ms=6, color=kind.colour,
                           mec='white', mew=0.7, label=kind.name)

    best = [(p.iteration, p.best_reward) for p in run.progress if math.isfinite(p.best_reward)]
    if best:
        axes[0].step(*zip(*best, strict=True), where='post', color=palette.BEST, lw=2,
                     label=BEST_LINE)
    dots(axes[0], run.column(lambda t: t.measured.reward))
    axes[0].set(title=label('Reward', run.robot.reward.unit))
    for c, name in enumerate(run.robot.constraints):
        axes[1].plot(episodes, run.column(lambda t, c=c: t.measured.margins[c]), 'o-', ms=4,
                     lw=0.8, color=palette.SERIES[c % len(palette.SERIES)], label=name)
    axes[1].axhline(0.0, color=palette.UNSAFE, ls='--', lw=1.3, label='unsafe below')
    axes[1].set(title='Margins of the constraints')
    for i, signal in enumerate(run.robot.signals):
        place = axes[2 + i]
        dots(place, run.column(lambda t, i=i, s=signal: shown(t.measured.peaks[i], s.unit)))
        if signal.limit is not None:
            place.axhline(shown(signal.limit, signal.unit), color=palette.UNSAFE, ls='--', lw=1.3,
                          label='limit')
        place.set(title=label(f'Largest |{signal.name}|', signal.unit))
        place.set_ylim(0, None)
    for place in axes[:count]:
        _over_episodes(place)
        place.legend(loc='best', ncols=2)
    return figure


def _over_episodes(axes: Axes) -> None:
    """Say that the episodes are below, in whole numbers."""
    from matplotlib.ticker import MaxNLocator
    axes.set_xlabel('episode')
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def norms(run: RunData) -> Figure:
    """Draw the norm bounds B and the safe share over the episodes."""
    functions, domains = run.progress[-1].functions, run.progress[-1].domains
    items = [p for p in run.progress if (p.functions, p.domains) == (functions, domains)]
    episodes = [p.iteration for p in items]
    count = len(functions) + 1
    columns = min(count, 4)
    rows = -(-count // columns)
    figure, grid = make_grid(2.6 * rows, rows, columns, gap=0.4, line=0.8)
    axes = list(grid.ravel())
    for spare in axes[count:]:
        spare.set_visible(False)
    share = axes[count - 1]
    for f, name in enumerate(functions):
        for d, domain in enumerate(domains):
            axes[f].plot(episodes, [p.norm_bound[f * len(domains) + d] for p in items],
                         color=palette.DOMAINS[d % 3], lw=1.8, label=domain)
        axes[f].set(title=f'B of {name}')
        _over_episodes(axes[f])
        axes[f].set_ylim(0, None)
    for d, domain in enumerate(domains):
        share.plot(episodes, [100 * p.safe_share[d] for p in items],
                   color=palette.DOMAINS[d % 3], lw=1.8, label=domain)
    share.set(title='Known to be safe [%]')
    _over_episodes(share)
    share.set_ylim(0, None)
    axes[0].legend(loc='best')
    return figure


def length_scales(item: Progress) -> Figure:
    """Draw how much the data speak for each length scale, function by function."""
    count, scales = len(item.functions), len(item.length_scales)
    columns = min(count, 4)
    figure, grid = make_grid(2.4 * -(-count // columns), -(-count // columns), columns, gap=0.4,
                             line=0.9, bottom=0.5)
    names = [number(s, 3) for s in item.length_scales]
    for f, axes in enumerate(grid.ravel()):
        if f >= count:
            axes.set_visible(False)
            continue
        weights = item.length_scale_weights[f * scales:(f + 1) * scales]
        bars = axes.bar(names, [100 * w for w in weights], width=0.6, color=palette.HULL)
        axes.bar_label(bars, fmt='%.0f', color=FAINT, fontsize=8.5)
        axes.set(title=f'{item.functions[f]} [%]', xlabel='length scale, share of the box')
        axes.set_ylim(0, 112)
        axes.grid(visible=False, axis='x')
    return figure


def traces(run: RunData) -> Figure:
    """Draw the movement of the chosen episodes: signals, then commands."""
    first = next(trace for _, trace in run.traces.values())
    known = [(s.name, s.unit) for s in (*run.robot.signals, *run.robot.commands)
             if s.name in first.columns] or list(
                 zip(first.columns[1:], first.units[1:], strict=True))
    rows = known[:MOST_TRACES]
    figure, grid = make_grid(0.95 + 1.4 * len(rows), len(rows), len(run.traces), gap=0.2, top=0.65,
                             left=0.95, sharex=True, sharey='row')
    for column, (why, (told, trace)) in enumerate(run.traces.items()):
        time = trace.column('time')
        paint = palette.SAFE if told.measured.safe else palette.UNSAFE
        for row, (name, unit) in enumerate(rows):
            axes = grid[row, column]
            axes.plot(time, [shown(v, unit) for v in trace.column(name)], color=paint, lw=1.1)
            limit = trace.limits[trace.columns.index(name)]
            near = any(np.abs(t.column(name)).max() > 0.4 * limit
                       for _, t in run.traces.values() if name in t.columns)
            if near:  # a limit far from all movement would only hide the movement
                for sign in (-1, 1):
                    axes.axhline(sign * shown(limit, unit), color=palette.UNSAFE, ls='--', lw=1)
            if column == 0:
                words = f'{name}\n[{shown_unit(unit)}]' if unit else name
                longest = max(map(len, words.split('\n')))
                axes.set_ylabel(words, fontsize=min(9.5, 9.5 * LABEL / longest))
        reasons = textwrap.fill(why, 26)
        grid[0, column].set_title(f'{reasons}\nepisode {told.trial.iteration}')
        grid[-1, column].set_xlabel('time [s]')
    figure.align_ylabels(grid[:, 0])
    return figure
