# Copyright the pacsbo_ros developers. Apache-2.0.
"""Break every process in every way and print what happened: `make faults`."""
from __future__ import annotations

import argparse
from collections.abc import Callable
import contextlib
from functools import partial
from pathlib import Path
import shlex
import sys
import tempfile
import time

from faults import campaign, launched, parameters, report
from faults.cases import GROUPS
from faults.graph import own_domain
from faults.others import OTHERS
from faults.rig import Rig
from faults.rows import Row


def failed(name: str, error: BaseException) -> Row:
    """Return the line of a fault that the campaign itself could not survive."""
    row = Row(name, 'the campaign failed', repeats=1)
    row.complain(f'{type(error).__name__}: {error}')
    return row


def close(rig: Rig | None) -> None:
    """End a rig, whatever state it is in."""
    if rig is not None:
        with contextlib.suppress(Exception):
            rig.close()


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
    rows: list[Row] = []

    def add(row: Row) -> None:
        rows.append(row)
        print(report.line(row), *row.complaints, sep='\n    ', flush=True)

    with own_domain(), tempfile.TemporaryDirectory(prefix='faults-') as scratch:
        for group, (faults, options) in GROUPS.items():
            chosen = [f for f in faults() if arguments.only in f'{group} {f.name}']
            if not chosen:
                continue
            rig = None
            for fault in chosen:
                try:
                    rig = rig or Rig(Path(scratch) / f'{group}{len(rows)}', **options)
                    add(campaign.run(rig, fault, repeats))
                except (Exception, SystemExit) as error:  # the table has to come, whatever happens
                    add(failed(fault.name, error))
                    close(rig)
                    rig = None
            close(rig)
        others: list[tuple[str, Callable[[], Row]]] = [
            (name, partial(other, max(1, round(share * repeats)), Path(scratch)))
            for name, (other, share) in OTHERS.items()]
        others += [(what.name, partial(parameters.run, what, max(1, round(
            parameters.SHARE * repeats)), Path(scratch))) for what in parameters.BREAKS]
        others += [(name, partial(launched.run, name, max(1, round(
            parameters.SHARE * repeats / 2)), Path(scratch))) for name in launched.BREAKS]
        for name, inject in others:
            if arguments.only in name:
                try:
                    add(inject())
                except (Exception, SystemExit) as error:
                    add(failed(name, error))
    command = shlex.join(['python', '-m', 'faults', *sys.argv[1:]])
    print(report.write(rows, arguments.out, time.monotonic() - start, command))
    return int(not all(row.good for row in rows))


if __name__ == '__main__':
    raise SystemExit(main())
