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
Show what a jump does to a safe method: when it is met, and what staying back would buy.

    python -m studies.band --worlds jump --methods default 'step 0.1' 'step 0.3' scale_free
    python -m studies.jumps --out results/band            the table of those runs

Before a jump is met nothing shows it, so the first sample beyond it is a gamble for everybody who
goes there. The table has unsafe runs beside regret: at equal regret methods
can be compared, at equal samples one may only have stayed at home.

  symbol    meaning
  blind     of the unsafe runs, those whose first unsafe sample was the first beyond the jump
  at left   unsafe runs at the number of samples after which so much regret is left (interpolated)
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from studies import records
from studies.band import MARKS
from studies.records import Record

LEVELS = (0.5, 0.4, 0.3)  # of the regret left


def curve(group: Sequence[Record]) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of unsafe runs and the mean regret left after MARKS samples."""
    at = np.array([r['unsafe_at'] or np.inf for r in group])
    unsafe = np.array([float(np.mean(at <= mark)) for mark in MARKS])
    left = np.array([np.mean([r['left_at'][str(mark)] for r in group]) for mark in MARKS])
    return unsafe, left


def at_level(unsafe: np.ndarray, left: np.ndarray, level: float) -> str:
    """Return the share of unsafe runs when the regret left has fallen to a level."""
    if left.min() > level:
        return 'never'
    return f'{100 * float(np.interp(-level, -left, unsafe)):.1f} %'


def table(runs: Sequence[Record]) -> str:
    """Write one row per method and number of parameters."""
    groups: dict[tuple[int, str], list[Record]] = {}
    for r in runs:
        if r['world'] == 'jump' and 'unsafe_at' in r:
            groups.setdefault((r['n'], r['method']), []).append(r)
    rows = []
    for (n, method), group in sorted(groups.items()):
        unsafe, left = curve(group)
        hit = [r for r in group if r['unsafe']]
        blind = sum(r['blind'] for r in hit)
        rows.append((n, method, len(group), records.percent(len(hit), len(group)),
                     f'{left[-1]:.2f}', f'{blind} of {len(hit)}',
                     *(at_level(unsafe, left, level) for level in LEVELS)))
    return records.markdown(('n', 'method', 'runs', 'unsafe runs', 'left', 'blind',
                             *(f'at left {level:g}' for level in LEVELS)), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table of the runs that a folder holds."""
    parser = argparse.ArgumentParser(prog='python -m studies.jumps',
                                     description='Compare methods on jumps at equal regret.')
    parser.add_argument('--out', type=Path, default=Path('results/band'),
                        help='folder of studies.band')
    options = parser.parse_args(arguments)
    runs = [{**line['key'], **line['result'], 'code': line['code']}
            for path in sorted((options.out / 'runs').glob('*.jsonl'))
            for line in records.read_lines(path) if line['key']['starts'] == 'three']
    if not runs:
        parser.error(f'{options.out} holds no runs of studies.band')
    text = table(runs) + '\n\n' + records.signature(
        records.provenance('studies.jumps', runs, arguments)) + '\n'
    (options.out / 'jumps.md').write_text(text, encoding='utf-8')
    print(text)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
