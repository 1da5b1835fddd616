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

"""The live page's histories and bars as Apache ECharts options: plain dictionaries."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any

from pacsbo_ros.view import palette
from pacsbo_ros.view.kinds import kind_of, KINDS
from pacsbo_ros.view.live import Told
from pacsbo_ros.view.numbers import number, quantity, shown, shown_unit
from pacsbo_ros.view.words import BEST_LINE

INK, FAINT, LINE = '#c9d4df', '#8796a5', '#2a3542'


def axis(**options: Any) -> dict[str, Any]:
    """Return a value axis in the colours of the page."""
    return {'type': 'value', 'axisLine': {'lineStyle': {'color': LINE}},
            'axisTick': {'show': False}, 'axisLabel': {'color': FAINT, 'fontSize': 11},
            'nameTextStyle': {'color': FAINT, 'fontSize': 12},
            'splitLine': {'lineStyle': {'color': LINE, 'width': 1}}, **options}


def legend(**options: Any) -> dict[str, Any]:
    """Return a legend."""
    return {'type': 'scroll', 'pageIconColor': FAINT, 'pageTextStyle': {'color': FAINT},
            'textStyle': {'color': FAINT, 'fontSize': 11}, 'itemWidth': 14, 'itemHeight': 9,
            'itemGap': 14, **options}


def frame(**options: Any) -> dict[str, Any]:
    """Return what every chart has."""
    return {'animation': False, 'backgroundColor': 'transparent',
            'textStyle': {'fontFamily': 'Roboto, sans-serif'},
            'tooltip': {'trigger': 'item', 'formatter': '{b}', 'confine': True,
                        'backgroundColor': '#10161d', 'borderColor': LINE,
                        'textStyle': {'color': INK, 'fontSize': 12}}, **options}


def scatter(name: str, data: list, colour: str, **options: Any) -> dict[str, Any]:
    """Return dots."""
    return {'type': 'scatter', 'name': name, 'data': data, 'symbolSize': 9,
            'itemStyle': {'color': colour, 'borderColor': '#10161d', 'borderWidth': 1},
            **options}


def line(name: str, data: list, colour: str, **options: Any) -> dict[str, Any]:
    """Return a line without dots."""
    return {'type': 'line', 'name': name, 'data': data, 'symbol': 'none', 'silent': True,
            'lineStyle': {'color': colour, 'width': 2}, 'itemStyle': {'color': colour},
            **options}


def _history(told: Mapping[int, Told], budget: int, y: dict[str, Any],
             value: Callable[[Told], float], words: Callable[[float], str]) -> dict[str, Any]:
    """Draw one number per episode; each kind of episode has its colour and mark."""
    data: dict[str, list] = {kind.name: [] for kind in KINDS}
    for i, episode in told.items():
        number_ = value(episode)
        if math.isfinite(number_):
            name = kind_of(episode.safe, episode.role).name
            data[name].append({'value': [i, _short(number_)],
                               'name': f'episode {i}, {name}: {words(number_)}'})
    always = ('safe', 'unsafe')
    return _over_episodes(told, budget, y, [
        scatter(kind.name, data[kind.name], kind.colour, symbol=kind.symbol)
        for kind in KINDS if data[kind.name] or kind.name in always])


def _over_episodes(told: Mapping[int, Told], budget: int, y: dict[str, Any],
                   series: list[dict[str, Any]]) -> dict[str, Any]:
    return frame(
        grid={'left': 52, 'right': 14, 'top': 30, 'bottom': 38}, legend=legend(top=0, right=0),
        xAxis=axis(name='episode', nameLocation='middle', nameGap=24, min=0,
                   max=_last(told, budget) + 1, splitLine={'show': False}, minInterval=1,
                   axisLabel={'color': FAINT, 'fontSize': 11, 'showMaxLabel': False}),
        yAxis=axis(**y), series=series)


def _last(told: Mapping[int, Told], budget: int) -> int:
    return max([budget, *told])


def _short(value: float) -> float:
    """Return a number with the digits that a screen can show."""
    return float(f'{value:.5g}')


def _threshold(name: str, height: float, told: Mapping[int, Told], budget: int) -> dict[str, Any]:
    line_ = [[0, _short(height)], [_last(told, budget) + 1, _short(height)]]
    return line(name, line_, palette.UNSAFE, lineStyle={
        'color': palette.UNSAFE, 'width': 1.5, 'type': 'dashed'})


def reward_history(told: Mapping[int, Told], budget: int, unit: str = '') -> dict[str, Any]:
    """Draw the reward of every episode, and what the run's best had given at each time."""
    chart = _history(told, budget, {'scale': True}, lambda episode: episode.reward,
                     lambda value: quantity(value, unit, 5))
    steps = [[i, _short(episode.best)] for i, episode in told.items()
             if math.isfinite(episode.best)]
    chart['series'].append(line(BEST_LINE, steps, palette.BEST, step='end'))
    return chart


def peak_history(told: Mapping[int, Told], budget: int, signal: int, unit: str,
                 limit: float) -> dict[str, Any]:
    """Draw the largest |signal| of every episode against its limit, in the unit as shown."""
    name = shown_unit(unit)
    chart = _history(
        told, budget, {'min': 0, 'axisLabel': {
            'color': FAINT, 'fontSize': 11,
            'formatter': '{value}' + (name if name.startswith('°') else '')}},
        lambda episode: (shown(episode.peaks[signal], unit) if signal < len(episode.peaks)
                         else math.nan),
        lambda value: number(value) + ('' if name.startswith('°') else '\xa0') + name)
    if math.isfinite(limit):
        chart['series'].append(_threshold('limit', shown(limit, unit), told, budget))
    return chart


def margin_history(told: Mapping[int, Told], budget: int,
                   constraints: Sequence[str]) -> dict[str, Any]:
    """Draw the margin of every constraint in every episode; below 0 is unsafe."""
    series = []
    for c, name in enumerate(constraints):
        data = [{'value': [i, _short(episode.margins[c])],
                 'name': f'episode {i}, {name}: margin {number(episode.margins[c], 3)}'}
                for i, episode in told.items()
                if c < len(episode.margins) and math.isfinite(episode.margins[c])]
        series.append(scatter(name, data, palette.SERIES[c % len(palette.SERIES)],
                              symbolSize=7))
    if constraints:
        series.append(_threshold('unsafe below', 0.0, told, budget))
    return _over_episodes(told, budget, {'scale': False}, series)


def norm_bounds(functions: Sequence[str], domains: Sequence[str],
                bounds: Sequence[float]) -> dict[str, Any]:
    """Draw B per function, one bar per domain."""
    return frame(
        grid={'left': 52, 'right': 14, 'top': 30, 'bottom': 26}, legend=legend(top=0, right=0),
        xAxis=axis(type='category', data=list(functions), splitLine={'show': False},
                   axisLabel={'color': FAINT, 'fontSize': 11, 'interval': 0,
                              'hideOverlap': True}),
        yAxis=axis(min=0),
        series=[{'type': 'bar', 'name': domain, 'barMaxWidth': 26, 'barGap': '8%',
                 'itemStyle': {'color': palette.DOMAINS[d % len(palette.DOMAINS)],
                               'borderRadius': [3, 3, 0, 0]},
                 'data': [{'value': _short(bounds[f * len(domains) + d]),
                           'name': f'B of {function} in {domain}: '
                                   f'{bounds[f * len(domains) + d]:.3g}'}
                          for f, function in enumerate(functions)]}
                for d, domain in enumerate(domains)])


def length_scales(functions: Sequence[str], scales: Sequence[float],
                  weights: Sequence[float]) -> dict[str, Any]:
    """Draw how much the data speak for each length scale, one bar per function."""
    return frame(
        grid={'left': 52, 'right': 14, 'top': 30, 'bottom': 40}, legend=legend(top=0, right=0),
        xAxis=axis(type='category', data=[f'{s:.3g}' for s in scales],
                   name='length scale, share of the box', nameLocation='middle', nameGap=24,
                   splitLine={'show': False}),
        yAxis=axis(min=0, max=100, axisLabel={'color': FAINT, 'fontSize': 11,
                                              'formatter': '{value} %'}),
        series=[{'type': 'bar', 'name': function, 'barMaxWidth': 26, 'barGap': '8%',
                 'itemStyle': {'color': palette.FUNCTIONS[f % len(palette.FUNCTIONS)],
                               'borderRadius': [3, 3, 0, 0]},
                 'data': [{'value': _short(100 * w), 'name': f'{function}, {s:.3g}: '
                                                             f'{100 * w:.1f} %'}
                          for s, w in zip(scales, weights[f * len(scales):], strict=False)]}
                for f, function in enumerate(functions)])
