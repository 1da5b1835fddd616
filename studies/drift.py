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
Measure the test that every told value is: drift at a sample, false alarms without one.

    python -m studies.drift --functions 60           resumable
    python -m studies.drift --functions 0            the report of what the folder holds

Functions, starts and noise are those of `studies.worlds`; before the sample CHANGE the function
turns into another one. `trusting` is the same optimiser without the test.

  change    what becomes of the function
  none      nothing: an alarm is a false one
  sink      everywhere lower by a fifth of its range
  shift     moves by half a length scale along the first parameter
  blend     0.6·h plus 0.8 times another function of the same kind

  symbol    meaning
  unsafe    evaluations after the change of which the true, changed value is below the threshold
  left      regret left as in `studies.band`, where nothing changes

Functions FIRST + i are for reports; the test was made with 6000 to 6059.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import product
import math
from pathlib import Path

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rules.student import StudentRule
from pacsbo_ros.executors import carry_out
from studies import records
from studies.records import Record
from studies.worlds import LENGTH_SCALE, make_world, NOISE, points, SIDE, World

FIRST = 30_000
SAMPLES, CHANGE = 30, 15
CHANGES = ('none', 'sink', 'shift', 'blend')
METHODS = ('tested', 'trusting')


class Trusting(StudentRule):
    """The same rule without its test."""

    alarms = 0.0


def changed(world: World, n: int, change: str, index: int) -> Callable[[Array], Array]:
    """Return the function after the change."""
    if change == 'none':
        return world.h
    H = world.h(points(n))
    if change == 'sink':
        return lambda X: world.h(X) - 0.2 * float(np.ptp(H))
    if change == 'shift':
        step = np.eye(n)[0] * 0.5 * LENGTH_SCALE[n]
        return lambda X: world.h(X + step)
    other = make_world('assumed', n, index + 500_000)
    ratio = float(np.std(H) / np.std(other.h(points(n))))
    return lambda X: 0.6 * world.h(X) + 0.8 * ratio * other.h(X)


def run(key: Record) -> Record:
    """Run one method on one function that changes."""
    n, index = key['n'], key['index']
    world = make_world(key['world'], n, index)
    after = changed(world, n, key['change'], index)
    rng = np.random.default_rng([index, n, 7])
    settings = Settings(
        dimension=n, constraints=0, reward_threshold=world.threshold, noise_bound=NOISE,
        length_scales=world.kernel.length_scales, candidates=SIDE[n] ** n if n in SIDE else 0,
        starts=len(world.starts), budget=SAMPLES)
    rule = StudentRule if key['method'] == 'tested' else Trusting
    optimizer = SafeOptimizer(settings, index % 16, rule=rule)
    best, unsafe, count = -math.inf, 0, 0
    for x in world.starts:
        value = float(world.h(x[None])[0])
        optimizer.tell(x, [max(value + world.noise(x, rng), world.threshold)])
        best, count = max(best, value), count + 1
    gap = max(world.best - best, 1e-12)
    while count < SAMPLES:
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        x = np.array(proposal.point)
        value = float((world.h if count < CHANGE else after)(x[None])[0])
        unsafe += count >= CHANGE and value < world.threshold
        best = max(best, value)
        optimizer.tell(x, [value + world.noise(x, rng)])
        count += 1
    said = [word for word in optimizer.notices if 'not what the model expected' in word]
    return {'unsafe': int(unsafe), 'samples': count, 'alarms': len(said),
            'drift': sum('drift' in word for word in said),
            'left': round(max((world.best - best) / gap, 0.0), 5)}


def report(folder: Path, arguments: Sequence[str] | None) -> str:
    """Write one row per cell that the folder holds."""
    runs = [{**line['key'], **line['result'], 'code': line['code']}
            for path in sorted((folder / 'runs').glob('*.jsonl'))
            for line in records.read_lines(path)]
    names = ('n', 'world', 'change', 'method')
    groups: dict[tuple[str, ...], list[Record]] = {}
    for r in runs:
        groups.setdefault(tuple(r[k] for k in names), []).append(r)
    rows = []
    for key, group in sorted(groups.items()):
        count = len(group)
        rows.append((*key, count, sum(r['unsafe'] for r in group),
                     records.percent(sum(r['unsafe'] > 0 for r in group), count),
                     records.percent(sum(r['alarms'] > 0 for r in group), count),
                     f'{sum(r["drift"] for r in group)} of {sum(r["alarms"] for r in group)}',
                     f'{np.mean([r["samples"] for r in group]):.1f}',
                     f'{np.mean([r["left"] for r in group]):.3f}' if key[2] == 'none' else ''))
    text = records.markdown(
        (*names, 'runs', 'unsafe evaluations after', 'runs with one', 'runs with an alarm',
         'called drift', 'samples', 'left'), rows)
    text += '\n\n' + records.signature(records.provenance('studies.drift', runs, arguments)) + '\n'
    (folder / 'drift.md').write_text(text, encoding='utf-8')
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is missing and write the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.drift',
                                     description='Measure the test of drift and misfit.')
    records.add_options(parser, 'results/drift')
    parser.add_argument('--functions', type=int, default=60, help='functions per cell')
    parser.add_argument('--first', type=int, default=FIRST, help='number of the first function')
    parser.add_argument('--dimensions', type=int, nargs='+', default=[1, 2])
    parser.add_argument('--worlds', nargs='+', default=['assumed'])
    parser.add_argument('--changes', nargs='+', default=list(CHANGES), choices=CHANGES)
    parser.add_argument('--methods', nargs='+', default=list(METHODS), choices=METHODS)
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    (options.out / 'runs').mkdir(parents=True, exist_ok=True)
    with records.open_executor(options) as executor:
        for n, world, change, method in product(
                options.dimensions, options.worlds, options.changes, options.methods):
            cell = {'n': n, 'world': world, 'change': change, 'method': method}
            name = '_'.join(str(v) for v in cell.values()).replace(' ', '')
            wanted = [{**cell, 'index': options.first + i} for i in range(options.functions)]
            if wanted:
                records.collect(run, wanted, options.out / 'runs' / f'{name}.jsonl', executor,
                                name)
    print(report(options.out, arguments))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
