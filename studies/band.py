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
Measure the Student-t band with the goal choice: safety, regret, wrong length scales, other starts.

    python -m studies.band --functions 200          all cells, resumable
    python -m studies.band --functions 0            the report of what the folder holds

  symbol     meaning
  unsafe     runs in which the true value of an evaluation was below the threshold
  left(N)    (best - best of N samples)/(best - best start): 0 is the optimum, 1 the start
  reachable  the same with the best that safe points connect with a start (`reachable`)
  corridors  the part of that which a method misses that keeps MARGIN·R above the threshold:
             what lies behind corridors that noise closes
  truth      true length scale in units of the one that the optimiser is told
  prior      `scale_prior` in units of the standard deviation of the function over the box
  unsafe_at  the first unsafe sample; blind if it was also the first beyond the jump

Functions FIRST + i are for reports; rule and choice were made with 5000 to 5119, 20 000 to 20 099
were looked at on the way, 40 000 and up are the calibration's, and with 80 000 to 80 199
the expected size was chosen (`--first`). Function, noise and the
optimiser's seed are drawn anew for every run, so an interval is about all three. With `--draws` a
function is run with several noises and seeds, and the intervals count functions, not runs.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
import math
from pathlib import Path
import time
from typing import Any

import numpy as np
from pacsbo_ros.core import Kernel, NothingToPropose, random_function, SafeOptimizer, Settings
from pacsbo_ros.core.rule import RuleMaker
from pacsbo_ros.core.settings import FACTORS
from pacsbo_ros.executors import carry_out
from studies import records
from studies.reachable import reachable_best
from studies.records import Record
from studies.worlds import make_world, NOISE, points, SIDE, World, WORLDS

FIRST = 60_000
SAMPLES, EARLY = 30, 12
MARKS = (4, 5, 6, 8, 10, 12, 15, 20, 25, 30)  # samples at which regret is noted
PAPER = "paper's kind"
METHODS: dict[str, dict[str, Any]] = {
    'default': {},
    'auto': {'length_scale_factors': FACTORS},
    'told': {'length_scale_factors': (1.0,)},
    'no size': {'scale_prior': 0.0},
    'size 1': {'scale_prior': 1.0},
    'size 3': {'scale_prior': 3.0},
    'told, no size': {'length_scale_factors': (1.0,), 'scale_prior': 0.0},
    'step 0.3': {'step': 0.3},
    'step 0.1': {'step': 0.1},
    'scale_free': {'rule': 'scale_free'},
    'scale_free, goal': {'rule': 'scale_free', 'choice': 'goal'},
    'paper': {'rule': 'hoeffding', 'caution': 1.0},
    'prior 0.5': {'scale_prior': 0.5},
    'prior 1': {'scale_prior': 1.0},
    'prior 2': {'scale_prior': 2.0},
}
MARGIN = 3.0
STARTS = ('three', 'one', 'edge', 'many')
MANY = 8


def paper_world(index: int) -> World:
    """Draw a function of the paper's figures."""
    rng = np.random.default_rng([index, 99])
    kernel, X = Kernel('matern32', (0.1,)), points(1)
    h = random_function(kernel, 1000, rng, 2.0)
    H = h(X)
    threshold, low, high = np.quantile(H, [0.3, 0.4, 0.5])
    at = rng.choice(np.flatnonzero((low <= H) & (high >= H)), size=3, replace=False)
    return replace(make_world('assumed', 1, index), kernel=kernel, h=h, norm=2.0,
                   threshold=float(threshold), starts=X[at], best=float(H.max()))


def starts_of(world: World, n: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Choose the starts: as in the study, the first of them, at the edge of safety, or many."""
    if kind == 'three':
        return world.starts
    if kind == 'one':
        return world.starts[:1]
    X = points(n)
    H = world.h(X)
    high = np.quantile(H, 0.33) if kind == 'edge' else np.inf
    where = np.flatnonzero((world.threshold <= H) & (high >= H))
    return X[rng.choice(where, size=3 if kind == 'edge' else MANY, replace=False)]


def run(key: Record, rule: RuleMaker | None = None) -> Record:
    """Run one method on one function, or another rule than the method's."""
    n, index, draw = key['n'], key['index'], key['draw']
    world = paper_world(index) if key['world'] == PAPER else make_world(key['world'], n, index)
    rng = np.random.default_rng([index, n, 7, draw])
    starts = starts_of(world, n, key['starts'], np.random.default_rng([index, n, 9]))
    changes = dict(METHODS[key['method']])
    if key['method'].startswith('prior'):
        changes['scale_prior'] *= float(np.std(world.h(points(n))))
    settings = Settings(
        dimension=n, constraints=0, reward_threshold=world.threshold, noise_bound=NOISE,
        length_scales=tuple(s / key['truth'] for s in world.kernel.length_scales),
        candidates=SIDE[n] ** n if n in SIDE else 0, starts=len(starts), budget=SAMPLES,
        **changes)
    optimizer = SafeOptimizer(settings, int(rng.integers(1 << 31)), rule=rule)
    found, unsafe, seconds, ended = [], 0, 0.0, ''
    beyond, unsafe_at, blind = False, 0, False
    for x in starts:
        beyond |= _beyond(world, x)
        found.append(float(world.h(x[None])[0]))
        # A start is safe by assumption: noise may not contradict it.
        optimizer.tell(x, [max(found[-1] + world.noise(x, rng), world.threshold)])
    while len(found) < SAMPLES:
        begun = time.process_time()
        proposal = optimizer.ask()
        seconds += time.process_time() - begun
        if isinstance(proposal, NothingToPropose):
            ended = proposal.code
            break
        x = np.array(proposal.point)
        found.append(float(world.h(x[None])[0]))
        unsafe += found[-1] < world.threshold
        if unsafe == 1 and not unsafe_at:
            unsafe_at, blind = len(found), not beyond and _beyond(world, x)
        beyond |= _beyond(world, x)
        measured = found[-1] + world.noise(x, rng)
        begun = time.process_time()
        optimizer.tell(x, [measured])
        seconds += time.process_time() - begun
    start = max(found[:len(starts)])
    reach, clear = (_reachable(world, n, starts, found[:len(starts)], m) for m in (0.0, MARGIN))
    steps = max(len(found) - len(starts), 1)
    return {'unsafe': int(unsafe), 'unsafe_at': unsafe_at, 'blind': bool(blind),
            'left_at': {str(m): left(world.best, found[:m], start) for m in MARKS},
            'left_early': left(world.best, found[:EARLY], start),
            'left': left(world.best, found, start), 'reachable': left(reach, found, start),
            'corridors': left(reach, [clear], start), 'ended': ended,
            'ms': round(1e3 * seconds / steps, 3)}


def _beyond(world: World, x: np.ndarray) -> bool:
    """Tell whether a point lies on the low side of the jump; False where nothing jumps."""
    words = getattr(world.h, 'keywords', {})
    return 'anchor' in words and bool((x - words['anchor']) @ words['normal'] > 0)


def left(top: float, found: Sequence[float], start: float) -> float:
    """Return the share of the start's regret that is left."""
    return round(max(top - max(found), 0.0) / max(top - start, 1e-12), 5)


def _reachable(world: World, n: int, starts: np.ndarray, values: Sequence[float],
               margin: float) -> float:
    X = points(n)
    return reachable_best(X, world.h(X), world.threshold + margin * NOISE, starts,
                          np.array(values), SIDE.get(n))


def cells(options: argparse.Namespace) -> list[Record]:
    """List the cells: worlds as they are, then length scales, then starts, then the paper's."""
    found = [{'world': w, 'n': n, 'method': m, 'starts': 'three', 'truth': 1.0}
             for n, w, m in product(options.dimensions, options.worlds, options.methods)
             if w != PAPER]
    if options.lengths:
        found += [{'world': 'assumed', 'n': n, 'method': m, 'starts': 'three', 'truth': t}
                  for n, t in product((1, 2), (0.5, 1.0, 2.0, 4.0))
                  for m in options.methods]
    if options.starts:
        found += [{'world': w, 'n': n, 'method': m, 'starts': k, 'truth': 1.0}
                  for n, w, k, m in product((1, 2), options.worlds, STARTS[1:], options.methods)
                  if w != PAPER]
    if PAPER in options.worlds:
        found += [{'world': PAPER, 'n': 1, 'method': m, 'starts': 'three', 'truth': 1.0}
                  for m in options.methods]
    return list({tuple(c.values()): c for c in found}.values())


def report(folder: Path, arguments: Sequence[str] | None) -> str:
    """Write one row per cell that the folder holds."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    runs = []
    for path in sorted((folder / 'runs').glob('*.jsonl')):
        for line in records.read_lines(path):
            runs.append({**line['key'], **line['result'], 'code': line['code']})
    names = ('n', 'world', 'method', 'starts', 'truth')
    for r in runs:
        groups.setdefault(tuple(r[k] for k in names), []).append(r)
    order = [*WORLDS, PAPER]
    rows = []
    for key, group in sorted(groups.items(), key=lambda item: (
            item[0][0], order.index(item[0][1]), *map(str, item[0][2:]))):
        functions = len({r['index'] for r in group})
        share = sum(r['unsafe'] > 0 for r in group) / len(group)
        mean = {k: np.mean([r[k] for r in group])
                for k in ('left_early', 'reachable', 'corridors')}
        each = np.array([r['left'] for r in group])
        rows.append((*key, functions, len(group),
                     records.percent(math.ceil(share * functions - 1e-9), functions),
                     f'{mean["left_early"]:.2f}', f'{each.mean():.3f}',
                     f'± {1.96 * each.std() / math.sqrt(functions):.3f}',
                     f'{mean["reachable"]:.3f}', f'{mean["corridors"]:.3f}',
                     f'{np.mean([bool(r["ended"]) for r in group]):.0%}',
                     f'{np.median([r["ms"] for r in group]):.1f}'))
    text = records.markdown(
        (*names, 'functions', 'runs', 'unsafe runs', f'left at {EARLY}', f'left at {SAMPLES}',
         'error', 'reachable', 'corridors', 'ended early', 'ms a step'), rows)
    text += '\n\n' + records.signature(records.provenance('studies.band', runs, arguments)) + '\n'
    (folder / 'band.md').write_text(text, encoding='utf-8')
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is missing and write the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.band',
                                     description='Measure the Student-t band.')
    records.add_options(parser, 'results/band')
    parser.add_argument('--functions', type=int, default=200, help='functions per cell')
    parser.add_argument('--first', type=int, default=FIRST, help='number of the first function')
    parser.add_argument('--draws', type=int, default=1, help='noises and seeds per function')
    parser.add_argument('--dimensions', type=int, nargs='+', default=[1, 2, 4])
    parser.add_argument('--worlds', nargs='+', default=[*WORLDS, PAPER],
                        choices=[*WORLDS, PAPER])
    parser.add_argument('--methods', nargs='+', default=['default'], choices=list(METHODS))
    parser.add_argument('--lengths', action='store_true', help='wrong length scales too')
    parser.add_argument('--starts', action='store_true', help='other starts too')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    with records.open_executor(options) as executor:
        for cell in cells(options) if options.functions else ():
            name = '_'.join(str(v) for v in cell.values()).replace(' ', '').replace("'", '')
            wanted = [{**cell, 'index': options.first + i, 'draw': d}
                      for d, i in product(range(options.draws), range(options.functions))]
            records.collect(run, wanted, options.out / 'runs' / f'{name}.jsonl', executor, name)
    print(report(options.out, arguments))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
