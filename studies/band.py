# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Measure the Student-t band with the goal choice: safety, regret, wrong length scales, other starts.

    python -m studies.band --functions 200          all cells, resumable
    python -m studies.band --functions 0            the report of what the folder holds

  symbol     meaning
  unsafe     runs in which the true value of an evaluation was below the threshold
  left(N)    (best - best of N samples)/(best - best start): 0 is the optimum, 1 the start; for
             functions of the paper's kind `best` is the best that is connected with a start
  truth      true length scale in units of the one that the optimiser is told

Functions FIRST + i are for reports; rule and choice were made with 5000 to 5119 only, which no
report uses.
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
from pacsbo_ros.executors import carry_out
from studies import records
from studies.records import Record
from studies.worlds import make_world, NOISE, points, SIDE, World, WORLDS

FIRST = 20_000
SAMPLES, EARLY = 30, 12
PAPER = "paper's kind"
METHODS: dict[str, dict[str, Any]] = {
    'default': {},
    'averaged': {'length_scale_factors': (0.25, 0.5, 1.0, 2.0, 4.0)},
    'step 0.3': {'step': 0.3},
    'scale_free': {'rule': 'scale_free'},
    'scale_free, goal': {'rule': 'scale_free', 'choice': 'goal'},
}
STARTS = ('three', 'one', 'edge', 'many')
MANY = 8


def paper_world(index: int) -> tuple[World, float]:
    """Draw a function of the paper's figures, and the best that its starts can reach."""
    rng = np.random.default_rng([index, 99])
    kernel, X = Kernel('matern32', (0.1,)), points(1)
    h = random_function(kernel, 1000, rng, 2.0)
    H = h(X)
    threshold, low, high = np.quantile(H, [0.3, 0.4, 0.5])
    at = rng.choice(np.flatnonzero((low <= H) & (high >= H)), size=3, replace=False)
    safe = threshold <= H
    part = np.cumsum(np.r_[0, np.diff(safe.astype(int)) != 0])
    reach = float(H[safe & np.isin(part, part[at])].max())
    plain = make_world('assumed', 1, index)
    return replace(plain, kernel=kernel, h=h, norm=2.0, threshold=float(threshold),
                   starts=X[at], best=reach), reach


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
    n, index = key['n'], key['index']
    world = paper_world(index)[0] if key['world'] == PAPER else make_world(key['world'], n, index)
    rng = np.random.default_rng([index, n, 7])
    starts = starts_of(world, n, key['starts'], np.random.default_rng([index, n, 9]))
    settings = Settings(
        dimension=n, constraints=0, reward_threshold=world.threshold, noise_bound=NOISE,
        length_scales=tuple(s / key['truth'] for s in world.kernel.length_scales),
        candidates=SIDE[n] ** n if n in SIDE else 0, starts=len(starts), budget=SAMPLES,
        **METHODS[key['method']])
    optimizer = SafeOptimizer(settings, index % 16, rule=rule)
    best, left, unsafe, seconds, ended = -math.inf, [], 0, 0.0, ''
    for x in starts:
        value = float(world.h(x[None])[0])
        # A start is safe by assumption: noise may not contradict it.
        optimizer.tell(x, [max(value + world.noise(x, rng), world.threshold)])
        best = max(best, value)
        left.append(1.0)
    gap = max(world.best - best, 1e-12)
    while len(left) < SAMPLES:
        begun = time.process_time()
        proposal = optimizer.ask()
        seconds += time.process_time() - begun
        if isinstance(proposal, NothingToPropose):
            ended = proposal.code
            break
        x = np.array(proposal.point)
        value = float(world.h(x[None])[0])
        unsafe += value < world.threshold
        best = max(best, value)
        left.append(max((world.best - best) / gap, 0.0))
        measured = value + world.noise(x, rng)
        begun = time.process_time()
        optimizer.tell(x, [measured])
        seconds += time.process_time() - begun
    steps = max(len(left) - len(starts), 1)
    left += left[-1:] * (SAMPLES - len(left))
    return {'unsafe': int(unsafe), 'left_early': round(left[EARLY - 1], 5),
            'left': round(left[-1], 5), 'ended': ended, 'ms': round(1e3 * seconds / steps, 3)}


def cells(options: argparse.Namespace) -> list[Record]:
    """List the cells: worlds as they are, then length scales, then starts, then the paper's."""
    found = [{'world': w, 'n': n, 'method': m, 'starts': 'three', 'truth': 1.0}
             for n, w, m in product(options.dimensions, options.worlds, options.methods)
             if w != PAPER]
    if options.lengths:
        found += [{'world': 'assumed', 'n': n, 'method': m, 'starts': 'three', 'truth': t}
                  for n, t in product((1, 2), (0.5, 1.0, 2.0, 4.0))
                  for m in ('default', 'averaged')]
    if options.starts:
        found += [{'world': 'assumed', 'n': n, 'method': 'default', 'starts': k, 'truth': 1.0}
                  for n, k in product((1, 2), STARTS[1:])]
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
        left = np.array([r['left'] for r in group])
        rows.append((*key, len(group),
                     records.percent(sum(r['unsafe'] > 0 for r in group), len(group)),
                     f'{np.mean([r["left_early"] for r in group]):.2f}', f'{left.mean():.3f}',
                     f'± {1.96 * left.std() / math.sqrt(len(left)):.3f}',
                     f'{np.mean([bool(r["ended"]) for r in group]):.0%}',
                     f'{np.median([r["ms"] for r in group]):.1f}'))
    text = records.markdown(
        (*names, 'runs', 'unsafe runs', f'left at {EARLY}', f'left at {SAMPLES}', 'error',
         'ended early', 'ms a step'), rows)
    text += '\n\n' + records.signature(records.provenance('studies.band', runs, arguments)) + '\n'
    (folder / 'band.md').write_text(text, encoding='utf-8')
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is missing and write the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.band',
                                     description='Measure the Student-t band.')
    records.add_options(parser, 'results/band')
    parser.add_argument('--functions', type=int, default=200, help='functions per cell')
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
            wanted = [{**cell, 'index': FIRST + i} for i in range(options.functions)]
            records.collect(run, wanted, options.out / 'runs' / f'{name}.jsonl', executor, name)
    print(report(options.out, arguments))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
