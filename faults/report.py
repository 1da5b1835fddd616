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

"""The table of the campaign, for people and for programs."""
from __future__ import annotations

from collections.abc import Sequence
import json
import os
from pathlib import Path
import platform
from statistics import median
import subprocess

from faults.rows import Row

HEAD = """# What happens when something breaks

Made by `make faults`: real processes over DDS, a real tuning run on a pendulum in a process of its
own. *To zero*: time from the fault to zero volts as the plant's log has it (for faults of the
plant itself: to the command on the wire). *Told*: how the episode under way ended. *As it must
be*: zero volts within the limit, no voltage between a latched stop and its release, nothing told
that is not in the journal, and nothing in the journal that did not move the motor. *Recovered*:
the run went on. *Machine*: for how long a process that does nothing but look at the clock, before
all others where the system allows it, was not run at most; a repeat during which that was more
than 20 ms is lost to the machine and tried again.

"""


def milliseconds(seconds: float | None) -> str:
    """Return a time for the table."""
    return '' if seconds is None else f'{1e3 * seconds:.0f}'


def line(row: Row) -> str:
    """Return a row of the table."""
    p50 = milliseconds(median(row.times)) if row.times else ''
    worst = milliseconds(max(row.times)) if row.times else ''
    told = ', '.join(f'{name.lower().replace("_", " ")} {count}'
                     for name, count in row.outcomes.most_common())
    return (f'| {row.name} | {row.repeats} | {p50} | {worst} | {milliseconds(row.limit)} | {told} '
            f'| {"no" if row.complaints else "yes"} | {row.recovered} of {row.repeats} '
            f'| {milliseconds(row.machine or None)} | {row.stalls or ""} |')


def write(rows: Sequence[Row], folder: Path, seconds: float, command: str) -> str:
    """Write README.md and faults.json; return the summary, also where they cannot be written."""
    total = sum(row.repeats for row in rows)
    bad = [words for row in rows for words in row.complaints]
    machine = sum("the machine's fault" in words for words in bad)
    summary = (f'{total} faults in {seconds / 60:.0f} minutes, {len(bad)} complaints, of which '
               f"{machine} are the machine's fault, "
               f'{sum(row.recovered for row in rows)} recoveries; '
               f'{sum(row.stalls for row in rows)} more did not count, because the machine itself '
               'stood still for more than 20 ms.')
    commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True,
                            text=True, check=False).stdout.strip()
    text = [HEAD, summary, '\n\n',
            '| fault | repeats | to zero p50 [ms] | max [ms] | limit [ms] | told | as it must be '
            '| recovered | machine [ms] | lost to it |\n', '|---' * 10, '|\n',
            '\n'.join(line(row) for row in rows), '\n']
    if bad:
        text.append('\n## Complaints\n\n' + '\n'.join(f'* {words}' for words in bad) + '\n')
    kernel = f'{platform.system()} {platform.release().split("-")[0]}'
    text.append(f'\n`{command}`, commit {commit}, Python {platform.python_version()}, '
                f'{os.cpu_count()} cores, {kernel}.\n')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'README.md').write_text(''.join(text), encoding='utf-8')
        (folder / 'faults.json').write_text(json.dumps(
            {'summary': summary, 'rows': [vars(row) for row in rows]}, indent=1) + '\n')
    except OSError as error:
        return f'{"".join(text)}\nnot written to {folder}: {error.strerror}\n{summary}'
    return summary
