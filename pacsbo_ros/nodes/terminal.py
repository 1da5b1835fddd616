# Copyright the pacsbo_ros developers. Apache-2.0.
"""What a run prints: a line per episode and a summary at the end."""
from __future__ import annotations

from collections.abc import Sequence
import math

from rich.console import Console
from rich.table import Table

from pacsbo_ros.furuta.outcome import Outcome
from pacsbo_ros.tuning.run_folder import RunFolder
from pacsbo_ros.tuning.trial import VERIFICATION, Told
from pacsbo_ros.tuning.tuning import Tuning


def gains_text(gains: Sequence[float]) -> str:
    """Return gains as people write them."""
    return '(' + ', '.join(f'{g:.2f}' for g in gains) + ')'


def line(tuning: Tuning, told: Told, seconds_left: float) -> str:
    """Return the progress after one episode."""
    measured, best = told.measured, tuning.best
    width = len(str(tuning.budget))
    number = ('check'.rjust(2 * width + 1) if told.trial.role == VERIFICATION
              else f'{told.trial.iteration:>{width}}/{tuning.budget}')
    so_far = f'{best.measured.reward:.4f}' if best else 'none'
    return (f'{number}  {gains_text(told.trial.gains):>16}  {told.trial.role:<13}'
            f'reward {measured.reward:.4f}  max angle {math.degrees(measured.max_alpha):4.1f}°  '
            f'{"safe  " if measured.safe else "UNSAFE"}  best {so_far}  '
            f'{seconds_left:3.0f} s left')


def print_summary(folder: RunFolder, tuning: Tuning, outcomes: Sequence[int]) -> None:
    """Print how the run ended, where it is and what to do next."""
    table = Table(title=f'Run {folder.run_id}', title_justify='left', show_header=False)
    start, best, verified = tuning.told[0] if tuning.told else None, tuning.best, tuning.verified
    table.add_row('ended because', tuning.reason)
    repeats = sum(t.trial.role == VERIFICATION for t in tuning.told)
    table.add_row('episodes', ', '.join(f'{count} {Outcome(code).name.lower()}'
                                        for code, count in enumerate(outcomes) if count)
                  + (f' ({repeats} of them to verify the best gains)' if repeats else ''))
    unsafe = sum(not t.measured.safe for t in tuning.told)
    table.add_row('unsafe episodes', str(unsafe))
    # Every reading carries noise, and the best of many is a lucky one: hence the second reading.
    for title, told in (('start', start), ('best reading', best), ('tried once more', verified)):
        if told is not None:
            table.add_row(title, f'{gains_text(told.trial.gains)}  reward '
                          f'{told.measured.reward:.4f}  max angle '
                          f'{math.degrees(told.measured.max_alpha):.1f}°')
    table.add_row('run folder', str(folder.path))
    if verified is not None:
        table.add_row('use the gains', 'ros2 run pacsbo_ros furuta_controller --ros-args '
                      f'--params-file {folder.best_gains}')
    table.add_row('20 more episodes', f'resume:={folder.path} iterations:={tuning.budget + 20}')
    Console(soft_wrap=True).print(table)
