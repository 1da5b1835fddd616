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
Choose how much of delta the posterior of the rule `student` may use: learn, then test.

    python -m studies.calibrate                      resumable; writes the file that is shipped
    python -m studies.calibrate --lengths averaged   the same for length scales that are averaged

A posterior keeps its promise where functions and starts are as assumed. Starts are chosen by their
values, boxes have edges, functions have a hundred centres: so the part `nominal` of what is spent
is used. The values of a ladder are tested in order, the most careful first. For every kind of
start the hypothesis "more than delta of the runs are unsafe" is tested by the binomial
distribution at the level (1 - confidence)/kinds; the first value for which it is not rejected ends
the ladder, and the last one that passed is taken, but never more than `most`: a judgement, because
functions that are rougher than assumed are unsafe more often (`studies.band`), and no part of the
test. Testing in a fixed order and stopping at the first failure needs no further correction, so
with probability `confidence` the share of unsafe runs is at most delta for every kind of start,
over the worlds of this study.

  symbol    meaning
  run       30 samples, function FIRST + i; no report uses these functions
  limit     one-sided upper limit of the share of unsafe runs at the level of one kind
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import cycle, product
import json
from pathlib import Path
from typing import NamedTuple

from pacsbo_ros.core.calibrated import digest
from pacsbo_ros.core.rule import Setup
from pacsbo_ros.core.rules.student import StudentRule
from pacsbo_ros.executors import carry_out
from scipy.stats import beta
from studies import band, records
from studies.records import Record

FIRST = 40_000
DELTA, CONFIDENCE = 0.1, 0.95
WORLDS = ('assumed', 'large', 'smooth')
DIMENSIONS = (1, 2)
SHIPPED = Path('pacsbo_ros/core/calibration')


class Case(NamedTuple):
    """Say what is calibrated."""

    file: str
    ladder: tuple[float, ...]
    most: float  # is shipped at most: rougher functions than those of WORLDS must be safe too
    methods: tuple[tuple[str, float], ...]  # of `band`, and true length scales


CASES = {
    'told': Case('student', (0.03, 0.1), 0.03, (('told', 1.0), ('told, no size', 1.0))),
    'averaged': Case('averaged', (0.05, 0.1), 0.05, (
        ('default', 1.0), ('no size', 1.0),
        *(('auto', truth) for truth in (0.5, 1.0, 2.0, 4.0)))),
}


def run(key: Record) -> Record:
    """Run the rule with one nominal value on one function."""
    def rule(setup: Setup) -> StudentRule:
        made = StudentRule(setup)
        made.nominal = key['nominal']
        return made

    found = band.run({**key, 'draw': 0}, rule)
    return {'unsafe': found['unsafe'], 'left': found['left']}


def limit(unsafe: int, runs: int, level: float) -> float:
    """Return the one-sided upper limit of a share (Clopper and Pearson)."""
    return 1.0 if unsafe == runs else float(beta.ppf(1.0 - level, unsafe + 1, runs - unsafe))


def wanted(case: Case, nominal: float, kind: str, functions: int) -> list[Record]:
    """List the runs of one value and one kind of start, everything else in turn."""
    cells = list(product(case.methods, WORLDS, DIMENSIONS))
    return [{'nominal': nominal, 'starts': kind, 'method': method, 'truth': truth, 'world': world,
             'n': n, 'index': FIRST + i} for i, ((method, truth), world, n) in zip(
                 range(functions), cycle(cells), strict=False)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Climb the ladder and write the calibration."""
    parser = argparse.ArgumentParser(prog='python -m studies.calibrate',
                                     description='Calibrate the rule student.')
    records.add_options(parser, 'results/calibrate')
    parser.add_argument('--functions', type=int, default=288, help='runs per kind of start')
    parser.add_argument('--lengths', choices=list(CASES), default='told', help='length scales')
    parser.add_argument('--ship', type=Path, default=SHIPPED, help='folder to write to')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    level, case = (1.0 - CONFIDENCE) / len(band.STARTS), CASES[options.lengths]
    chosen, starts, tried, runs = 0.0, {}, {}, []
    with records.open_executor(options) as executor:
        for nominal in case.ladder:
            kinds = {}
            for kind in band.STARTS:
                made = records.collect(
                    run, wanted(case, nominal, kind, options.functions),
                    options.out / case.file / f'{nominal}_{kind}.jsonl', executor,
                    f'{nominal} {kind}')
                runs += made
                unsafe = sum(r['unsafe'] > 0 for r in made)
                kinds[kind] = {
                    'runs': len(made), 'unsafe': unsafe,
                    'limit': round(limit(unsafe, len(made), level), 4),
                    'left': round(sum(r['left'] for r in made) / len(made), 4)}
            holds = all(k['limit'] <= DELTA for k in kinds.values())
            tried[f'{nominal:g}'] = {'holds': holds, 'starts': kinds}
            print(f'nominal {nominal:g}: {"holds" if holds else "fails"}: {kinds}')
            if not holds:
                break
            if nominal <= case.most:
                chosen, starts = nominal, kinds
    if not chosen:
        print(f'Nothing holds at {options.functions} runs; the shipped file stays')
        return 1
    data = {'nominal': chosen, 'delta': DELTA, 'confidence': CONFIDENCE,
            'command': f'python -m studies.calibrate --functions {options.functions}' + (
                '' if options.lengths == 'told' else f' --lengths {options.lengths}'),
            'functions': [FIRST, FIRST + options.functions - 1], 'worlds': list(WORLDS),
            'dimensions': list(DIMENSIONS), 'starts': starts, 'tried': tried,
            'made_by': records.provenance('studies.calibrate', runs, arguments)}
    (options.ship / f'{case.file}.json').write_text(
        json.dumps({**data, 'sha256': digest(data)}, indent=1) + '\n', encoding='utf-8')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
