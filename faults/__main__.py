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

"""Break every process in every way and print what happened: `make faults`."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
from functools import partial
from pathlib import Path
import shlex
import signal
import sys
import tempfile
import time

from faults import campaign, launched, parameters, report
from faults.cases import Fault, GROUPS
from faults.graph import own_domain
from faults.others import OTHERS
from faults.rig import Rig
from faults.rows import Row

Job = Callable[[Path], Iterator[Row]]


def failed(name: str, error: BaseException, rig: Rig | None = None) -> Row:
    """Return the line of a fault that the campaign itself could not survive."""
    row = Row(name, 'the campaign failed', repeats=1)
    row.complain(f'{type(error).__name__}: {error}' + (f'; {rig.words()}' if rig else ''))
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

    jobs = list(chosen(arguments.only, repeats))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup is for us, not for launchers
        signal.signal(signal.SIGHUP, lambda *_: None)
    try:
        with own_domain(), tempfile.TemporaryDirectory(
                prefix='faults-', ignore_cleanup_errors=True) as scratch:
            for name, inject in jobs:
                add_all(name, inject, Path(scratch), add)
    except BaseException as error:  # Ctrl-C, too: what was measured has to be in the table
        add(failed('the rest of the campaign', error))
    command = shlex.join(['python', '-m', 'faults', *sys.argv[1:]])
    print(report.write(rows, arguments.out, time.monotonic() - start, command))
    return int(not rows or not all(row.good for row in rows))


def chosen(words: str, repeats: int) -> Iterator[tuple[str, Job]]:
    """Yield what has to be done: groups of faults in one rig, then single ones."""
    for group, (faults, options) in GROUPS.items():
        wanted = [f for f in faults() if words in f'{group} {f.name}']
        if wanted:
            yield group, partial(in_rig, wanted, options, repeats)
    singles: dict[str, tuple[Callable[[int, Path], Row], float]] = {
        **OTHERS,
        **{what.name: (partial(parameters.run, what), parameters.SHARE)
           for what in parameters.BREAKS},
        **{name: (partial(launched.run, name), parameters.SHARE / 2) for name in launched.BREAKS}}
    for name, (inject, share) in singles.items():
        if words in name:
            yield name, partial(alone, inject, max(1, round(share * repeats)))


def in_rig(faults: Sequence[Fault], options: dict, repeats: int, folder: Path) -> Iterator[Row]:
    """Inject faults one after the other; a rig that one of them breaks is replaced."""
    rig = None
    try:
        for number, fault in enumerate(faults):
            try:
                rig = rig or Rig(folder / f'rig{number}', **options)
                yield campaign.run(rig, fault, repeats)
            except (Exception, SystemExit) as error:  # the table has to come, whatever happens
                yield failed(fault.name, error, rig)
                close(rig)
                rig = None
    finally:
        close(rig)


def alone(inject: Callable[[int, Path], Row], repeats: int, folder: Path) -> Iterator[Row]:
    """Inject a fault that makes its own processes."""
    yield inject(repeats, folder)


def add_all(name: str, inject: Job, scratch: Path, add: Callable[[Row], None]) -> None:
    """Add the rows of a job, or one that says why there is none."""
    folder = scratch / str(abs(hash(name)))
    try:
        folder.mkdir()
        for row in inject(folder):
            add(row)
    except (Exception, SystemExit) as error:
        add(failed(name, error))


if __name__ == '__main__':
    raise SystemExit(main())
