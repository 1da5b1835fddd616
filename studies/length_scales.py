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
Choose the optimiser's model on the simulated plant, and measure the default starts.

Run `python -m studies.length_scales`. Gains are drawn uniformly over the default box, each is
tried once, and for every function that the optimiser sees a zero-mean Gaussian process with a
Matern-3/2 kernel is fitted by maximising its marginal likelihood

    -log p(y) = y' (K + n^2 I)^-1 y / 2 + log det(K + n^2 I) / 2 + const

once over the whole box and once over the safe gains alone, which is where the optimiser samples.

Symbol     Shape     Meaning
x          (N, 2)    gains mapped to the unit square
y          (N,)      scaled reward or constraint
l          (2,)      length scales on the unit square, k_theta first
s, n       -         standard deviations of signal and noise
"""
from __future__ import annotations

import argparse
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.furuta.batch import BatchResult, simulate_batch
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import STARTS
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from studies.gain_map import DEFAULT_BOX, gain_map

Array = NDArray[np.float64]
FUNCTIONS = ('reward', *CONSTRAINTS)  # the columns of values


@dataclass(frozen=True)
class Model:
    """Hold the fitted numbers of one function."""

    length_scales: tuple[float, float]
    signal: float
    noise: float


def fit(x: Array, y: Array) -> Model:
    """Maximise the marginal likelihood from two starts, all parameters on a log scale."""
    squares = (x[:, None, :] - x[None, :, :]) ** 2  # (N, N, 2)

    def loss(p: Array) -> float:
        distance = np.sqrt(3.0 * (squares @ np.exp(-2 * p[:2])))
        covariance = np.exp(2 * p[2]) * (1.0 + distance) * np.exp(-distance)
        covariance[np.diag_indices(len(y))] += np.exp(2 * p[3]) + 1e-9
        factor = cho_factor(covariance, lower=True)
        return float(0.5 * y @ cho_solve(factor, y) + np.log(np.diag(factor[0])).sum())

    bounds = [(math.log(0.02), math.log(5.0))] * 2 + [(-4.0, 3.0), (-6.0, 1.0)]
    fits = [minimize(loss, start, method='L-BFGS-B', bounds=bounds)
            for start in ([-1.5, -1.5, 0.0, -3.0], [-0.5, -1.0, -0.5, -2.0])]
    p = np.exp(min(fits, key=lambda result: result.fun).x)
    return Model((float(p[0]), float(p[1])), float(p[2]), float(p[3]))


def sample(count: int, seed: int) -> tuple[Array, BatchResult]:
    """Try random gains of the default box once each; return them on the unit square too."""
    x = np.random.default_rng(seed).uniform(size=(count, 2))
    low, high = np.array(DEFAULT_BOX).T
    k = np.tile(PAPER_GAINS.as_tuple(), (count, 1))
    k[:, :2] = low + x * (high - low)
    return x, simulate_batch(k, np.arange(seed, seed + count))


def repeat(k_theta: float, k_alpha: float, repeats: int = 20) -> BatchResult:
    """Try one pair of gains from several random starts."""
    k = PAPER_GAINS.with_tuned((k_theta, k_alpha)).as_tuple()
    return simulate_batch([k] * repeats, np.arange(repeats))


def main(arguments: list[str] | None = None) -> None:
    """Print fitted models, the spread of repeats and the starts."""
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(prog='python -m studies.length_scales',
                                     description='Fit the Gaussian processes of the optimiser.')
    parser.add_argument('--gains', type=int, default=250, help='random gains to fit on')
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args(arguments)
    console = Console(width=99)
    x, result = sample(options.gains, options.seed)
    safe = result.outcome == 0
    table = Table(title=f'Fitted to {len(x)} random gains, {safe.sum()} of them safe')
    for column in ('function', 'region', 'l k_theta', 'l k_alpha', 'signal sd', 'noise sd',
                   'mean', 'sd'):
        table.add_column(column, justify='right')
    for i, name in enumerate(FUNCTIONS):
        for region, where in (('box', np.ones_like(safe)), ('safe gains', safe)):
            y = result.values[where, i]
            model = fit(x[where], y)
            table.add_row(name, region, *(f'{value:.2f}' for value in (
                *model.length_scales, model.signal, model.noise, y.mean(), y.std())))
    console.print(table)

    best = gain_map(31, 6).best
    top = repeat(*best[:2]).reward.mean()
    table = Table(title='Gains tried from 20 random starts each')
    for column in ('', 'k_theta', 'k_alpha', 'reward', 'gap', 'worst angle', 'scaled reward',
                   'scaled angle'):
        table.add_column(column, justify='right')
    for label, k in (*(('start', k) for k in STARTS['calibrated']), ('best', best[:2])):
        runs = repeat(*k)
        scaled = [f'{runs.values[:, i].mean():.2f} ± {runs.values[:, i].std():.2f}'
                  for i in (0, 1)]
        table.add_row(label, f'{k[0]:.2f}', f'{k[1]:.2f}', f'{runs.reward.mean():.4f}',
                      f'{top - runs.reward.mean():.4f}',
                      f'{math.degrees(runs.max_abs_alpha.max()):.1f}°', *scaled)
    console.print(table)


if __name__ == '__main__':
    main()
