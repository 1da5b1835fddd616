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
Measure safety and progress of every method, also where the assumptions do not hold.

    python -m studies.safety --quick                 three minutes
    python -m studies.safety --functions 1000        the study, resumable

A cell is a world (see `worlds`), a number of parameters n and a method. Every method sees the same
functions, starts and noise. Runs that the folder already holds are not made again, so the study
can be made in pieces, by several commands, or on a cluster (--scheduler); the report is about all
that the folder holds (--functions 0 makes nothing but the report).

  symbol     meaning
  violation  an evaluation of which the true value is below the threshold, in a run
  below      B more than 1 % below the true norm on some domain, at some time of a run
  left(N)    (reachable - best of N samples)/(reachable - best start): 0 the optimum, 1 the start
  reachable  highest value that safe points connect with a start (`reachable`): what is beyond a
             gap of unsafe points is nobody's regret
  draw       every function is run with several libraries and noises, each draw with its own
  explored   share of the truly safe points that the optimiser calls safe at the end
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import lru_cache
from itertools import product
import math
from pathlib import Path
import time
from typing import Any

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.local_norms import LocalNorms, RESOLUTION, TrueNorms
from pacsbo_ros.core.rules import COMPLETE
from pacsbo_ros.executors import carry_out
from pacsbo_ros.predictor import load_predictor
from studies import records
from studies.baselines import (
    CONSTANT_BETA,
    constant_beta,
    random_search,
)
from studies.reachable import reachable_best
from studies.records import Record
from studies.safety_figures import draw_bounds, draw_worlds, Results
from studies.worlds import HOLDS, make_world, NOISE, points, SIDE, World, WORLDS

DELTA = 0.1
SAMPLES = 30  # of a run, its three starts among them
EARLY = 12
LIBRARIES = 16  # seeds of the optimiser: not one library decides all runs
ASSUMED = 'assumed'  # the world in which every variant of ours is run
DEFAULT, NORM, ORACLE, RANDOM = 'student', 'scale_free', 'oracle', 'random search'
PREDICTOR, GLOBAL = '+ predictor', 'global'
DRAWING = ('scenario', 'hoeffding', 'bernstein')  # draw at every step: many times slower
VARIANTS = tuple(
    f'{bound}{local}{eta}' for bound in COMPLETE for local in ('', f' {GLOBAL}')
    for eta in ('', f' {PREDICTOR}'))
BASELINES = ('SafeOpt, B = norm/5', 'SafeOpt, B = norm', 'SafeOpt, B = 5 norm',
             'SafeOpt, B = 10', f'SafeOpt, β = {CONSTANT_BETA:g}', ORACLE, RANDOM)
METHODS = (DEFAULT, *VARIANTS, *BASELINES)
# What is run outside of the first world: one rival of each kind, not every variant of ours.
MAIN = (DEFAULT, NORM, f'{NORM} {PREDICTOR}', 'mean', 'SafeOpt, B = norm', 'SafeOpt, B = 10',
        f'SafeOpt, β = {CONSTANT_BETA:g}', ORACLE)
QUICK = {'functions': 12, 'draws': 1, 'dimensions': [1, 2], 'worlds': [ASSUMED, 'jump'],
         'methods': [DEFAULT, NORM, 'mean', *BASELINES]}


def make_optimizer(method: str, world: World, truth: LocalNorms, n: int,
                   seed: int) -> SafeOptimizer:
    """Make the optimiser of one cell."""
    settings = Settings(
        rule=NORM, dimension=n, constraints=0, reward_threshold=world.threshold,
        noise_bound=NOISE, length_scales=world.kernel.length_scales, delta=DELTA,
        candidates=SIDE[n] ** n if n in SIDE else 0, starts=len(world.starts), budget=SAMPLES)
    if method == RANDOM:
        return SafeOptimizer(settings.with_norm(1.0), seed, choice=random_search)
    if method == ORACLE:
        return SafeOptimizer(settings, seed, rule=TrueNorms.of(truth))
    if method.startswith('SafeOpt'):
        choice = method.removeprefix('SafeOpt, ')
        if choice.startswith('β'):
            return SafeOptimizer(constant_beta(settings).with_norm(CONSTANT_BETA), seed)
        B = {'B = norm/5': world.norm / 5, 'B = norm': world.norm, 'B = 5 norm': 5 * world.norm,
             'B = 10': 10.0}[choice]
        return SafeOptimizer(settings.with_norm(B), seed)
    bound = method.split()[0]
    settings = settings.replace(
        rule=bound, domains=('box',) if GLOBAL in method else settings.domains)
    predictor = load_predictor('default', settings) if PREDICTOR in method else None
    return SafeOptimizer(settings, seed, predictor)


def run(key: Record) -> Record:
    """Run one method on one function."""
    n, index = key['n'], key['index']
    world = make_world(key['world'], n, index)
    draw = key['draw']
    rng = np.random.default_rng([index, n, 7, draw])
    truth = LocalNorms(world.h, world.norm, np.random.default_rng([index, n, 8]))
    optimizer = make_optimizer(key['method'], world, truth, n, (index + 5 * draw) % LIBRARIES)
    # A local norm exists where the function is in the model's space.
    judged = key['world'] in HOLDS and key['method'] not in (RANDOM, ORACLE)
    best, left, unsafe, below, stuck = -math.inf, [], 0, False, ''
    for x in world.starts:
        value = float(world.h(x[None])[0])
        # A start is safe by assumption: noise may not contradict it.
        optimizer.tell(x, [max(value + world.noise(x, rng), world.threshold)])
        best = max(best, value)
        left.append(1.0)
    goal = _reachable(key['world'], n, index)
    gap, seconds = max(goal - best, 1e-12), 0.0
    while len(left) < SAMPLES:
        begun = time.process_time()
        proposal = optimizer.ask()
        seconds += time.process_time() - begun
        if isinstance(proposal, NothingToPropose):
            stuck = proposal.code
            break
        below = below or (judged and _too_small(optimizer, truth))
        x = np.array(proposal.point)
        value = float(world.h(x[None])[0])
        unsafe += value < world.threshold
        best = max(best, value)
        left.append(max((goal - best) / gap, 0.0) if goal > best else 0.0)
        optimizer.tell(x, [value + world.noise(x, rng)])
    steps = max(len(left) - len(world.starts), 1)
    left += left[-1:] * (SAMPLES - len(left))
    X = points(n)
    safe = world.h(X) >= world.threshold
    return {'unsafe': int(unsafe), 'below': bool(below), 'left_early': round(left[EARLY - 1], 5),
            'left': round(left[-1], 5), 'explored': round(float(np.mean(
                optimizer.safe(X[safe]))), 5), 'norm': round(world.norm, 4), 'stuck': stuck,
            'ms': round(1e3 * seconds / steps, 3)}


@lru_cache(maxsize=4096)
def _reachable(name: str, n: int, index: int) -> float:
    """Return the best value that anyone who stays safe could reach."""
    world, X = make_world(name, n, index), points(n)
    return reachable_best(X, world.h(X), world.threshold, world.starts, world.h(world.starts),
                          SIDE.get(n))


def _too_small(optimizer: SafeOptimizer, truth: LocalNorms) -> bool:
    """Tell whether some B is below the true norm."""
    true = truth.on(optimizer.hull)
    return any(RESOLUTION * true[e.domain] > e.B for e in optimizer.state().norms)


def summary(group: Sequence[Record], oracle: Sequence[Record], reference: Sequence[Record],
            ) -> Record:
    """Condense the runs of one cell; oracle and reference are paired by index."""
    left = np.array([r['left'] for r in group])
    known = {(r['index'], r['draw']): r['left'] for r in oracle}
    both = [(r['left'], known[r['index'], r['draw']]) for r in group
            if (r['index'], r['draw']) in known]
    ratio = math.nan
    if both:
        mine, best = np.mean(both, axis=0)
        ratio = float(mine / max(best, 1e-9))
    default = {(r['index'], r['draw']): r['left'] for r in reference}
    paired = np.array([r['left'] - default[r['index'], r['draw']] for r in group
                       if (r['index'], r['draw']) in default])
    spread = 1.96 * paired.std(ddof=1) / math.sqrt(len(paired)) if len(paired) > 1 else math.nan
    return {
        'runs': len(group), 'functions': len({r['index'] for r in group}),
        'unsafe': sum(r['unsafe'] > 0 for r in group),
        'functions_unsafe': len({r['index'] for r in group if r['unsafe']}),
        'below': sum(r['below'] for r in group),
        'left_early_mean': float(np.mean([r['left_early'] for r in group])),
        'left_median': float(np.median(left)), 'left_mean': float(left.mean()),
        'over_oracle': ratio, 'paired': float(paired.mean()) if len(paired) else math.nan,
        'paired_spread': spread, 'explored': float(np.mean([r['explored'] for r in group])),
        'stuck': sum(bool(r['stuck']) for r in group),
        'ms': float(np.median([r['ms'] for r in group]))}


def table(cells: dict[str, Record], world: str) -> str:
    """Write one row per method."""
    rows = []
    for method, c in cells.items():
        holds = world in HOLDS
        own = holds and method not in (RANDOM, ORACLE)
        rows.append((
            method, c['runs'], records.percent(c['unsafe'], c['runs']),
            records.percent(c['functions_unsafe'], c['functions']),
            records.percent(c['below'], c['runs']) if own else '–',
            f'{c["left_early_mean"]:.2f}', f'{c["left_mean"]:.2f}', f'{c["left_median"]:.2f}',
            f'{c["over_oracle"]:.2f}' if holds and math.isfinite(c['over_oracle']) else '–',
            '–' if method == DEFAULT or not math.isfinite(c['paired_spread']) else
            f'{c["paired"]:+.2f} ± {c["paired_spread"]:.2f}',
            '–' if method == RANDOM else f'{c["explored"]:.0%}',
            f'{c["stuck"] / c["runs"]:.0%}', f'{c["ms"]:.1f}'))
    return records.markdown(
        ('method', 'runs', 'runs with a violation', 'functions with one',
         'runs with B below the norm',
         f'regret left at {EARLY}, mean', f'at {SAMPLES}, mean', f'at {SAMPLES}, median',
         'mean over oracle', f'paired with {DEFAULT}', 'explored', 'stuck', 'ms a step'), rows)


def verdict(results: Results) -> list[str]:
    """Name the cells in which the guarantee of the default method is refuted by the data."""
    return [f'{world}, n = {n}: {c["unsafe"]} of {c["runs"]} runs had a violation'
            for (world, n), cells in results.items() if world in HOLDS
            for method, c in cells.items() if method == DEFAULT
            and records.share_interval(c['unsafe'], c['runs'])[0] > DELTA]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing of the study, write tables, data and picture."""
    parser = argparse.ArgumentParser(prog='python -m studies.safety',
                                     description='Measure safety and progress.')
    records.add_options(parser, 'results/safety')
    parser.add_argument('--quick', action='store_true', help='a small part, for every day')
    parser.add_argument('--functions', type=int, default=1000, help='functions per cell')
    parser.add_argument('--draws', type=int, default=4,
                        help='libraries and noises with which each function is run')
    parser.add_argument('--functions-drawing', type=int, default=1000,
                        help='functions per cell of the bounds that draw at every step')
    parser.add_argument('--dimensions', type=int, nargs='+', default=[1, 2, 4])
    parser.add_argument('--worlds', nargs='+', default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument('--methods', nargs='+', choices=METHODS, metavar='METHOD',
                        help='default: all in the first world, the main ones elsewhere; '
                        f'there are: {"; ".join(METHODS)}')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    if options.quick:
        vars(options).update(QUICK, out=options.out / 'quick')
    with records.open_executor(options) as executor:
        for n, world in product(options.dimensions, options.worlds):
            for method in options.methods or (METHODS if world == ASSUMED else MAIN):
                if method != ORACLE or world in HOLDS:  # else there is no norm to know
                    _make_cell(world, n, method, options, executor)
    runs = _read(options.out / 'runs')
    results = summaries(runs)
    report(results, records.provenance('studies.safety', runs, arguments),
           options.out)
    refuted = verdict(results)
    for line in refuted:
        print(f'The guarantee does not hold: {line}')
    return int(bool(refuted))


def _make_cell(world: str, n: int, method: str, options: argparse.Namespace,
               executor: Executor | None) -> None:
    count = options.functions
    if method.split()[0] in DRAWING:
        count = min(count, options.functions_drawing)
    name = f'{world}_n{n}_{method}'.replace(' ', '').replace('/', '_')
    wanted = [{'world': world, 'n': n, 'method': method, 'index': i, 'draw': d}
              for i in range(count) for d in range(options.draws)]
    if wanted:
        records.collect(run, wanted, options.out / 'runs' / f'{name}.jsonl', executor,
                        f'{world}, n = {n}, {method}')


def _read(folder: Path) -> list[Record]:
    lines = [line for path in sorted(folder.glob('*.jsonl')) for line in records.read_lines(path)]
    return [{**line['key'], **line['result'], 'code': line['code']} for line in lines]


def summaries(runs: Sequence[Record]) -> Results:
    """Condense all runs, in the order of worlds, dimensions and methods."""
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for r in runs:
        groups.setdefault((r['world'], r['n'], r['method']), []).append(r)
    results: Results = {}
    for n, world, method in product(sorted({r['n'] for r in runs}), WORLDS, METHODS):
        group = groups.get((world, n, method))
        if group:
            results.setdefault((world, n), {})[method] = summary(
                group, groups.get((world, n, ORACLE), []), groups.get((world, n, DEFAULT), []))
    return results


def report(results: Results, origin: dict[str, Any], out: Path) -> None:
    """Write and print the tables, write data and pictures."""
    text = []
    for (world, n), cells in results.items():
        text += [f'### {world}, n = {n}: {WORLDS[world]}', '', table(cells, world), '']
    text.append(records.signature(origin))
    (out / 'safety.md').write_text('\n'.join(text) + '\n', encoding='utf-8')
    records.save(out / 'safety.json', {'made_by': origin, 'cells': [
        {'world': world, 'n': n, 'method': method, **c}
        for (world, n), cells in results.items() for method, c in cells.items()]})
    draw_worlds(results, (*MAIN[:3], *BASELINES), MAIN[:3], SAMPLES, DELTA, out)
    assumed = {n: cells for (world, n), cells in results.items() if world == ASSUMED}
    if assumed:
        draw_bounds(assumed, COMPLETE, SAMPLES, out)
    print('\n'.join(text))


if __name__ == '__main__':
    raise SystemExit(main())
