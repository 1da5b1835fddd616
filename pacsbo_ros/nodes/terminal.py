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

"""What a run prints: a line per episode and a summary at the end."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
import math

from pacsbo_ros.core import Box
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.tuning.run_folder import RunFolder
from pacsbo_ros.tuning.trial import Told
from pacsbo_ros.tuning.tuning import Tuning
from pacsbo_ros.view.words import role
from rich.console import Console
from rich.table import Table


def values_text(box: Box, values: Sequence[float]) -> str:
    """Return tuned values by name, with digits for a thousandth of the box: no two look alike."""
    return ', '.join(f'{name} {v:.{max(0, 3 - math.floor(math.log10(upper - lower)))}f}'
                     for name, v, lower, upper in zip(box.names, values, box.lower, box.upper,
                                                      strict=True))


def line(tuning: Tuning, told: Told, seconds_left: float) -> str:
    """Return the progress after one episode."""
    measured, best = told.measured, tuning.best
    width = len(str(tuning.budget))
    number = (f'{tuning.searched:>{width}}/{tuning.budget}' if told.trial.searches
              else 'check'.rjust(2 * width + 1))
    so_far = f'{best.measured.reward:.4f}{_expected(tuning, best)}' if best else 'none'
    return (f'{number}  {values_text(tuning.problem.box, told.trial.values)}  '
            f'{role(told.trial.role):<8} reward {measured.reward:.4f}  '
            f'margin {measured.margin:6.3f}  {"safe  " if measured.safe else "UNSAFE"}  '
            f'best {so_far}  {seconds_left:3.0f} s left')


def _expected(tuning: Tuning, best: Told) -> str:
    """Say what the model expects of the best values: it is why they are the best."""
    choice = tuning.choice
    if choice is None or choice.point != best.trial.point:
        return ''  # it is being verified, and counts as it was chosen
    return f' (expected {tuning.problem.robot.reward.reward(choice.means[0]):.4f})'


def print_summary(folder: RunFolder, tuning: Tuning, outcomes: Sequence[int]) -> None:
    """Print how the run ended, where it is and what to do next."""
    table = Table(title=f'Run {folder.run_id}', title_justify='left', show_header=False)
    start, best, verified = tuning.told[0] if tuning.told else None, tuning.best, tuning.verified
    table.add_row('ended because', tuning.reason)
    table.add_row('episodes', _counts(tuning, outcomes))
    unsafe = sum(not t.measured.safe for t in tuning.told)
    table.add_row('unsafe episodes', str(unsafe))
    for title, told in (('first start', start), ('best values', best)):
        if told is not None:
            table.add_row(title, f'{values_text(tuning.problem.box, told.trial.values)}  reward '
                          f'{told.measured.reward:.4f}  margin {told.measured.margin:.3f}')
    # Every reading carries noise, and the best of many is a lucky one: hence others, afterwards.
    if verified is not None:
        table.add_row('verified', 'reward ' + tuning.gain.words(tuning.problem.robot.reward.unit))
    console = Console(soft_wrap=True, highlight=False)  # a path is copied whole or not at all
    console.print(table)
    console.print(f'run folder: {folder.path}')
    if verified is not None:
        console.print(f'best values: {folder.best_gains}, a parameter file for what was tuned '
                      '(docs/using.md: Using the gains)')
    if best is None:  # the journal remembers the starts: to go on with it cannot help
        console.print('next: a new run with other start values, which the robot survives')
    else:
        console.print(f'20 more episodes: the same command with resume:={folder.path} '
                      f'iterations:={tuning.searched + 20}')


def _counts(tuning: Tuning, outcomes: Sequence[int]) -> str:
    """Say how many episodes ended how; those that say nothing of the values were repeated."""
    told = Counter(t.measured.outcome for t in tuning.told)
    repeated = {code: count - told[code] for code, count in enumerate(outcomes)}
    checks = sum(not t.trial.searches for t in tuning.told)
    return (_list(told) + (f', {checks} of them to verify the best values' if checks else '')
            + ('; said nothing and were repeated: ' + _list(repeated)
               if any(repeated.values()) else ''))


def _list(counts: Mapping[int, int]) -> str:
    return ', '.join(f'{count} {Outcome(code).name.lower().replace("_", " ")}'
                     for code, count in counts.items() if count)
