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
Measure a predictor of multipliers: unsafe runs and regret with it, without, and with a constant.

    python -m studies.multiplier --checkpoint docs/predictor/multiplier.json --dimensions 2

A constant that widens the band for everybody is the rival: a predictor has to know when. The
functions are those of `pacsbo_ros.predictor.loops` with the seed SEED, which no training uses; all
methods get the same ones.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
import math
from pathlib import Path

import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.executors import carry_out, UsageError, whole
from pacsbo_ros.predictor import CheckpointError, loops, MultiplierPredictor
from pacsbo_ros.predictor.multiplier import load_multiplier_checkpoint
from studies import records
from studies.records import Record

SEED = 2001
CONSTANT = 1.15
KINDS = ('assumed', 'shorter', 'jump')
METHODS = ('none', 'predictor', 'constant')


class Constant:
    """Widen every band by the same factor."""

    def multiplier(self, history: Array, settings: Settings) -> float:
        """Return the factor."""
        return CONSTANT


@lru_cache
def predictor(path: str) -> MultiplierPredictor:
    """Read the checkpoint once."""
    return load_multiplier_checkpoint(path).predictor


def run(key: Record) -> Record:
    """Run one method on one function."""
    method = key['method']
    asked = None if method == 'none' else (
        Constant() if method == 'constant' else predictor(key['checkpoint']))
    made = loops.run(loops.Plan(key['n'], SEED, key['kind'], varied=False), key['index'], asked)
    return {'unsafe': int(made.unsafe[0]), 'left': round(float(made.left[0]), 5)}


def report(found: list[Record]) -> str:
    """Write one row per number of parameters, kind and method."""
    rows = []
    for n, kind, method in dict.fromkeys((r['n'], r['kind'], r['method']) for r in found):
        group = {r['index']: r for r in found
                 if (r['n'], r['kind'], r['method']) == (n, kind, method)}
        plain = {r['index']: r for r in found
                 if (r['n'], r['kind'], r['method']) == (n, kind, 'none')}
        more = np.array([group[i]['left'] - plain[i]['left'] for i in group])
        avoided = sum(plain[i]['unsafe'] > 0 and not group[i]['unsafe'] for i in group)
        caused = sum(group[i]['unsafe'] > 0 and not plain[i]['unsafe'] for i in group)
        rows.append((n, kind, method, len(group),
                     records.percent(sum(r['unsafe'] > 0 for r in group.values()), len(group)),
                     avoided, caused, f'{np.mean([r["left"] for r in group.values()]):.3f}',
                     f'{more.mean():+.3f} ± {1.96 * more.std() / math.sqrt(len(more)):.3f}'))
    return records.markdown(
        ('n', 'functions', 'multiplier', 'runs', 'unsafe runs', 'avoided', 'caused',
         'regret left', 'more than none'), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is missing and print the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.multiplier',
                                     description='Measure a predictor of multipliers.')
    records.add_options(parser, 'results/multiplier')
    parser.add_argument('--checkpoint', required=True, help='file of train_multiplier')
    parser.add_argument('--dimensions', type=int, nargs='+', default=[1, 2, 3, 4],
                        choices=loops.LENGTH_SCALE)
    parser.add_argument('--functions', type=whole(1), default=60, help='functions of each kind')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    try:
        eta = predictor(options.checkpoint)
    except CheckpointError as error:
        raise UsageError(str(error)) from error
    wanted = [{'n': n, 'kind': kind, 'method': method, 'index': i,
               **({'checkpoint': options.checkpoint, 'hash': eta.hash}
                  if method == 'predictor' else {})}
              for i, n, kind, method in product(
                  range(options.functions), options.dimensions, KINDS, METHODS)]
    path = Path(options.out) / 'runs.jsonl'
    with records.open_executor(options) as executor:
        found = records.collect(run, wanted, path, executor, 'runs')
    print(report(found))
    print(records.signature(records.provenance('studies.multiplier', found, arguments)))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
