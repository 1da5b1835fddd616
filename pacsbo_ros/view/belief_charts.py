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

"""What the model believes, as Apache ECharts options: a curve of one value, a plane of two."""
from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
import struct
from typing import Any
import zlib

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.view import palette
from pacsbo_ros.view.charts import axis, FAINT, frame, legend, line, scatter
from pacsbo_ros.view.curve import close_up, heights, safe_intervals
from pacsbo_ros.view.numbers import number, tuned_label, values_text
from pacsbo_ros.view.plane import Plane
from pacsbo_ros.view.slices import LOWER, MEAN, Slices, UPPER

CELLS = 108  # per side of the map
GRID = {'left': 60, 'right': 92, 'top': 34, 'bottom': 44}  # pixels around the map
GAP = [None, None]  # ECharts interrupts a line here
STAR = ('path://M0,-10 L2.6,-3.4 L9.5,-3.1 L4.1,1.3 L5.9,8.1 L0,4.2 L-5.9,8.1 L-4.1,1.3 '
        'L-9.5,-3.1 L-2.6,-3.4 Z')
PALE = 0.35  # opacity of what is not on the slice


def belief(slices: Slices | None, index: int = 0, candidate: Sequence[float] | None = None,
           whole: bool = False) -> dict[str, Any]:
    """Draw the curve, or one slice; `candidate` has all tuned values."""
    if slices is None:
        return frame()
    if candidate is not None and len(candidate) != len(slices.names):
        candidate = None
    if slices.is_curve:
        return curve(slices, None if candidate is None else candidate[0], whole)
    item = slices.slices[index]
    return plane(slices.plane(index), None if candidate is None else (
        candidate[item.x], candidate[item.y]), whole)


def _round(points: Any) -> list[list[float]]:
    return [[float(f'{x:.6g}'), float(f'{y:.6g}')] for x, y in points]


def plane(item: Plane, candidate: Sequence[float] | None = None,
          whole: bool = False) -> dict[str, Any]:
    """Draw margin, safe set, hulls, samples, best values and candidate; close up or the box."""
    low, high = _corners(item, whole)
    axes = [axis(name=tuned_label(name, unit), nameLocation='middle', nameGap=gap, min=a, max=b,
                 axisLabel={'color': FAINT, 'fontSize': 11, 'showMinLabel': whole,
                            'showMaxLabel': whole},
                 splitLine={'show': False}, position=position)
            for name, unit, gap, a, b, position in zip(
                item.names, item.units, (26, 38), low, high, ('bottom', 'left'), strict=True)]
    layers: dict[str, list] = {key: [] for key in ('border', 'safe', 'unsafe', 'now')}
    for border in item.boundary():
        layers['border'] += [*_round(border), GAP]
    for i, values in enumerate(_round(item.samples)):
        safe, here = bool(item.sample_safe[i]), bool(item.on_slice[i])
        layers['safe' if safe else 'unsafe'].append(
            {'value': values, **({} if here else {'itemStyle': {'opacity': PALE}}),
             'name': f'episode {i + 1}: {values_text(values)}, reward '
             f'{number(item.sample_reward[i], 5)}, {"safe" if safe else "unsafe"}'
             f'{"" if here else ", off the slice"}'})
    best = {'value': _round([item.best])[0],
            'name': f'best: {values_text(item.best)}, reading {number(item.best_reward, 5)}, '
            f'expected {number(item.best_expected)}'}
    if candidate is not None:
        layers['now'] = [{'value': _round([candidate])[0],
                          'name': f'tried now: {values_text(candidate)}'}]
    return frame(
        grid={**GRID, 'outerBoundsMode': 'none'},  # where the picture behind it lies
        legend=legend(top=0, left=0, data=['safe set', 'hull', 'enlarged hull', 'safe', 'unsafe',
                                           'best', 'now']),
        xAxis=[axes[0]], yAxis=[axes[1]],
        visualMap={'type': 'continuous', 'min': -palette.MARGIN_SPAN, 'max': palette.MARGIN_SPAN,
                   'seriesIndex': 0, 'right': 6, 'top': 'middle', 'precision': 1,
                   'inRange': {'color': list(palette.MARGIN_STOPS)}, 'itemWidth': 12,
                   'itemHeight': 150, 'text': ['sure', 'unknown'],
                   'textStyle': {'color': FAINT, 'fontSize': 11}},
        series=[
            scatter('colours', [], palette.SAFE),  # for the bar beside the map alone
            line('enlarged hull', _closed(item.enlarged), palette.ENLARGED,
                 lineStyle={'color': palette.ENLARGED, 'width': 2, 'type': 'dashed'}),
            line('hull', _closed(item.hull), palette.HULL),
            line('safe set', layers['border'], '#ffffff',
                 lineStyle={'color': '#ffffff', 'width': 2.5}),
            scatter('safe', layers['safe'], '#d9fff8'),
            scatter('unsafe', layers['unsafe'], palette.UNSAFE, symbolSize=12),
            scatter('best', [best], palette.BEST, symbol=STAR, symbolSize=24, z=5),
            scatter('now', layers['now'], palette.CANDIDATE, symbol='diamond',
                    symbolSize=17, z=6)])


def _corners(item: Plane, whole: bool) -> tuple[Sequence[float], Sequence[float]]:
    """Return the corners of what is shown."""
    if whole:
        return item.lower, item.upper
    low, high = ([float(f'{v:.4g}') for v in corner] for corner in item.close_up())
    return low, high


def backdrop(slices: Slices | None, index: int = 0, whole: bool = False) -> str:
    """
    Return the CSS of the coloured map behind a slice's chart; nothing behind a curve.

    It is a picture, not a series of ECharts, which draws thousands of cells piece by piece, leaves
    some out while its card changes size, and is sent ten times as much.
    """
    if slices is None or slices.is_curve:
        return 'none'
    item = slices.plane(index)
    low, high = _corners(item, whole)
    x = np.linspace(low[0], high[0], CELLS)
    y = np.linspace(high[1], low[1], CELLS)  # a picture begins at its upper edge
    margin = item.margin_at(np.column_stack([np.tile(x, CELLS), np.repeat(y, CELLS)]))
    picture = b64encode(png(palette.margin_colours(margin.reshape(CELLS, CELLS)))).decode()
    wide, high_ = GRID['left'] + GRID['right'], GRID['top'] + GRID['bottom']
    return (f'url(data:image/png;base64,{picture}) {GRID["left"]}px {GRID["top"]}px / '
            f'calc(100% - {wide}px) calc(100% - {high_}px) no-repeat')


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return (rows, columns, 3) colours as a PNG file."""
    rows, columns, _ = pixels.shape
    lines = np.hstack([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)])
    chunks = ((b'IHDR', struct.pack('>IIBBBBB', columns, rows, 8, 2, 0, 0, 0)),
              (b'IDAT', zlib.compress(lines.tobytes())), (b'IEND', b''))
    return b'\x89PNG\r\n\x1a\n' + b''.join(
        struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        for kind, data in chunks)


def _closed(corners: Any) -> list[list[float]]:
    return _round([*corners, *corners[:1]])


def curve(item: Slices, candidate: float | None = None, whole: bool = False) -> dict[str, Any]:
    """Draw reward and tightest margin over one value: mean, band, samples, threshold."""
    s = item.slices[0]
    x = item.axis(0, s.safe.shape[1])
    low, high = (item.lower[0], item.upper[0]) if whole else close_up(item)
    inside = (x >= low) & (x <= high)
    best = item.best_sample
    series: list[dict[str, Any]] = []
    bounds = []
    for row, (band, told) in enumerate(((s.reward[:, 0], item.sample_reward),
                                        (s.margin[:, 0], item.sample_margin))):
        at = {'xAxisIndex': row, 'yAxisIndex': row}
        first, last = heights(band[:, inside], told, threshold=0.0 if row else None)
        bounds.append((first, last))
        lower, upper = (np.clip(band[i], first, last) for i in (LOWER, UPPER))
        series += [  # ECharts fills what is stacked: the lower bound, unseen, and what is above
            line('band', _round(zip(x, lower, strict=True)), palette.HULL, **at,
                 stack=f'band {row}', stackStrategy='all', lineStyle={'opacity': 0}),
            line('band', _round(zip(x, upper - lower, strict=True)), palette.HULL, **at,
                 stack=f'band {row}', stackStrategy='all', lineStyle={'opacity': 0},
                 areaStyle={'color': palette.HULL, 'opacity': 0.28}),
            line('mean', _round(zip(x, band[MEAN], strict=True)), palette.ENLARGED, **at)]
        for name, safe, paint in (('safe', True, '#d9fff8'), ('unsafe', False, palette.UNSAFE)):
            series.append(scatter(name, [
                {'value': [float(item.samples[i, 0]), float(told[i])],
                 'name': f'episode {i + 1}: {item.names[0]} {number(item.samples[i, 0])}, '
                 f'reward {number(item.sample_reward[i], 5)}, margin '
                 f'{number(item.sample_margin[i], 3)}'}
                for i in np.flatnonzero(item.sample_safe == safe)], paint, **at))
        series.append(scatter('best', [] if best is None else [
            {'value': [float(item.best[0]), float(told[best])],
             'name': f'best: {item.names[0]} {number(item.best[0])}, reading '
             f'{number(item.sample_reward[best], 5)}, expected '
             f'{number(item.best_expected)}'}], palette.BEST, **at, symbol=STAR,
            symbolSize=24, z=5))
        if candidate is not None:
            series.append(line('now', [[candidate, first], [candidate, last]], palette.CANDIDATE,
                               **at, z=6))
    under = {'xAxisIndex': 1, 'yAxisIndex': 1}
    series.append(line('safe set', [point for a, b in safe_intervals(item)
                                    for point in ([a, 0.0], [b, 0.0], GAP)], '#ffffff', **under,
                       lineStyle={'color': '#ffffff', 'width': 5}))
    series.append(line('threshold', [[low, 0.0], [high, 0.0]], palette.UNSAFE, **under,
                       lineStyle={'color': palette.UNSAFE, 'width': 1.5, 'type': 'dashed'}))
    common = {'min': low, 'max': high, 'splitLine': {'show': False}}
    return frame(
        grid=[{'left': 60, 'right': 16, 'top': 30, 'height': '38%'},
              {'left': 60, 'right': 16, 'bottom': 44, 'height': '38%'}],
        legend=legend(top=0, left=0, data=['band', 'mean', 'safe set', 'threshold', 'safe',
                                           'unsafe', 'best', 'now']),
        xAxis=[axis(gridIndex=0, **common, axisLabel={'show': False}),
               axis(gridIndex=1, **common, name=tuned_label(item.names[0], item.units[0]),
                    nameLocation='middle', nameGap=26,
                    axisLabel={'color': FAINT, 'fontSize': 11, 'showMinLabel': whole,
                               'showMaxLabel': whole})],
        yAxis=[axis(gridIndex=row, name=name, nameLocation='middle', nameGap=38, min=a, max=b,
                    axisLabel={'color': FAINT, 'fontSize': 11, 'showMinLabel': False,
                               'showMaxLabel': False})
               for row, (name, (a, b)) in enumerate(zip(('reward', 'margin'), bounds,
                                                        strict=True))],
        series=series)
