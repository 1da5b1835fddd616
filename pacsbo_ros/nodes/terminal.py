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
    table.add_row('outcomes', ', '.join(f'{count} {Outcome(code).name.lower()}'
                                        for code, count in enumerate(outcomes) if count))
    unsafe = sum(not t.measured.safe for t in tuning.told)
    table.add_row('unsafe episodes', str(unsafe))
    for title, told in (('start', start), ('best', best), ('verified', verified)):
        if told is not None:
            table.add_row(title, f'{gains_text(told.trial.gains)}  reward '
                          f'{told.measured.reward:.4f}  max angle '
                          f'{math.degrees(told.measured.max_alpha):.1f}°')
    table.add_row('run folder', str(folder.path))
    if verified is not None:
        table.add_row('next', f'use the gains: --params-file {folder.best_gains}')
    table.add_row('', f'go on with more episodes: resume:={folder.path} iterations:='
                  f'{tuning.budget + 20}')
    Console(soft_wrap=True).print(table)
