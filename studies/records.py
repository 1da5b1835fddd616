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
What all studies share: work in pieces that survives a stop, intervals, tables, provenance.

A study is a list of tasks, each a JSON-able dictionary. Its results are lines of a file, written
as they come: a study that was stopped goes on where it was when the same command is given again.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed, Executor
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
import json
import os
from pathlib import Path
import platform
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pacsbo_ros.executors import add_executor_options, executor_factory
from scipy.stats import beta, binom
from tqdm import tqdm

Record = dict[str, Any]
PACKAGES = ('numpy', 'scipy', 'matplotlib')
CONFIDENCE = 0.95  # of every interval in every table
IN_FLIGHT = 64  # tasks that wait in the queue, so that a stop loses little


def add_options(parser: argparse.ArgumentParser, out: str) -> None:
    """Add the options that every study has."""
    parser.add_argument('--out', type=Path, default=Path(out), help='folder of the results')
    add_executor_options(parser)


def open_executor(options: argparse.Namespace) -> AbstractContextManager[Executor | None]:
    """Return the pool or cluster that the options ask for; None works in this process."""
    if options.workers == 1 and not options.scheduler:
        return nullcontext(None)
    return executor_factory(options.workers, options.scheduler)()


def collect(task: Callable[[Record], Record], wanted: Sequence[Record], path: Path,
            executor: Executor | None = None, title: str = '') -> list[Record]:
    """
    Return {**key, **task(key), 'code': commit} of all wanted keys.

    What the file holds is not made again, also if an older commit made it: the record says so.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {_name(record['key']): record for record in read_lines(path)}
    missing = [key for key in wanted if _name(key) not in kept]
    code = commit()
    with (tqdm(total=len(wanted), initial=len(wanted) - len(missing), desc=title,
               disable=not title) as bar, path.open('a', encoding='utf-8') as file):
        for key, result in _results(task, missing, executor):
            kept[_name(key)] = record = {'key': key, 'result': result, 'code': code}
            file.write(json.dumps(record) + '\n')
            file.flush()
            bar.update()
    found = [kept[_name(key)] for key in wanted]
    return [{**r['key'], **r['result'], 'code': r['code']} for r in found]


def _results(task: Callable[[Record], Record], keys: Sequence[Record],
             executor: Executor | None) -> Iterable[tuple[Record, Record]]:
    if executor is None:
        for key in keys:
            yield key, task(key)
        return
    for first in range(0, len(keys), IN_FLIGHT):
        futures = {executor.submit(task, key): key for key in keys[first:first + IN_FLIGHT]}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _name(key: Record) -> str:
    return json.dumps(key, sort_keys=True)


def read_lines(path: Path) -> list[Record]:
    """Read a file of JSON lines; a line torn by a crash is cut off, its work repeated."""
    if not path.is_file():
        return []
    whole, _, torn = path.read_bytes().rpartition(b'\n')
    if torn:
        os.truncate(path, path.stat().st_size - len(torn))
    return [json.loads(line) for line in whole.splitlines()]


def share_interval(hits: int, count: int) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share."""
    tail = (1 - CONFIDENCE) / 2
    low = beta.ppf(tail, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(1 - tail, hits + 1, count - hits) if hits < count else 1.0
    return float(low), float(high)


def median_interval(values: ArrayLike) -> tuple[float, float]:
    """Return the interval of the median by order statistics, whatever the distribution."""
    x = np.sort(np.asarray(values, dtype=float))
    k = int(binom.ppf((1 - CONFIDENCE) / 2, len(x), 0.5))
    return float(x[max(k - 1, 0)]), float(x[min(len(x) - k, len(x) - 1)])


def percent(hits: int, count: int) -> str:
    """Write a share and its interval in per cent."""
    low, high = share_interval(hits, count)
    return f'{_digits(hits / count)} % [{_digits(low)}, {_digits(high)}]'


def _digits(share: float) -> str:
    return f'{100 * share:.1f}'.rstrip('0').rstrip('.')


def middle(values: ArrayLike, form: str = '.2f') -> str:
    """Write a median and its interval."""
    low, high = median_interval(values)
    return f'{np.median(values):{form}} [{low:{form}}, {high:{form}}]'


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = ['| ' + ' | '.join(header) + ' |', '|' + '---|' * len(header)]
    lines += ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows]
    return '\n'.join(lines)


def provenance(module: str, runs: Iterable[Record], arguments: Sequence[str] | None = None,
               packages: Sequence[str] = ()) -> Record:
    """Say which command made a result, which code its runs, with which versions."""
    given = sys.argv[1:] if arguments is None else arguments
    return {
        'command': shlex.join(['python', '-m', module, *map(str, given)]),
        'code': sorted({run['code'] for run in runs}),
        'python': platform.python_version(),
        **{name: _version(name) for name in (*PACKAGES, *packages)},
    }


def signature(origin: Record) -> str:
    """Write the provenance as the last line of a table."""
    versions = ', '.join(f'{name} {told}' for name, told in origin.items()
                         if name not in ('command', 'code'))
    return f'Made by `{origin["command"]}`, commit {", ".join(origin["code"])}, {versions}.'


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return 'not installed'


def commit() -> str:
    """Name the version of the code, with a mark if it was changed since."""
    try:
        return subprocess.run(
            ['git', 'describe', '--always', '--dirty', '--abbrev=12'], check=True, text=True,
            capture_output=True, cwd=Path(__file__).parent).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return 'unknown (not a git checkout)'


def save(path: Path, data: Record) -> None:
    """Write JSON, one entry of a list a line, so that differences can be read."""
    parts = []
    for name, value in data.items():
        if isinstance(value, list):
            lines = ',\n  '.join(json.dumps(entry) for entry in value)
            parts.append(f'{json.dumps(name)}: [\n  {lines}\n ]')
        else:
            parts.append(f'{json.dumps(name)}: {json.dumps(value)}')
    path.write_text('{\n ' + ',\n '.join(parts) + '\n}\n', encoding='utf-8')
