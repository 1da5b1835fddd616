# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The pictures of a run, as matplotlib figures.

Their margins are given: an automatic layout draws every figure three times to find them, and
every run waits for its pictures.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.tuning.trial import VERIFICATION
from pacsbo_ros.view import palette
from pacsbo_ros.view.plane import GainPlane, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, GRID = '#1f2933', '#66727f', '#e4e9ee'
STYLE = {
    'font.family': 'DejaVu Sans', 'font.size': 9.5, 'axes.edgecolor': '#b8c2cc',
    'axes.labelcolor': FAINT, 'axes.titlecolor': INK, 'axes.titlesize': 10.5,
    'axes.titleweight': 'bold', 'axes.titlelocation': 'left', 'axes.linewidth': 0.8,
    'xtick.color': FAINT, 'ytick.color': FAINT, 'axes.spines.top': False,
    'axes.spines.right': False, 'axes.grid': True, 'grid.color': GRID, 'grid.linewidth': 0.8,
    'axes.axisbelow': True, 'legend.frameon': False, 'legend.fontsize': 8.5,
    'svg.fonttype': 'path', 'svg.hashsalt': 'pacsbo_ros'}


WIDTH = 9.2  # inch, of every figure


def _grid(height: float, rows: int, columns: int, gap: float = 0.5, bottom: float = 0.45,
          right: float = 0.1, top: float = 0.35, **options: Any) -> tuple[Figure, Any]:
    """Return a figure and its (rows, columns) axes; lengths in inch."""
    from matplotlib.figure import Figure
    left, line = 0.6, 0.15
    figure = Figure(figsize=(WIDTH, height))
    wide = (WIDTH - left - right - (columns - 1) * gap) / columns
    high = (height - top - bottom - (rows - 1) * line) / rows
    return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw={
        'left': left / WIDTH, 'right': 1 - right / WIDTH, 'bottom': bottom / height,
        'top': 1 - top / height, 'wspace': gap / wide, 'hspace': line / high}, **options)


def history(run: RunData) -> Figure:
    """Draw reward and largest angle over the episodes."""
    episodes = run.column(lambda t: t.trial.iteration)
    reward = run.column(lambda t: t.measured.reward)
    angle = np.degrees(run.column(lambda t: t.measured.max_alpha))
    safe = run.column(lambda t: t.measured.safe).astype(bool)
    checked = np.array([t.trial.role == VERIFICATION for t in run.told])
    best = np.maximum.accumulate(np.where(safe & ~checked, reward, -np.inf))
    figure, ((left, right),) = _grid(3.1, 1, 2, gap=0.6)
    known = np.isfinite(best)
    left.step(episodes[known], best[known], where='post', color=palette.BEST, lw=2,
              label='best so far')
    for mask, paint, marker, name in ((safe & ~checked, palette.SAFE, 'o', 'safe'),
                                      (safe & checked, palette.SAFE, 'D', 'verification'),
                                      (~safe, palette.UNSAFE, 'X', 'unsafe')):
        if mask.any():
            for axes, values in ((left, reward), (right, angle)):
                axes.plot(episodes[mask], values[mask], marker, ms=6, color=paint, mec='white',
                          mew=0.7, label=name)
    left.set(title='Reward', xlabel='episode')
    limit = np.degrees(run.alpha_limit)
    if np.isfinite(limit):
        right.axhline(limit, color=palette.UNSAFE, ls='--', lw=1.3, label='limit')
    right.set(title='Largest pendulum angle [°]', xlabel='episode')
    right.set_ylim(0, None)
    left.legend(loc='lower right')
    right.legend(loc='lower right')
    return figure


def norms(run: RunData) -> Figure:
    """Draw the norm bounds B and the safe share over the episodes."""
    functions, domains = run.progress[-1].functions, run.progress[-1].domains
    items = [p for p in run.progress if (p.functions, p.domains) == (functions, domains)]
    episodes = [p.iteration for p in items]
    figure, (axes,) = _grid(2.6, 1, len(functions) + 1, gap=0.4)
    for f, name in enumerate(functions):
        for d, domain in enumerate(domains):
            axes[f].plot(episodes, [p.norm_bound[f * len(domains) + d] for p in items],
                         color=palette.DOMAINS[d % 3], lw=1.8, label=domain)
        axes[f].set(title=f'B of {name.replace("_", " ")}', xlabel='episode')
        axes[f].set_ylim(0, None)
    for d, domain in enumerate(domains):
        axes[-1].plot(episodes, [100 * p.safe_share[d] for p in items],
                      color=palette.DOMAINS[d % 3], lw=1.8, label=domain)
    axes[-1].set(title='Known to be safe [%]', xlabel='episode')
    axes[-1].set_ylim(0, None)
    axes[0].legend(loc='best')
    return figure


def plane(item: GainPlane) -> Figure:
    """Draw the gain plane with everything on it."""
    figure, ((whole, close),) = _grid(4.2, 1, 2, gap=0.75, bottom=0.8, right=1.0)
    _draw_plane(whole, item, 0.6)
    mesh = _draw_plane(close, item, 1.0)
    (left, low), (right, high) = item.close_up()
    close.set(title='close up', xlim=(left, right), ylim=(low, high))
    close.locator_params(nbins=6)
    whole.set(title='whole box')
    place = close.get_position()
    bar = figure.colorbar(mesh, cax=figure.add_axes((place.x1 + 0.012, place.y0, 0.012,
                                                     place.height)))
    bar.set_label('lower bound of the tightest constraint')
    bar.outline.set_visible(False)
    for axes in (whole, close):
        axes.set(xlabel=_label(item.names[0]), ylabel=_label(item.names[1]))
    figure.legend(*close.get_legend_handles_labels(), loc='lower center', ncols=7,
                  handletextpad=0.4, columnspacing=1.4)
    return figure


def growth(planes: tuple[GainPlane, ...]) -> Figure:
    """Draw how the safe set grew, stage by stage, in the last one's close-up."""
    (left, low), (right, high) = planes[-1].close_up()
    figure, (row,) = _grid(2.6, 1, len(planes), gap=0.2, bottom=0.3, sharey=True)
    for axes, item in zip(row, planes, strict=True):
        _draw_plane(axes, item, 0.6)
        axes.set(title=f'after {item.iteration}: {100 * item.safe_share:.1f} % safe',
                 xlim=(left, right), ylim=(low, high))
        axes.locator_params(nbins=5)
    return figure


def traces(run: RunData) -> Figure:
    """Draw the movement of the chosen episodes."""
    rows = (('alpha', 'pendulum α [°]', np.degrees), ('theta', 'arm θ [°]', np.degrees),
            ('volts', 'motor [V]', np.asarray))
    figure, grid = _grid(5.0, len(rows), len(run.traces), gap=0.2, top=0.5, sharex=True,
                         sharey='row')
    for column, (why, (told, trace)) in enumerate(run.traces.items()):
        time = trace.column('time')
        paint = palette.SAFE if told.measured.safe else palette.UNSAFE
        for row, (name, title, convert) in enumerate(rows):
            axes = grid[row, column]
            axes.plot(time, convert(trace.column(name)), color=paint, lw=1.1)
            limit = {'alpha': trace.alpha_limit, 'theta': trace.theta_limit}.get(name)
            near = limit and any(np.abs(t.column(name)).max() > 0.4 * limit
                                 for _, t in run.traces.values())
            if limit and near:  # a limit far from all movement would only hide the movement
                for sign in (-1, 1):
                    axes.axhline(sign * np.degrees(limit), color=palette.UNSAFE, ls='--', lw=1)
            if column == 0:
                axes.set_ylabel(title)
        grid[0, column].set_title(f'{why}\nepisode {told.trial.iteration}')
        grid[-1, column].set_xlabel('time [s]')
    return figure


def _label(name: str) -> str:
    """Return a gain with its unit."""
    return f'{name} [{unit(name)}]'


def _draw_plane(axes: Axes, item: GainPlane, size: float):
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
    for mask, paint, marker, name in ((item.sample_safe, '#e9fffb', 'o', 'safe'),
                                      (~item.sample_safe, palette.UNSAFE, 'X', 'unsafe')):
        if mask.any():
            axes.plot(*item.samples[mask].T, marker, ms=6.5 * size, color=paint, mec=INK,
                      mew=0.8 * size, label=name)
    if item.best is not None:
        axes.plot(*item.samples[item.best], '*', ms=19 * size, color=palette.BEST, mec=INK,
                  mew=0.8 * size, label='best')
    axes.set(xlim=(item.lower[0], item.upper[0]), ylim=(item.lower[1], item.upper[1]))
    axes.grid(visible=False)
    return mesh
