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
Measure the guarantee: how often is anything unsafe evaluated, and what is won.

    python -m studies.guarantee --out results

Random functions of the paper's kind, norms U(1, 20); safe above the 30 % quantile; three starts
between the 40 % and the 50 % quantile; every method sees the same functions, starts and noise.
`--starts safe` and `--blind` take away, one by one, what makes B harder to bound than promised.

  symbol    meaning                                                        shape
  h         random RKHS function, `TRUTH_CENTRES` centres                  callable
  X, H      regular grid of the box and the values of h on it              (G, n), (G,)
  left      (max H - best evaluated)/(max H - best start): 0 is the optimum, 1 the start
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
import json
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core import (
    Kernel,
    NothingToPropose,
    random_function,
    RkhsFunction,
    SafeOptimizer,
    Settings,
)
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.local_norms import LocalNorms, RESOLUTION
from pacsbo_ros.executors import add_executor_options, carry_out, executor_factory
from tqdm import tqdm

LENGTH_SCALE = {1: 0.1, 2: 0.3}
SIDE = {1: 1000, 2: 50}
TRUTH_CENTRES = 100
NOISE = 0.01  # standard deviation, which is the noise bound R of Gaussian noise
FIRST = 2000  # number of the first problem: those below are for choosing, not for judging
LIBRARIES = 16  # different seeds of the optimiser, so that not one library decides all runs
DEFAULT = 'scale_free'
METHODS = (DEFAULT, 'mean', 'cantelli', 'scenario', 'hoeffding', 'bernstein',
           'SafeOpt, true norm', 'SafeOpt, B = 10', 'SafeOpt, B = 0.4')
# Quantiles between which the starts lie; with 'any' everything counts as safe.
STARTS = {'middle': (0.4, 0.5), 'safe': (0.3, 1.0), 'any': (0.0, 1.0)}


@dataclass(frozen=True)
class Problem:
    """Hold one random function and where it is safe."""

    h: RkhsFunction
    norm: float
    threshold: float
    starts: Array  # (3, n)
    best: float  # highest value on the grid


@dataclass(frozen=True)
class Outcome:
    """Hold what one run did."""

    method: str
    index: int
    norm: float
    unsafe: int  # evaluations below the threshold
    left: float  # share of the start's regret
    samples: int
    below: dict[str, bool]  # per domain: was B ever more than 1 % below the true local norm?
    worst: float  # least B/(true local norm) of the run
    stuck: str  # code of NothingToPropose, or ''


@dataclass(frozen=True)
class Plan:
    """Say what every run of a study has in common."""

    n: int
    samples: int = 25  # after the starts
    centres: int = TRUTH_CENTRES
    starts: str = 'middle'
    blind: bool = False  # sample at random instead of where the method proposes


def make_problem(n: int, index: int, centres: int = TRUTH_CENTRES,
                 starts: str = 'middle') -> Problem:
    """Draw the problem number `index` in n dimensions."""
    rng = np.random.default_rng([index, n, centres])
    kernel = Kernel('matern32', (LENGTH_SCALE[n],) * n)
    norm = float(rng.uniform(1.0, 20.0))
    h = random_function(kernel, centres, rng, norm)
    X = grid(n)
    H = h(X)
    low, high = np.quantile(H, STARTS[starts])
    chosen = rng.choice(np.flatnonzero((low <= H) & (high >= H)), size=3, replace=False)
    threshold = float(np.quantile(H, min(0.3, STARTS[starts][0])))
    return Problem(h, norm, threshold, X[chosen], float(H.max()))


def grid(n: int) -> Array:
    """Return the regular grid on which threshold, starts and optimum are defined."""
    axes = [np.linspace(0.0, 1.0, SIDE[n])] * n
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)


def make_optimizer(method: str, n: int, problem: Problem, seed: int,
                   changes: dict[str, Any]) -> SafeOptimizer:
    """Make the optimiser of one row of the table."""
    settings = Settings(
        dimension=n, constraints=0, reward_threshold=problem.threshold,
        length_scales=(LENGTH_SCALE[n],), noise_bound=NOISE, candidates=SIDE[n] ** n, delta=0.1,
        starts=3)
    if method.startswith('SafeOpt'):
        B = problem.norm if 'true' in method else float(method.split('=')[1])
        return SafeOptimizer(settings.with_norm(B), seed)
    return SafeOptimizer(settings.replace(rule=method, **changes), seed)


def run(index: int, method: str, plan: Plan, changes: dict[str, Any] | None = None) -> Outcome:
    """Run one method on one problem."""
    n = plan.n
    problem = make_problem(n, index, plan.centres, plan.starts)
    rng = np.random.default_rng([index, n, 7])
    optimizer = make_optimizer(method, n, problem, index % LIBRARIES, changes or {})
    truth = LocalNorms(problem.h, problem.norm, np.random.default_rng([index, n, 8]))
    best = -np.inf
    for x in problem.starts:
        value = float(problem.h(x[None])[0])
        # A start is safe by assumption: noise may not contradict it.
        optimizer.tell(x, [max(value + NOISE * rng.standard_normal(), problem.threshold)])
        best = max(best, value)
    start, unsafe, stuck, worst = best, 0, '', np.inf
    below = dict.fromkeys(optimizer.settings.domains, False)
    for _ in range(plan.samples):
        proposal = optimizer.ask()
        true = truth.on(optimizer.hull)
        for estimate in optimizer.state().norms:
            ratio = estimate.B / true[estimate.domain]
            below[estimate.domain] |= ratio < RESOLUTION
            worst = min(worst, ratio)
        if isinstance(proposal, NothingToPropose):
            stuck = proposal.code
            break
        point = rng.random(n) if plan.blind else np.array(proposal.point)
        value = float(problem.h(point[None])[0])
        unsafe += value < problem.threshold
        best = max(best, value)
        optimizer.tell(point, [value + NOISE * rng.standard_normal()])
    left = (problem.best - best) / max(problem.best - start, 1e-12)
    return Outcome(method, index, problem.norm, unsafe, max(left, 0.0),
                   optimizer.state().samples, below, float(worst), stuck)


def study(method: str, plan: Plan, count: int, executor: Executor | None = None,
          progress: bool = False, changes: dict[str, Any] | None = None) -> list[Outcome]:
    """Run one method on the problems FIRST..FIRST + count - 1."""
    task: Callable[[int], Outcome] = partial(run, method=method, plan=plan, changes=changes)
    indices = range(FIRST, FIRST + count)
    results: Iterable[Outcome] = (
        map(task, indices) if executor is None else executor.map(task, indices))
    return list(tqdm(results, total=count, desc=f'n = {plan.n}, {method}', disable=not progress))


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Condense the outcomes of one method to a row of the table."""
    left = np.array([o.left for o in outcomes])
    domains = outcomes[0].below
    return {
        'method': outcomes[0].method,
        'runs': len(outcomes),
        'unsafe': float(np.mean([o.unsafe > 0 for o in outcomes])),
        'below': float(np.mean([any(o.below.values()) for o in outcomes])),
        'below_domain': {d: float(np.mean([o.below[d] for o in outcomes])) for d in domains},
        'worst': float(np.quantile([o.worst for o in outcomes], 0.05)),
        'left_median': float(np.median(left)),
        'left_mean': float(left.mean()),
        'stuck': float(np.mean([bool(o.stuck) for o in outcomes])),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Write the rows as a Markdown table."""
    lines = [
        '| method | runs | runs with an unsafe evaluation | B below the true norm '
        '(hull / enlarged / box) | least B/norm, 5 % quantile | regret left, median | mean |',
        '|---|---|---|---|---|---|---|']
    for r in rows:
        parts = ' / '.join(f'{r["below_domain"][d]:.3f}' if d in r['below_domain'] else '–'
                           for d in ('hull', 'enlarged', 'box'))
        lines.append(f'| {r["method"]} | {r["runs"]} | {r["unsafe"]:.4f} | {r["below"]:.3f} '
                     f'({parts}) | {r["worst"]:.2f} | {r["left_median"]:.3f} '
                     f'| {r["left_mean"]:.3f} |')
    return '\n'.join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and write table and data."""
    parser = argparse.ArgumentParser(description='Measure the guarantee on random functions.')
    parser.add_argument('--out', type=Path, default=Path('results/guarantee'))
    parser.add_argument('--functions', type=int, default=600)
    parser.add_argument('--samples', type=int, default=25)
    parser.add_argument('--dimensions', type=int, nargs='+', default=[1, 2])
    parser.add_argument('--methods', nargs='+', default=list(METHODS), choices=METHODS)
    parser.add_argument('--centres', type=int, default=TRUTH_CENTRES,
                        help='centres of the true functions (the library always has its own)')
    parser.add_argument('--starts', default='middle', choices=STARTS,
                        help='starts near the median of h, where it is safe, or anywhere')
    parser.add_argument('--blind', action='store_true',
                        help='sample at random: shows the norm bound without the loop around it')
    add_executor_options(parser)
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _measure(options), 'what it has finished is in its folder')


def _measure(options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    with executor_factory(options.workers, options.scheduler)() as executor:
        for n in options.dimensions:
            rows = []
            for method in options.methods:
                plan = Plan(n, options.samples, options.centres, options.starts, options.blind)
                outcomes = study(method, plan, options.functions, executor, True)
                rows.append(summary(outcomes))
                name = method.replace(' ', '').replace(',', '_').replace('=', '')
                (options.out / f'n{n}_{name}.json').write_text(
                    json.dumps({'summary': rows[-1], 'runs': [asdict(o) for o in outcomes]}))
            text = table(rows)
            (options.out / f'n{n}.md').write_text(text + '\n')
            print(f'\nn = {n}, {options.samples} samples after three starts, delta = 0.1\n')
            print(text)


if __name__ == '__main__':
    raise SystemExit(main())
