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

"""What the commands that train a predictor share: their options, and what is checked first."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

from pacsbo_ros.executors import add_executor_options, UsageError, whole

Numbers = Mapping[str, tuple[int, int | None, str]]  # option: least, most, what it is


def parser_of(name: str, words: str | None, dimensions: Collection[int], wanted: list[int],
              work: str, numbers: Numbers, defaults: object) -> argparse.ArgumentParser:
    """Return the parser of a training; the defaults are attributes of the same names."""
    parser = argparse.ArgumentParser(prog=name, description=words,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    shown = ' '.join(map(str, wanted))
    parser.add_argument('--dimensions', type=int, nargs='+', default=wanted, choices=dimensions,
                        help=f'numbers of parameters (default: {shown})')
    parser.add_argument('--out', type=Path, default=Path('predictors'),
                        help='folder for what is made (default: predictors)')
    parser.add_argument('--work', type=Path, default=Path(work),
                        help=f'folder for runs, so that a training can go on (default: {work})')
    for option, (least, most, meaning) in numbers.items():
        default = getattr(defaults, option)
        parser.add_argument(f'--{option}', type=whole(least, most), default=default,
                            help=f'{meaning} (default: {default})')
    add_executor_options(parser)
    return parser


def check(options: argparse.Namespace) -> None:
    """Say now, not after the first runs, that torch or a folder is missing."""
    if find_spec('torch') is None:
        raise UsageError('training needs torch: pip install .[train], or make setup TRAIN=1')
    for name in ('out', 'work'):
        writable(name, getattr(options, name))


def writable(name: str, folder: Path) -> None:
    """Make the folder of an option, or say that it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(f'{name} is {folder}; nothing can be written there '
                         f'({error.strerror}): choose another folder') from error
