# Copyright the pacsbo_ros developers. Apache-2.0.
"""The live page's charts as Apache ECharts options: plain dictionaries, made from a Snapshot."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

import numpy as np

from pacsbo_ros.view import palette
from pacsbo_ros.view.live import Told
from pacsbo_ros.view.plane import GainPlane, label

INK, FAINT, LINE = '#c9d4df', '#8796a5', '#2a3542'
CELLS = 64  # per side of the map, whatever the size of the message
GAP = [None, None]  # ECharts interrupts a line here
STAR = ('path://M0,-10 L2.6,-3.4 L9.5,-3.1 L4.1,1.3 L5.9,8.1 L0,4.2 L-5.9,8.1 L-4.1,1.3 '
        'L-9.5,-3.1 L-2.6,-3.4 Z')


def _axis(**options: Any) -> dict[str, Any]:
    return {'type': 'value', 'axisLine': {'lineStyle': {'color': LINE}},
            'axisTick': {'show': False}, 'axisLabel': {'color': FAINT, 'fontSize': 11},
            'nameTextStyle': {'color': FAINT, 'fontSize': 12},
            'splitLine': {'lineStyle': {'color': LINE, 'width': 1}}, **options}


def _legend(**options: Any) -> dict[str, Any]:
    return {'type': 'scroll', 'pageIconColor': FAINT, 'pageTextStyle': {'color': FAINT},
            'textStyle': {'color': FAINT, 'fontSize': 11}, 'itemWidth': 14, 'itemHeight': 9,
            'itemGap': 14, **options}


def _frame(**options: Any) -> dict[str, Any]:
    return {'animation': False, 'backgroundColor': 'transparent',
            'textStyle': {'fontFamily': 'Roboto, sans-serif'},
            'tooltip': {'trigger': 'item', 'formatter': '{b}', 'confine': True,
                        'backgroundColor': '#10161d', 'borderColor': LINE,
                        'textStyle': {'color': INK, 'fontSize': 12}}, **options}


def _scatter(name: str, data: list, colour: str, **options: Any) -> dict[str, Any]:
    return {'type': 'scatter', 'name': name, 'data': data, 'symbolSize': 9,
            'itemStyle': {'color': colour, 'borderColor': '#10161d', 'borderWidth': 1},
            **options}


def _line(name: str, data: list, colour: str, **options: Any) -> dict[str, Any]:
    return {'type': 'line', 'name': name, 'data': data, 'symbol': 'none', 'silent': True,
            'lineStyle': {'color': colour, 'width': 2}, 'itemStyle': {'color': colour},
            **options}


def _round(points: Any) -> list[list[float]]:
    return [[round(float(x), 4), round(float(y), 4)] for x, y in points]


def gain_plane(plane: GainPlane | None, candidate: Sequence[float] | None = None,
               whole: bool = False) -> dict[str, Any]:
    """Draw margin, safe set, hulls, samples, best gains and candidate; close up or the box."""
    hidden = {'type': 'category', 'show': False, 'data': list(range(CELLS))}
    over = {'xAxisIndex': 1, 'yAxisIndex': 1}  # the value axes lie over the heat map's
    names = plane.names if plane else ('', '')
    low, high = (0.0, 0.0), (1.0, 1.0)
    if plane is not None:
        low, high = ((plane.lower, plane.upper) if whole
                     else (c.round(3).tolist() for c in plane.close_up()))
    axes = [_axis(name=label(n) if n else '', nameLocation='middle', nameGap=gap, min=a, max=b,
                  axisLabel={'color': FAINT, 'fontSize': 11, 'showMinLabel': whole,
                             'showMaxLabel': whole},
                  splitLine={'show': False}, position=position)
            for n, gap, a, b, position in zip(names, (26, 34), low, high, ('bottom', 'left'),
                                              strict=True)]
    cells: list[list[float]] = []
    layers: dict[str, list] = {key: [] for key in ('border', 'hull', 'enlarged', 'safe', 'unsafe',
                                                   'best', 'now')}
    if plane is not None:
        centre = (np.arange(CELLS) + 0.5) / CELLS
        x, y = (a + (b - a) * centre for a, b in zip(low, high, strict=True))
        grid = np.column_stack([np.tile(x, CELLS), np.repeat(y, CELLS)])
        # Always all cells: ECharts leaves some out when their number changes.
        margin = np.clip(plane.margin_at(grid), -palette.MARGIN_SPAN, palette.MARGIN_SPAN)
        cells = [[i % CELLS, i // CELLS, round(float(m), 2)] for i, m in enumerate(margin)]
        for line in plane.boundary():
            layers['border'] += [*_round(line), GAP]
        for key, corners in (('hull', plane.hull), ('enlarged', plane.enlarged)):
            layers[key] = _round([*corners, *corners[:1]])
        for i, gains in enumerate(_round(plane.samples)):
            safe = bool(plane.sample_safe[i])
            layers['safe' if safe else 'unsafe'].append(
                {'value': gains, 'name': f'episode {i + 1}: ({gains[0]:.2f}, {gains[1]:.2f}), '
                 f'reward {plane.sample_reward[i]:.4f}, {"safe" if safe else "unsafe"}'})
        if plane.best is not None:
            gains = _round(plane.samples[plane.best:plane.best + 1])[0]
            layers['best'] = [{'value': gains, 'name': f'best: ({gains[0]:.2f}, {gains[1]:.2f}), '
                               f'reward {plane.sample_reward[plane.best]:.4f}'}]
        if candidate is not None and len(candidate) >= 2:
            gains = _round([candidate[:2]])[0]
            layers['now'] = [{'value': gains,
                              'name': f'tried now: ({gains[0]:.2f}, {gains[1]:.2f})'}]
    return _frame(
        grid={'left': 56, 'right': 88, 'top': 34, 'bottom': 44},
        legend=_legend(top=0, left=0, data=['safe set', 'hull', 'enlarged hull', 'safe', 'unsafe',
                                            'best', 'now']),
        xAxis=[hidden, axes[0]], yAxis=[hidden, axes[1]],
        visualMap={'type': 'continuous', 'min': -palette.MARGIN_SPAN, 'max': palette.MARGIN_SPAN,
                   'seriesIndex': 0, 'dimension': 2, 'right': 6, 'top': 'middle', 'precision': 1,
                   'inRange': {'color': list(palette.MARGIN_STOPS)}, 'itemWidth': 12,
                   'itemHeight': 150, 'text': ['sure', 'unknown'],
                   'textStyle': {'color': FAINT, 'fontSize': 11}},
        series=[
            {'type': 'heatmap', 'data': cells, 'silent': True, 'progressive': 0},
            _line('enlarged hull', layers['enlarged'], palette.ENLARGED, **over,
                  lineStyle={'color': palette.ENLARGED, 'width': 2, 'type': 'dashed'}),
            _line('hull', layers['hull'], palette.HULL, **over),
            _line('safe set', layers['border'], '#ffffff', **over,
                  lineStyle={'color': '#ffffff', 'width': 2.5}),
            _scatter('safe', layers['safe'], '#d9fff8', **over),
            _scatter('unsafe', layers['unsafe'], palette.UNSAFE, **over, symbolSize=12),
            _scatter('best', layers['best'], palette.BEST, **over, symbol=STAR, symbolSize=24,
                     z=5),
            _scatter('now', layers['now'], palette.CANDIDATE, **over, symbol='diamond',
                     symbolSize=17, z=6)])


def _history(told: Mapping[int, Told], budget: int, y: dict[str, Any], value) -> dict[str, Any]:
    """Draw one number per episode, safe and unsafe ones in their colours."""
    data: dict[bool, list] = {True: [], False: []}
    for i, episode in told.items():
        number = value(episode)
        if math.isfinite(number):
            data[episode.safe].append({'value': [i, round(number, 4)],
                                       'name': f'episode {i}: {number:.4g}'})
    last = max([budget, *told])
    return _frame(
        grid={'left': 48, 'right': 14, 'top': 30, 'bottom': 38}, legend=_legend(top=0, right=0),
        xAxis=_axis(name='episode', nameLocation='middle', nameGap=24, min=0, max=last + 1,
                    splitLine={'show': False}, minInterval=1,
                    axisLabel={'color': FAINT, 'fontSize': 11, 'showMaxLabel': False}),
        yAxis=_axis(**y),
        series=[_scatter('safe', data[True], palette.SAFE),
                _scatter('unsafe', data[False], palette.UNSAFE)])


def reward_history(told: Mapping[int, Told], budget: int) -> dict[str, Any]:
    """Draw the reward of every episode and the best so far."""
    chart = _history(told, budget, {'scale': True}, lambda episode: episode.reward)
    best, line = -math.inf, []
    for i, episode in told.items():
        if episode.safe:
            best = max(best, episode.reward)
        if math.isfinite(best):
            line.append([i, round(best, 4)])
    chart['series'].append(_line('best so far', line, palette.BEST, step='end'))
    return chart


def angle_history(told: Mapping[int, Told], budget: int, limit: float) -> dict[str, Any]:
    """Draw the largest pendulum angle of every episode against its limit."""
    bound = math.degrees(limit) if math.isfinite(limit) else None
    chart = _history(told, budget, {'min': 0, 'axisLabel': {
        'color': FAINT, 'fontSize': 11, 'formatter': '{value}°'}},
        lambda episode: math.degrees(episode.max_alpha))
    line = [[0, bound], [max([budget, *told]) + 1, bound]] if bound is not None else []
    chart['series'].append(_line('limit', line, palette.UNSAFE, lineStyle={
        'color': palette.UNSAFE, 'width': 1.5, 'type': 'dashed'}))
    return chart


def norm_bounds(functions: Sequence[str], domains: Sequence[str],
                bounds: Sequence[float]) -> dict[str, Any]:
    """Draw B per function, one bar per domain."""
    titles = [f.replace('_margin', '').replace('alpha', 'α limit').replace('theta', 'θ limit')
              for f in functions]
    return _frame(
        grid={'left': 48, 'right': 14, 'top': 30, 'bottom': 26}, legend=_legend(top=0, right=0),
        xAxis=_axis(type='category', data=titles, splitLine={'show': False}), yAxis=_axis(min=0),
        series=[{'type': 'bar', 'name': domain, 'barMaxWidth': 26, 'barGap': '8%',
                 'itemStyle': {'color': palette.DOMAINS[d % len(palette.DOMAINS)],
                               'borderRadius': [3, 3, 0, 0]},
                 'data': [{'value': round(bounds[f * len(domains) + d], 3),
                           'name': f'B of {title} in {domain}: '
                                   f'{bounds[f * len(domains) + d]:.3g}'}
                          for f, title in enumerate(titles)]}
                for d, domain in enumerate(domains)])
