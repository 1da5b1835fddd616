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
Draw what the optimiser sees along lines of gains that cross both edges, with the falls marked.

    python -m studies.edges --output docs/images/edges.png
"""
from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.robots.furuta.batch import BatchResult, simulate_batch
from pacsbo_ros.robots.furuta.episode_settings import Limits
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS
from studies.family import PLANTS

LINES = (('calibrated', -4.0), ('qube3', -4.0), ('longer', -3.0), ('delay', -3.0))
REPEATS = 6
FALLEN = math.pi / 2  # rad
FREE = Limits(alpha=math.pi, theta=1e3, speed=1e6)


def along(plant: str, k_theta: float, k_alpha: Any, limits: Limits | None = None) -> BatchResult:
    """Try gains along a line, REPEATS times each."""
    k = [PAPER_GAINS.with_tuned((k_theta, x)).as_tuple() for x in np.repeat(k_alpha, REPEATS)]
    return simulate_batch(k, range(len(k)), PLANTS[plant], limits)


def draw(k_alpha: Any) -> Any:
    """Return a figure with one panel per line."""
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True, sharey=True,
                                layout='constrained')
    for axis, (plant, k_theta) in zip(axes.flat, LINES, strict=True):
        seen = along(plant, k_theta, k_alpha)
        falls = (along(plant, k_theta, k_alpha, FREE).max_abs_alpha > FALLEN).reshape(-1, REPEATS)
        kept = (seen.outcome == 0).reshape(-1, REPEATS)
        for i, name in enumerate(CONSTRAINTS, 1):
            if name == 'arm':
                continue
            y = np.where(kept, seen.values[:, i].reshape(-1, REPEATS), np.nan)
            some = kept.any(axis=1)
            mean, spread = np.nanmean(y[some], axis=1), np.nanstd(y[some], axis=1)
            line, = axis.plot(k_alpha[some], mean, label=name)
            axis.fill_between(k_alpha[some], mean - spread, mean + spread, alpha=0.25,
                              color=line.get_color(), linewidth=0)
        axis.fill_between(k_alpha, -1.1, 2.1, where=falls.mean(axis=1) >= 0.5, color='black',
                          alpha=0.15, linewidth=0, label='falls (half of the repeats)')
        axis.axhline(0, color='black', linewidth=0.8)
        axis.set(title=f'{plant}, k_θ = {k_theta:g} V/rad', ylim=(-1.1, 2.1))
    for axis in axes[-1]:
        axis.set_xlabel('k_α [V/rad]')
    for axis in axes[:, 0]:
        axis.set_ylabel('value as the optimiser sees it')
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='outside lower center', ncols=4,
                  frameon=False)
    return figure


def main(arguments: list[str] | None = None) -> None:
    """Draw the lines and save the picture."""
    parser = argparse.ArgumentParser(prog='python -m studies.edges', description=__doc__)
    parser.add_argument('--output', type=Path, default=Path('edges.png'))
    parser.add_argument('--step', type=float, default=1.0, help='V/rad between two gains')
    options = parser.parse_args(arguments)
    draw(np.arange(12.0, 50.0 + 1e-9, options.step)).savefig(options.output, dpi=110)


if __name__ == '__main__':
    main()
