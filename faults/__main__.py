# Copyright the pacsbo_ros developers. Apache-2.0.
"""Break every process in every way and print what happened: `make faults`."""
from __future__ import annotations

import argparse
from pathlib import Path
import shlex
import sys
import tempfile
import time

from faults import campaign, report
from faults.cases import GROUPS
from faults.graph import own_domain
from faults.others import OTHERS
from faults.rig import Rig


def main() -> int:
    """Run the campaign; exit with 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(prog='make faults', description=__doc__)
    parser.add_argument('--repeats', type=int, default=12, help='injections of every fault')
    parser.add_argument('--quick', action='store_true', help='three injections of every fault')
    parser.add_argument('--only', default='', metavar='WORDS',
                        help='only the faults whose group or name contains these words')
    parser.add_argument('--out', type=Path, default=Path('results/faults'))
    arguments = parser.parse_args()
    repeats = 3 if arguments.quick else arguments.repeats
    start = time.monotonic()
    rows: list[campaign.Row] = []

    def add(row: campaign.Row) -> None:
        rows.append(row)
        print(report.line(row), *row.complaints, sep='\n    ', flush=True)

    with own_domain(), tempfile.TemporaryDirectory(prefix='faults-') as scratch:
        for group, (faults, options) in GROUPS.items():
            chosen = [f for f in faults() if arguments.only in f'{group} {f.name}']
            if not chosen:
                continue
            rig = Rig(Path(scratch) / group, **options)
            try:
                for fault in chosen:
                    add(campaign.run(rig, fault, repeats))
            finally:
                rig.close()
        for name, (other, share) in OTHERS.items():
            if arguments.only in name:
                add(other(max(1, round(share * repeats)), Path(scratch)))
    command = shlex.join(['python', '-m', 'faults', *sys.argv[1:]])
    print(report.write(rows, arguments.out, time.monotonic() - start, command))
    return int(not all(row.good for row in rows))


if __name__ == '__main__':
    raise SystemExit(main())
