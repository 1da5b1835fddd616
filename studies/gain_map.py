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
Simulate and draw the whole box of gains.

Run `python -m studies.gain_map --output map.png`.

Symbol     Shape        Meaning
g          -            gains per axis
k_theta    (g,)         V/rad
k_alpha    (g,)         V/rad
reward ..  (g, g)       mean over repeats, first axis k_theta
"""
from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.furuta.batch import CHUNK, simulate_batch
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS, STOCK_GAINS
from pacsbo_ros.robots.furuta.plant import Plant
from pacsbo_ros.robots.furuta.presets import CALIBRATED, preset, PRESETS, STARTS

Array = NDArray[np.float64]

DEFAULT_BOX = ((-6.0, 0.0), (10.0, 50.0))  # V/rad: k_theta, k_alpha
LATER_START = Gains(-2.394, 42.42)


@dataclass(frozen=True)
class GainMap:
    """Hold simulated repeats on a grid of gains."""

    k_theta: Array  # (g,)
    k_alpha: Array  # (g,)
    reward: Array  # (g, g, repeats)
    max_abs_alpha: Array  # (g, g, repeats) rad, at most a little above the limit: it trips
    values: Array  # (g, g, repeats, 5) as the optimiser sees them
    safe: NDArray[np.bool_]  # (g, g, repeats) the episode ran to its end

    @property
    def best(self) -> tuple[float, float, float]:
        """Return k_theta, k_alpha and reward of the best gains of which all repeats are safe."""
        mean = np.where(self.safe.all(axis=2), self.reward.mean(axis=2), -math.inf)
        i, j = np.unravel_index(np.argmax(mean), mean.shape)
        return float(self.k_theta[i]), float(self.k_alpha[j]), float(mean[i, j])


def gain_map(grid: int = 61, repeats: int = 5, plant: Plant = CALIBRATED,
             limits: Limits | None = None, settings: EpisodeSettings | None = None,
             box: tuple[tuple[float, float], tuple[float, float]] = DEFAULT_BOX,
             progress: bool = False) -> GainMap:
    """Simulate every gain of a grid over the box, each from several random starts."""
    if grid < 2 or repeats < 1:
        raise ValueError(f'grid is {grid} and repeats is {repeats}; use 2 and 1 or more')
    k_theta, k_alpha = (np.linspace(*edges, grid) for edges in box)
    k = np.tile(PAPER_GAINS.as_tuple(), (grid * grid * repeats, 1))
    k[:, 0] = np.repeat(k_theta, grid * repeats)
    k[:, 1] = np.tile(np.repeat(k_alpha, repeats), grid)
    blocks: Iterable[int] = range(0, len(k), CHUNK)
    if progress:
        from tqdm import tqdm
        blocks = tqdm(blocks, desc='simulating', unit='block')
    parts = [simulate_batch(k[i:i + CHUNK], np.arange(i, min(i + CHUNK, len(k))), plant, limits,
                            settings) for i in blocks]
    shape = grid, grid, repeats

    def gather(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    return GainMap(k_theta, k_alpha, gather('reward').reshape(shape),
                   gather('max_abs_alpha').reshape(shape), gather('values').reshape(*shape, -1),
                   (gather('outcome') == 0).reshape(shape))


def draw(result: GainMap, limits: Limits, title: str) -> Any:
    """Return a matplotlib figure: reward, max angle, safe set, and what the optimiser sees."""
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    safe = result.safe.mean(axis=2)
    limit = math.degrees(limits.alpha)
    panels = (
        ('reward', result.reward.mean(axis=2), 'viridis', (0.85, 1.0), 'min'),
        ('max |α| [deg]', np.degrees(result.max_abs_alpha.mean(axis=2)), 'magma_r',
         (10, limit), 'max'),
        (f'share of repeats within {limit:.0f}°', safe, 'RdYlGn', (0, 1), 'neither'),
        ('tightest constraint as the optimiser sees it',
         result.values[..., 1:].mean(axis=2).min(axis=-1), 'RdBu',
         (-1, 1), 'both'),
    )
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), sharex=True, sharey=True,
                                layout='constrained')
    for axis, (name, z, colours, (low, high), extend) in zip(axes.flat, panels, strict=True):
        mesh = axis.pcolormesh(result.k_theta, result.k_alpha, z.T, cmap=colours, vmin=low,
                               vmax=high, shading='nearest', rasterized=True)
        figure.colorbar(mesh, ax=axis, label=name, extend=extend)
        axis.contour(result.k_theta, result.k_alpha, safe.T, levels=[0.999], colors='black',
                     linewidths=1.4)
        _mark_known_gains(axis, result)
    for axis in axes[-1]:
        axis.set_xlabel('k_θ [V/rad]')
    for axis in axes[:, 0]:
        axis.set_ylabel('k_α [V/rad]')
    axes[0, 0].plot([], [], color='black', linewidth=1.4, label='edge of the safe set')
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='outside lower center', ncols=6,
                  frameon=False)
    figure.suptitle(title)
    return figure


def _mark_known_gains(axis: Any, result: GainMap) -> None:
    """Mark the gains that are known from elsewhere, the starts and the best of the map."""
    style = {'linestyle': '', 'markeredgecolor': 'white', 'markersize': 8}
    axis.plot(*zip(*STARTS['calibrated'], strict=True), marker='o', color='tab:blue',
              label='starts', **style)
    for gains, marker, name in ((PAPER_GAINS, 'D', "authors' first start"),
                                (LATER_START, 'v', 'a later start of theirs'),
                                (STOCK_GAINS, 's', "Quanser's gains")):
        axis.plot(gains.k_theta, gains.k_alpha, marker=marker, color='tab:purple', label=name,
                  **style)
    axis.plot(*result.best[:2], marker='*', color='gold', label='best safe gains',
              **{**style, 'markersize': 15, 'markeredgecolor': 'black'})


def main(arguments: list[str] | None = None) -> None:
    """Simulate the map and save its picture."""
    parser = argparse.ArgumentParser(prog='python -m studies.gain_map',
                                     description='Draw reward, angle and safe set over the gains.')
    parser.add_argument('--output', type=Path, default=Path('gain_map.png'))
    parser.add_argument('--plant', default='calibrated',
                        help=f'{", ".join(PRESETS)}, or a preset file')
    parser.add_argument('--grid', type=int, default=61, help='gains per axis')
    parser.add_argument('--repeats', type=int, default=5, help='random starts per gain')
    parser.add_argument('--limit', type=float, default=30.0, help='angle limit in degrees')
    options = parser.parse_args(arguments)
    limits = Limits(alpha=math.radians(options.limit))
    result = gain_map(options.grid, options.repeats, preset(options.plant), limits,
                      progress=True)
    k_theta, k_alpha, reward = result.best
    draw(result, limits, f'Plant "{options.plant}": {options.repeats} episodes of 5 s per gain, '
         'a 2 rad/s push at 1 s').savefig(options.output, dpi=130)
    print(f'{result.safe.all(axis=2).mean():.0%} of the box is safe at {options.limit:g}°; best '
          f'safe reward {reward:.4f} at k_theta {k_theta:.2f}, k_alpha {k_alpha:.1f}')
    print(f'picture: {options.output}')


if __name__ == '__main__':
    main()
