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
The paper's figures about the RKHS norm (Figs. 1, 2 and 4), with our bounds beside its own.

  symbol    meaning                                                        shape
  h         random function of the paper's kind, norm one                  callable
  A, y      uniform samples of the box, values without noise               (N, 1), (N,)
  r         1/∫σ², how densely A covers the box                            scalar
  norms     norms of random functions that interpolate (A, y)              (q,)

Noise of σ = 0.01 on dense samples would by itself have a norm above one; in the paper's figures
the norms approach the true one from below, so its samples were not noisy, and neither are ours.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core import Kernel, random_function, RkhsFunction, SafeOptimizer, Settings
from pacsbo_ros.core.gp import GaussianProcess
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rkhs import Interpolants, random_interpolant
from studies import canvas

KERNEL = Kernel('matern32', (0.1,))
NOISE = 0.01
CENTRES = 100
GRID = np.linspace(0.0, 1.0, 500)[:, None]
DRAWS = 5000
SPREAD = 20  # functions behind every range of ours
Line = tuple[str, str, str]  # quantity, in the paper, here

# The paper's Fig. 4: mean, standard deviation, least and largest norm, threshold of B.
PAPER_FIG4 = {5: (4.25, 1.24, 1.13, 10.98, 5.71), 20: (1.79, 0.45, 1.07, 4.28, 2.96),
              50: (1.13, 0.12, 0.99, 2.25, 1.71)}
# The paper's Fig. 2: first and last point, r and the norm of the mean over the true norm.
PAPER_FIG2 = ((1.363, 0.649), (8.210, 0.948))


def norms(out: Path) -> list[Line]:
    """Draw Fig. 1: functions through the same samples, with different norms."""
    rng = np.random.default_rng(3)
    A = np.array([[0.08], [0.3], [0.55], [0.8], [0.95]])
    h = random_function(KERNEL, CENTRES, rng, norm=2.0)
    least = random_interpolant(KERNEL, A, h(A), A[:0], 0.0, rng)
    other = random_interpolant(KERNEL, A, h(A), rng.random((60, 1)), 1.0, rng)
    # The least function and what the other adds to it are orthogonal: any norm can be had.
    wiggle = np.sqrt(other.norm ** 2 - least.norm ** 2)
    figure, ((axis,),) = canvas.axes(size=(4.2, 2.8))
    lines = []
    for norm, colour in zip((least.norm, 4.0, 10.0), (canvas.BLUE, canvas.GREEN, canvas.RED),
                            strict=True):
        share = np.sqrt(norm ** 2 - least.norm ** 2) / wiggle
        values = (1 - share) * least(GRID) + share * other(GRID)
        axis.plot(GRID, values, color=colour, label=f'norm {norm:.1f}')
        lines.append(f'{norm:.1f}')
    axis.plot(A, h(A), 'ko', markersize=4, label='samples')
    axis.set(xlabel='a', ylabel='h(a)', xlim=(0, 1))
    axis.legend(ncols=2)
    canvas.write(figure, out, 'fig1_norms')
    return [('Fig. 1, norms of functions through the same samples', '(not stated)',
             ', '.join(lines))]


def fitted(A: Array, y: Array) -> GaussianProcess:
    """Return the paper's Gaussian process of the samples, λ = σ²."""
    gp = GaussianProcess(KERNEL, NOISE ** 2, 1)
    for x, value in zip(A, y, strict=False):
        gp.add(x, np.array([value]))
    return gp


def our_bound(rule: str, A: Array, y: Array) -> float:
    """Return B of one of our rules on the whole box."""
    optimizer = SafeOptimizer(Settings(
        constraints=0, reward_threshold=-1e6, length_scales=(0.1,), noise_bound=NOISE,
        lam=NOISE ** 2, rule=rule, domains=('box',), candidates=500))
    for x, value in zip(A, y, strict=True):
        optimizer.tell(x, [value])
    return optimizer.state().norms[0].B


def growth(out: Path) -> list[Line]:
    """Draw Fig. 2: the norm of the mean grows with r towards the true norm, from below."""
    counts = np.arange(1, 29)
    r, share = np.empty((SPREAD, len(counts))), np.empty((SPREAD, len(counts)))
    ours: dict[str, list[list[float]]] = {'scale_free': [], 'mean': []}
    some = np.arange(2, len(counts), 2)
    for f in range(SPREAD):
        rng = np.random.default_rng([11, f])
        h = random_function(KERNEL, CENTRES, rng, norm=1.0)
        A = rng.random((int(counts[-1]), 1))
        y = h(A)
        gp = fitted(A[:0], y)
        for i, N in enumerate(counts):
            gp.add(A[N - 1], y[N - 1:N])
            r[f, i] = 1.0 / np.mean(gp.posterior(GRID)[1])
            share[f, i] = gp.mean_norms()[0]
        for rule, found in ours.items():
            found.append([our_bound(rule, A[:N], y[:N]) for N in counts[some]])
    figure, ((left, right),) = canvas.axes(1, 2, (3.6, 2.8))
    for f in range(SPREAD):
        left.plot(r[f], share[f], color=canvas.GREY, linewidth=0.4)
    left.plot(r[4], share[4], 'k*', markersize=4, label='‖μ_A‖ of one function')
    left.plot([], [], color=canvas.GREY, label=f'{SPREAD - 1} others')
    left.plot(*zip(*PAPER_FIG2, strict=True), 'D', color=canvas.ORANGE, label='ends in the paper')
    middle = np.median(r, axis=0)
    right.plot(middle[2:], np.median(share, axis=0)[2:], 'k', label='‖μ_A‖')
    for (rule, found), colour in zip(ours.items(), (canvas.GREEN, canvas.PURPLE), strict=True):
        low, mid, high = np.quantile(found, [0.1, 0.5, 0.9], axis=0)
        right.plot(middle[some], mid, color=colour, label=f'B, {rule}')
        right.fill_between(middle[some], low, high, color=colour, alpha=0.2, linewidth=0)
    for axis in (left, right):
        axis.axhline(1.0, color=canvas.BLUE, label='true norm')
        axis.set(xlabel='r = 1/∫σ²', ylabel='RKHS norm', xlim=(1, 12))
        axis.legend()
    right.set(ylim=(0, 6), title=f'{SPREAD} functions, median and 10–90 %')
    left.set(ylim=(0, 1.08), title='the mean shows too little')
    canvas.write(figure, out, 'fig2_growth')
    lines = []
    for where, paper in PAPER_FIG2:
        near = [float(np.interp(where, r[f], share[f])) for f in range(SPREAD)]
        low, mid, high = np.quantile(near, [0.1, 0.5, 0.9])
        lines.append((f'Fig. 2, ‖μ_A‖/‖h‖ at r = {where:.2f}', f'{paper:.3f}',
                      f'{mid:.3f} (10–90 % of functions: {low:.3f}–{high:.3f})'))
    above = float(np.mean(share > 1.0))
    lines.append(('Fig. 2, share of points above the true norm', '0', f'{above:.3f}'))
    return lines


def interpolants(out: Path) -> list[Line]:
    """Draw Fig. 4: random functions through N samples, and the histogram of their norms."""
    figure, panels = canvas.axes(2, 3, (3.1, 2.3))
    lines = []
    for column, (N, paper) in enumerate(PAPER_FIG4.items()):
        found = []
        for f in range(SPREAD):
            rng = np.random.default_rng([4, f])
            h = random_function(KERNEL, CENTRES, rng, norm=1.0)
            A = rng.random((N, 1))
            y = h(A)
            model = Interpolants(fitted(A, y), GRID, CENTRES - N, 1.0)
            drawn = model.draw(0, DRAWS if f == 0 else 300, rng)
            low, high = model.support(0)
            w = (high - low) * np.sqrt(np.log(1 / 0.1) / (2 * DRAWS))
            found.append((drawn.mean(), drawn.std(), drawn.min(), drawn.max(), drawn.mean() + w))
            if f == 0:
                _draw_functions(panels[0, column], h, A, y, rng, N)
                _draw_histogram(panels[1, column], drawn, A, y, float(drawn.mean() + w))
        for name, theirs, mine in zip(('mean', 'standard deviation', 'least', 'largest',
                                       'threshold of B'), paper, np.transpose(found),
                                      strict=True):
            # Extremes depend on the number of draws: only the first function has as many.
            extreme = name in ('least', 'largest')
            text = f'{mine[0]:.2f}' + ('' if extreme else
                                       f' ({np.min(mine):.2f}–{np.max(mine):.2f} over '
                                       f'{SPREAD} functions)')
            lines.append((f'Fig. 4, N = {N}, {name}', f'{theirs:.2f}', text))
    panels[0, 0].set_ylabel('h(a)')
    panels[1, 0].set_ylabel(f'frequency, q = {DRAWS}')
    for panel, place in ((panels[0, 0], 'outside upper center'),
                         (panels[1, 0], 'outside lower center')):
        figure.legend(*panel.get_legend_handles_labels(), ncols=5, loc=place)
    canvas.write(figure, out, 'fig4_interpolants')
    return lines


def _draw_functions(axis: Any, h: RkhsFunction, A: Array, y: Array,
                    rng: np.random.Generator, N: int) -> None:
    for i in range(30):
        tail = rng.random((CENTRES - N, 1))
        rho = random_interpolant(KERNEL, A, y, tail, 1.0, rng, nugget=NOISE ** 2)
        axis.plot(GRID, rho(GRID), color=canvas.BLUE, linewidth=0.4, alpha=0.7,
                  label='random functions' if i == 0 else None)
    axis.plot(GRID, h(GRID), color=canvas.RED, label='h', linewidth=1.5)
    axis.plot(A, y, 'ko', markersize=3, label='samples', zorder=3)
    axis.set(xlabel='a', xlim=(0, 1), ylim=(-4, 4), title=f'N = {N}')


def _draw_histogram(axis: Any, drawn: Array, A: Array, y: Array, hoeffding: float) -> None:
    axis.hist(drawn, bins=24, color=canvas.BLUE, edgecolor='white', linewidth=0.3)
    marks = (('true norm', 1.0, 'black'),
             ('closed-form mean', our_bound('mean', A, y), canvas.PURPLE),
             ('Hoeffding (paper)', hoeffding, canvas.ORANGE),
             ('scenario', our_bound('scenario', A, y), canvas.GREY),
             ('scale-free', our_bound('scale_free', A, y), canvas.GREEN))
    for name, value, colour in marks:
        axis.axvline(value, color=colour, label=name, linewidth=1.6,
                     linestyle='--' if name == 'scenario' else '-')
    axis.set(xlabel='‖ρ‖', xlim=(0, None), ylim=(0, None))
