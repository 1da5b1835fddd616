# Copyright the pacsbo_ros developers. Apache-2.0.
"""The pictures that a run leaves in its folder."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from pacsbo_ros.tuning.tuning import Tuning

SAFE, UNSAFE, BEST = '#2a7f62', '#c0392b', '#1f4e9c'


def write_plots(folder: Path, tuning: Tuning) -> list[Path]:
    """Draw the history and, with two or more gains, the gain plane; return the files."""
    if not tuning.told:
        return []
    import matplotlib
    matplotlib.use('Agg')
    files = [folder / 'history.png']
    _history(tuning).savefig(files[0], dpi=130)
    if tuning.problem.box.dimension >= 2 and tuning.best and tuning.model:
        files.append(folder / 'gain_plane.png')
        _plane(tuning).savefig(files[1], dpi=130)
    return files


def _history(tuning: Tuning):
    """Draw reward and largest angle over the episodes."""
    from matplotlib.figure import Figure
    episodes = np.array([t.trial.iteration for t in tuning.told])
    reward = np.array([t.measured.reward for t in tuning.told])
    angle = np.degrees([t.measured.max_alpha for t in tuning.told])
    safe = np.array([t.measured.safe for t in tuning.told])
    best = np.maximum.accumulate(np.where(safe, reward, -np.inf))
    figure = Figure(figsize=(8, 5.5), layout='constrained')
    top, bottom = figure.subplots(2, sharex=True)
    top.step(episodes, np.where(np.isfinite(best), best, np.nan), where='post', color=BEST,
             label='best so far')
    for mask, colour, label in ((safe, SAFE, 'safe'), (~safe, UNSAFE, 'unsafe')):
        if mask.any():
            top.plot(episodes[mask], reward[mask], 'o', ms=5, color=colour, label=label)
            bottom.plot(episodes[mask], angle[mask], 'o', ms=5, color=colour)
    top.set_ylabel('reward')
    top.legend(loc='lower right', frameon=False)
    bottom.set(xlabel='episode', ylabel='max |α|  [°]', ylim=(0, None))
    for axes in (top, bottom):
        axes.spines[['top', 'right']].set_visible(False)
        axes.grid(alpha=0.25)
    return figure


def _plane(tuning: Tuning):
    """Draw predicted reward, safe set and samples over the first two gains."""
    from matplotlib.figure import Figure
    box, best = tuning.problem.box, tuning.best
    axis = np.linspace(0, 1, 120)
    points = np.tile(best.trial.point, (len(axis) ** 2, 1))
    points[:, 0], points[:, 1] = np.tile(axis, len(axis)), np.repeat(axis, len(axis))
    band = tuning.optimizer.predict(points)
    shape = (len(axis), len(axis))
    x, y = (low + (high - low) * axis for low, high in
            zip(box.lower[:2], box.upper[:2], strict=True))
    margin = band.low[1:].min(axis=0).reshape(shape)
    figure = Figure(figsize=(7, 5.5), layout='constrained')
    axes = figure.subplots()
    mesh = axes.pcolormesh(x, y, margin, cmap='RdYlGn', vmin=-1, vmax=1, shading='gouraud')
    figure.colorbar(mesh, label='lower bound of the constraints (scaled)')
    if (margin >= 0).any() and (margin < 0).any():
        axes.contour(x, y, margin, levels=[0.0], colors='black', linewidths=1.5)
    gains = np.array([t.trial.gains for t in tuning.told])
    safe = np.array([t.measured.safe for t in tuning.told])
    axes.plot(*gains[safe, :2].T, 'o', ms=5, color=SAFE, mec='white', label='safe')
    if (~safe).any():
        axes.plot(*gains[~safe, :2].T, 'X', ms=8, color=UNSAFE, mec='white', label='unsafe')
    axes.plot(*best.trial.gains[:2], '*', ms=17, color=BEST, mec='white', label='best')
    axes.set(xlabel=f'{box.names[0]}  [V/rad]', ylabel=f'{box.names[1]}  [V/rad]',
             xlim=(box.lower[0], box.upper[0]), ylim=(box.lower[1], box.upper[1]))
    axes.legend(loc='upper right', framealpha=0.9)
    return figure
