# Copyright the pacsbo_ros developers. Apache-2.0.
"""What the graph does, in words for people."""
from __future__ import annotations

import math

from pacsbo_ros.view.live import Snapshot

# By the codes of OptimizerState: headline, and the level of its colour.
STATES = (
    ('Starting', 'info'), ('Choosing the next gains', 'info'), ('Waiting for approval', 'warn'),
    ('Trying gains', 'good'), ('Waiting', 'warn'), ('Paused', 'warn'),
    ('Verifying the best gains', 'good'), ('Finished', 'good'), ('Failed', 'bad'))
AWAITING_APPROVAL, RUNNING, PAUSED, VERIFYING, FINISHED, FAILED = 2, 3, 5, 6, 7, 8
STOPPED = 2  # of SafetyStatus

WHY = {'start': 'are known to be safe', 'maximiser': 'promise the most reward',
       'expander': 'would enlarge the safe set', 'verification': 'repeat the best gains'}
WHERE = {'hull': 'inside the hull of the samples', 'enlarged': 'in the enlarged hull',
         'box': 'anywhere in the box'}


def gains_text(gains) -> str:
    """Return gains as people write them, with real minus signs."""
    return '(' + ', '.join(f'{g:.2f}' for g in gains).replace('-', '−') + ')'


def headline(s: Snapshot, verdict: int) -> tuple[str, str]:
    """Return what matters most, and the level of its colour."""
    if verdict == STOPPED:
        return 'Stopped', 'bad'
    if s.optimizer is None:
        return 'Waiting for the optimiser', 'idle'
    if _left_early(s):
        return 'The optimiser is gone', 'bad'
    return STATES[s.optimizer.state]


def sentence(s: Snapshot, verdict: int) -> str:
    """Return what happens now, and what a person can do about it."""
    if verdict == STOPPED:
        after = ('The cause persists.' if s.safety.cause_persists
                 else 'Press Reset, then Arm, to go on.')
        return f'{_sentence(s.safety.reason)} The motor gets zero volts. {after}'
    if s.optimizer is None:
        return 'No message of the optimiser has come yet.'
    if _left_early(s):
        return 'It ended before the run did. No told episode is lost: start it again with resume.'
    c = s.candidate
    if s.optimizer.state in (AWAITING_APPROVAL, RUNNING, VERIFYING) and c is not None:
        where = f', {WHERE[c.domain]}' if c.domain in WHERE else ''
        text = (f'Episode {c.iteration}: gains {gains_text(c.gains)}, which '
                f'{WHY.get(c.role, c.role)}{where}.')
        if len(c.lower) > 1:
            margin = min(c.lower[1:])
            text += (f' Guaranteed margin {margin:.2f}, 0 or more is safe.' if margin >= 0
                     else ' It is one of the start gains, which count as safe.')
        return text
    return _sentence(s.optimizer.reason)


def _left_early(s: Snapshot) -> bool:
    """Tell whether the optimiser vanished in the middle of its run."""
    return s.optimizer_gone and s.optimizer.state not in (FINISHED, FAILED)


def _sentence(reason: str) -> str:
    """Return a reason as a sentence."""
    return reason[:1].upper() + reason[1:] + ('' if reason.endswith('.') else '.')


def best_text(s: Snapshot) -> str:
    """Return the best gains so far."""
    o = s.optimizer
    if o is None or not len(o.best_gains):
        return 'none yet'
    return gains_text(o.best_gains)


def degrees(angle: float) -> str:
    """Return an angle in rad as degrees."""
    return f'{math.degrees(angle):+.1f}°'.replace('-', '−')
