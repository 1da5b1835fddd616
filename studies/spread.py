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
Compare the noise that an episode tells of its own values with the spread of repeats.

    python -m studies.spread

Random gains of the box that are safe at first sight, REPEATS episodes each on every plant. A ratio
is the standard deviation of the repeats over the root mean square of what they told; below 1 the
episodes are too modest, above 1 too sure. Shown are the root mean square and the 90 % quantile of
the ratios, by the median of the smallest margin.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from pacsbo_ros.executors import carry_out
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS
from studies import records
from studies.family import BOUNDS, PLANTS, simulate, TUNED
from studies.pendulum import read_config
from studies.records import Record

REPEATS = 8
MARGINS = (-np.inf, 0.1, 0.25, 0.5, np.inf)


def repeats(key: Record) -> Record:
    """Repeat safe gains of one plant; return margins and ratios of those that were never lost."""
    bench, names, plant = read_config(), TUNED[2], PLANTS[key['plant']]
    lower, upper = np.array([BOUNDS[name] for name in names]).T
    gains = np.random.default_rng(key['seed']).uniform(lower, upper, (5 * key['gains'], 2))
    first = simulate(bench, plant, names, gains, range(len(gains)))
    gains = gains[first.values[:, 1:].min(axis=1) > 0][:key['gains']]
    seen = simulate(bench, plant, names, np.repeat(gains, REPEATS, axis=0),
                    [10_000 + i for i in range(REPEATS)] * len(gains))
    values, noise = (a.reshape(len(gains), REPEATS, -1) for a in (seen.values, seen.noise))
    whole = (seen.outcome == Outcome.COMPLETED).reshape(-1, REPEATS).all(axis=1)
    ratio = values.std(axis=1, ddof=1) / np.sqrt((noise ** 2).mean(axis=1))
    margin = np.median(values[:, :, 1:].min(axis=2), axis=1)
    return {'margin': margin[whole].tolist(), 'ratio': ratio[whole].tolist()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Repeat the gains of every plant, then print and write the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.spread', description='Compare told '
                                     'noise with the spread of repeats.')
    records.add_options(parser, 'results/spread')
    parser.add_argument('--plants', nargs='+', default=list(PLANTS), choices=PLANTS,
                        metavar='PLANT', help=f'some of {", ".join(PLANTS)}')
    parser.add_argument('--gains', type=int, default=22, help='per plant')
    parser.add_argument('--seed', type=int, default=1, help='of the gains')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> None:
    wanted = [{'plant': plant, 'gains': options.gains, 'seed': options.seed}
              for plant in options.plants]
    with records.open_executor(options) as executor:
        found = records.collect(repeats, wanted, options.out / 'plants.jsonl', executor, 'spread')
    margin = np.concatenate([f['margin'] for f in found])
    ratio = np.concatenate([np.array(f['ratio']).reshape(-1, 1 + len(CONSTRAINTS))
                            for f in found])
    rows = []
    for low, high in pairwise(MARGINS):
        here = ratio[(margin >= low) & (margin < high)]
        if len(here):
            rows.append((f'{low:g} to {high:g}', len(here), *(
                f'{m:.2f} ({q:.2f})' for m, q in zip(
                    np.sqrt((here ** 2).mean(axis=0)), np.quantile(here, 0.9, axis=0),
                    strict=True))))
    text = '\n'.join((records.markdown(
        ('smallest margin', 'gains', 'reward', *CONSTRAINTS), rows), '',
        records.signature(records.provenance('studies.spread', found, arguments))))
    (options.out / 'spread.md').write_text(text + '\n', encoding='utf-8')
    print(text)


if __name__ == '__main__':
    raise SystemExit(main())
