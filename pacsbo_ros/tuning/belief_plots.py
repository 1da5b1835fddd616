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

"""What the model believes, as matplotlib figures: a curve, a plane, or a slice for every pair."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

import numpy as np
from pacsbo_ros.tuning.plots import INK, make_grid
from pacsbo_ros.view import palette
from pacsbo_ros.view.curve import close_up, heights, safe_intervals
from pacsbo_ros.view.numbers import tuned_label
from pacsbo_ros.view.plane import Plane
from pacsbo_ros.view.slices import LOWER, MEAN, Slices, UPPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = 0.35  # opacity of samples that are not on the slice


def belief(slices: Slices) -> Figure:
    """Draw everything that is guaranteed."""
    if slices.is_curve:
        return curve(slices)
    return plane(slices.plane()) if len(slices.names) == 2 else pairs(slices)


def growth(stages: tuple[Slices, ...], shares: Mapping[int, float]) -> Figure:
    """Draw how the safe set grew; `shares` of the box known to be safe, by episode."""
    last = stages[-1]
    figure, (row,) = make_grid(2.6, 1, len(stages), gap=0.2, bottom=0.5, sharey=True)
    for axes, item in zip(row, stages, strict=True):
        if item.is_curve:
            _draw_curve(axes, item, 1, 0.6)
            axes.set(xlim=close_up(last), ylim=_curve_heights(last, 1))
        else:
            draw_plane(axes, item.plane(), 0.6)
            (left, low), (right, high) = last.plane().close_up()
            axes.set(xlim=(left, right), ylim=(low, high))
        share = shares.get(item.iteration)
        axes.set(title=f'after {item.iteration}' + (
            '' if share is None else f': {100 * share:.1f} % safe'),
                 xlabel=tuned_label(item.names[item.slices[0].x], item.units[item.slices[0].x]))
        axes.locator_params(nbins=5)
    return figure


# One value.

def curve(item: Slices) -> Figure:
    """Draw reward and tightest margin over the one value."""
    figure, grid = make_grid(5.2, 2, 1, bottom=0.85, line=0.3, sharex=True)
    for row, (axes, title) in enumerate(zip(grid[:, 0], (
            'Reward', 'Tightest margin: 0 or more is safe'), strict=True)):
        _draw_curve(axes, item, row, 1.0)
        axes.set(title=title, xlim=close_up(item), ylim=_curve_heights(item, row))
    grid[-1, 0].set_xlabel(tuned_label(item.names[0], item.units[0]))
    figure.legend(*grid[-1, 0].get_legend_handles_labels(), loc='lower center', ncols=7,
                  handletextpad=0.4, columnspacing=1.4)
    return figure


def _told(item: Slices, row: int) -> tuple[Any, Any]:
    s = item.slices[0]
    return ((s.margin[:, 0], item.sample_margin) if row
            else (s.reward[:, 0], item.sample_reward))


def _curve_heights(item: Slices, row: int) -> tuple[float, float]:
    band, told = _told(item, row)
    x = item.axis(0, band.shape[1])
    low, high = close_up(item)
    return heights(band[:, (x >= low) & (x <= high)], told, 0.0 if row else None)


def _draw_curve(axes: Axes, item: Slices, row: int, size: float) -> None:
    """Draw mean, band and samples; of the margin also the threshold and the safe set."""
    band, told = _told(item, row)
    x = item.axis(0, band.shape[1])
    axes.fill_between(x, band[LOWER], band[UPPER], color=_faded(palette.ENLARGED, 0.35), lw=0,
                      label='band')
    axes.plot(x, band[MEAN], color=palette.HULL, lw=1.8 * size, label='mean')
    if row:
        axes.axhline(0.0, color=palette.UNSAFE, ls='--', lw=1.3 * size, label='threshold')
        for i, (a, b) in enumerate(safe_intervals(item)):
            axes.plot([a, b], [0.0, 0.0], color=palette.BOUNDARY, lw=4.5 * size,
                      solid_capstyle='butt', label='safe set' if i == 0 else None)
    for mask, paint, marker, name in _kinds(item.sample_safe):
        axes.plot(item.samples[mask, 0], told[mask], marker, ms=6.5 * size, color=paint, mec=INK,
                  mew=0.8 * size, ls='none', label=name)
    if item.best_sample is not None:
        axes.plot(item.best[0], told[item.best_sample], '*', ms=19 * size, color=palette.BEST,
                  mec=INK, mew=0.8 * size, label='best')


def _kinds(safe: Any) -> list[tuple[Any, str, str, str]]:
    return [(mask, *kind) for mask, *kind in (
        (safe, '#e9fffb', 'o', 'safe'), (~safe, palette.UNSAFE, 'X', 'unsafe')) if mask.any()]


# Two values and more.

def plane(item: Plane) -> Figure:
    """Draw the plane with everything on it, whole and close up."""
    figure, ((whole, close),) = make_grid(4.2, 1, 2, gap=0.75, bottom=0.8, right=1.0)
    draw_plane(whole, item, 0.6)
    mesh = draw_plane(close, item, 1.0)
    (left, low), (right, high) = item.close_up()
    close.set(title='close up', xlim=(left, right), ylim=(low, high))
    close.locator_params(nbins=6)
    whole.set(title='whole box')
    for axes in (whole, close):
        _name_axes(axes, item)
    _add_bar(figure, mesh, close)
    _add_legend(figure, [whole, close])
    return figure


def pairs(slices: Slices) -> Figure:
    """Draw the slices of all pairs, close up."""
    count, columns = len(slices.slices), 3
    rows = -(-count // columns)
    figure, grid = make_grid(1.2 + 2.75 * rows, rows, columns, gap=0.7, bottom=0.85, right=0.95,
                             top=0.15, line=0.6)
    axes = list(grid.ravel())
    for spare in axes[count:]:
        spare.set_visible(False)
    for i, place in enumerate(axes[:count]):
        item = slices.plane(i)
        mesh = draw_plane(place, item, 0.7)
        (left, low), (right, high) = item.close_up()
        place.set(xlim=(left, right), ylim=(low, high))
        place.locator_params(nbins=5)
        _name_axes(place, item)
    _add_bar(figure, mesh, grid[0, -1])
    _add_legend(figure, axes[:count])
    return figure


def _name_axes(axes: Axes, item: Plane) -> None:
    axes.set(xlabel=tuned_label(item.names[0], item.units[0]),
             ylabel=tuned_label(item.names[1], item.units[1]))


def _add_bar(figure: Figure, mesh: Any, axes: Axes) -> None:
    place = axes.get_position()
    bar = figure.colorbar(mesh, cax=figure.add_axes((place.x1 + 0.012, place.y0, 0.012,
                                                     place.height)))
    bar.set_label('lower bound of the tightest margin')
    bar.outline.set_visible(False)


def _add_legend(figure: Figure, places: list[Axes]) -> None:
    known: dict[str, Any] = {}
    for axes in places:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            known[name] = handle
    figure.legend(known.values(), known.keys(), loc='lower center', ncols=7, handletextpad=0.4,
                  columnspacing=1.4)


def draw_plane(axes: Axes, item: Plane, size: float) -> Any:
    """Draw margin, safe set, hulls and samples; return the coloured picture."""
    from matplotlib.colors import LinearSegmentedColormap
    colours = LinearSegmentedColormap.from_list('margin', palette.MARGIN_STOPS)
    span = palette.MARGIN_SPAN
    rows, columns = item.margin.shape
    half = np.subtract(item.upper, item.lower) / (2 * (columns - 1), 2 * (rows - 1))
    (left, low), (right, high) = item.lower - half, item.upper + half
    mesh = axes.imshow(item.margin, cmap=colours, vmin=-span, vmax=span, origin='lower',
                       extent=(left, right, low, high), aspect='auto', interpolation='bilinear')
    for i, line in enumerate(item.boundary()):
        axes.plot(*line.T, color='white', lw=3.2 * size)
        axes.plot(*line.T, color=palette.BOUNDARY, lw=1.6 * size,
                  label='safe set' if i == 0 else None)
    for corners, paint, style, name in ((item.enlarged, palette.ENLARGED, '--', 'enlarged hull'),
                                        (item.hull, palette.HULL, '-', 'hull')):
        if len(corners):
            axes.plot(*np.vstack([corners, corners[:1]]).T, style, color=paint, lw=1.8 * size,
                      label=name)
    for mask, paint, marker, name in _kinds(item.sample_safe):
        for here, opacity in ((~item.on_slice, PALE), (item.on_slice, 1.0)):
            axes.plot(*item.samples[mask & here].T, marker, ms=6.5 * size, mew=0.8 * size,
                      color=_faded(paint, opacity), mec=_faded(INK, opacity), ls='none',
                      label=name)
    axes.plot(*item.best, '*', ms=19 * size, color=palette.BEST, mec=INK, mew=0.8 * size,
              ls='none', label='best')
    axes.set(xlim=(item.lower[0], item.upper[0]), ylim=(item.lower[1], item.upper[1]))
    axes.grid(visible=False)
    return mesh


def _faded(paint: str, opacity: float) -> tuple[float, float, float, float]:
    return *palette.rgb(paint), opacity
