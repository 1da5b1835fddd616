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
How many pendulums the backup catches that would fall, and how many episodes it ends by mistake.

    python -m studies.backup --out results/backup

On every plant of the family: gains at random in the box, each tried without limits and without a
backup, then with both from the same start. The backup has learnt from STARTS safe gains of the
same plant, as it has in a run after its start values.

  falls     without a backup the pendulum drops
  caught    of those, the backup ends the episode with the pendulum upright
  steady    without a backup the episode ends within all limits and all margins are positive
  mistakes  of those, the backup ends the episode
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
import math

import numpy as np
from pacsbo_ros.executors import carry_out
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup, Experience
from pacsbo_ros.robots.furuta.batch import BatchResult, simulate_batch
from pacsbo_ros.robots.furuta.episode_settings import Limits
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from studies import records
from studies.family import BOUNDS, PLANTS, TUNED
from studies.pendulum import read_config
from studies.records import Record

STARTS = 3
FALLEN = math.pi / 2  # rad
FREE = Limits(alpha=math.pi, theta=1e3, speed=1e6)


def learnt(gains: Sequence[Gains], calm: BatchResult, chosen: Sequence[int]) -> Backup:
    """Return the backup after some safe episodes."""
    experience = Experience()
    for i in chosen:
        experience.learn(gains[i], tuple(calm.values[i, 1:].tolist()))
    return experience.backup


def judge(key: Record) -> Record:
    """Try the gains of one plant with and without a backup."""
    bench, plant = read_config(), PLANTS[key['plant']]
    rng = np.random.default_rng(key['seed'])
    names = TUNED[2]
    lower, upper = np.array([BOUNDS[name] for name in names]).T
    gains = [PAPER_GAINS.with_tuned(g, names)
             for g in rng.uniform(lower, upper, (key['gains'], len(names))).tolist()]
    k, seeds = [g.as_tuple() for g in gains], range(key['gains'])
    free = simulate_batch(k, seeds, plant, FREE, bench.settings)
    never = [Backup(reach=math.inf)] * len(k)  # it measures headings and leaves all alone
    alone = simulate_batch(k, seeds, plant, bench.limits, bench.settings, never)
    falls = free.max_abs_alpha > FALLEN
    steady = (alone.outcome == Outcome.COMPLETED) & (alone.values[:, 1:].min(axis=1) > 0)
    if not steady.any():
        return {'falls': int(falls.sum()), 'caught': 0, 'steady': 0, 'mistakes': 0}
    chosen = rng.choice(np.flatnonzero(steady), min(STARTS, int(steady.sum())), replace=False)
    backup = learnt(gains, alone, chosen.tolist())
    tried = np.flatnonzero(falls | steady)
    seen = simulate_batch([k[i] for i in tried], tried, plant, bench.limits, bench.settings,
                          [backup] * len(tried))
    taken = seen.outcome == Outcome.CAUGHT
    return {'falls': int(falls.sum()), 'caught': int((taken & falls[tried]).sum()),
            'steady': int(steady.sum()),
            'mistakes': int(((seen.outcome != Outcome.COMPLETED) & steady[tried]).sum()),
            'k_theta': round(backup.gains.k_theta, 2),
            'k_alpha': round(backup.gains.k_alpha, 2)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge every plant, then print and write the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.backup', description='Count what '
                                     'the backup catches and what it ends by mistake.')
    records.add_options(parser, 'results/backup')
    parser.add_argument('--plants', nargs='+', default=list(PLANTS), choices=PLANTS,
                        metavar='PLANT', help=f'some of {", ".join(PLANTS)}')
    parser.add_argument('--gains', type=int, default=400, help='per plant')
    parser.add_argument('--seed', type=int, default=1, help='of the gains')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> None:
    wanted = [{'plant': plant, 'gains': options.gains, 'seed': options.seed}
              for plant in options.plants]
    with records.open_executor(options) as executor:
        found = records.collect(judge, wanted, options.out / 'plants.jsonl', executor, 'backup')
    rows = [(f['plant'], f['falls'], f['caught'],
             f'{f["caught"] / f["falls"]:.0%}' if f['falls'] else '–', f['steady'],
             f['mistakes']) for f in found]
    falls, caught, steady, mistakes = (sum(f[name] for f in found) for name in (
        'falls', 'caught', 'steady', 'mistakes'))
    rows.append(('all', falls, caught, f'{caught / max(falls, 1):.0%}', steady, mistakes))
    text = '\n'.join((records.markdown(
        ('plant', 'gains that fall', 'caught', 'share', 'episodes of safe gains',
         'ended by mistake'), rows), '',
        records.signature(records.provenance('studies.backup', found, arguments))))
    (options.out / 'backup.md').write_text(text + '\n', encoding='utf-8')
    print(text)


if __name__ == '__main__':
    raise SystemExit(main())
