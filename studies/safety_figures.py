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

"""The figures of the safety study: violations against regret by world, regret by norm bound."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from studies import canvas, records
from studies.records import Record

Results = dict[tuple[str, int], dict[str, Record]]  # (world, n): method: summary
KINDS = {  # what follows the name of a bound: how it is drawn
    '': {'marker': 'o', 'color': canvas.BLUE, 'label': 'local'},
    ' + predictor': {'marker': 'o', 'color': canvas.BLUE, 'fillstyle': 'none',
                     'label': 'local + predictor'},
    ' global': {'marker': 's', 'color': canvas.RED, 'label': 'global'},
    ' global + predictor': {'marker': 's', 'color': canvas.RED, 'fillstyle': 'none',
                            'label': 'global + predictor'}}


def draw_worlds(results: Results, methods: Sequence[str], ours: Sequence[str], samples: int,
                delta: float, out: Path) -> None:
    """Draw a row of panels per world; ours are circles, the first of them large."""
    worlds = list(dict.fromkeys(world for world, _ in results))
    dimensions = list(dict.fromkeys(n for _, n in results))
    figure, panels = canvas.axes(len(worlds), len(dimensions), (3.0, 1.9), sharex=True,
                                 sharey=True)
    from matplotlib import colormaps
    methods = [m for m in methods if any(m in cells for cells in results.values())]
    styles = {m: {'color': colormaps['tab10'](i % 10), 'marker': 'o' if m in ours else 's',
                  'markersize': 9 if m == ours[0] else 5} for i, m in enumerate(methods)}
    for (world, n), axis in zip(product(worlds, dimensions), panels.flat, strict=True):
        cells = results.get((world, n), {})
        for method in methods:
            if method in cells:
                _point(axis, cells[method], **styles[method])
        axis.axhline(100 * delta, color='black', linestyle=':', linewidth=0.8)
        axis.set(title=f'{world}, n = {n}' + ('' if cells else ': not run'), ylim=(-4, 104),
                 xlim=(-0.05, 1.05))
    for axis in panels[-1]:
        axis.set_xlabel(f'regret left at {samples} samples')
    for axis in panels[:, 0]:
        axis.set_ylabel('runs with a\nviolation [%]')
    for method, style in styles.items():
        panels[0, 0].plot([], [], linestyle='', label=method, **style)
    figure.legend(loc='outside lower center', ncols=3)
    canvas.write(figure, out, 'safety')


def draw_bounds(cells: dict[int, dict[str, Record]], bounds: Sequence[str], samples: int,
                out: Path) -> None:
    """Draw the regret of every norm bound, local and global, with predictor and without."""
    figure, panels = canvas.axes(1, len(cells), (3.0, 2.4), sharex=True, sharey=True)
    for axis, (n, made) in zip(panels.flat, cells.items(), strict=True):
        for row, bound in enumerate(bounds):
            axis.axhline(row, color=canvas.GREY, linewidth=0.4)
            for kind, style in KINDS.items():
                if f'{bound}{kind}' in made:
                    axis.plot(made[f'{bound}{kind}']['left_mean'], row, linestyle='', **style)
        axis.set(title=f'n = {n}', xlabel=f'regret left at {samples} samples', xlim=(0, 1))
    panels[0, 0].set_yticks(range(len(bounds)), bounds)
    panels[0, 0].invert_yaxis()
    handles = {handle.get_label(): handle for axis in panels.flat for handle in axis.lines
               if not handle.get_label().startswith('_')}
    figure.legend(handles=list(handles.values()), loc='outside lower center', ncols=4)
    canvas.write(figure, out, 'bounds')


def _point(axis: Any, cell: Record, **style: Any) -> None:
    low, high = records.share_interval(cell['unsafe'], cell['runs'])
    axis.plot([cell['left_mean']] * 2, [100 * low, 100 * high], color=style['color'],
              linewidth=1, alpha=0.6)
    axis.plot(cell['left_mean'], 100 * cell['unsafe'] / cell['runs'], linestyle='', **style)
