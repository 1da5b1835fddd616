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

"""What the graph does, in words for people."""
from __future__ import annotations

import math
from typing import Any

from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.view.live import Snapshot
from pacsbo_ros.view.numbers import number, quantity, values_text

# By the codes of OptimizerState: headline, and the level of its colour.
STATES = (
    ('Starting', 'info'), ('Choosing the next values', 'info'), ('Waiting for approval', 'warn'),
    ('Trying values', 'good'), ('Waiting', 'warn'), ('Paused', 'warn'),
    ('Verifying the best values', 'good'), ('Finished', 'good'), ('Failed', 'bad'))
AWAITING_APPROVAL, RUNNING, PAUSED, VERIFYING, FINISHED, FAILED = 2, 3, 5, 6, 7, 8
STOPPED = 2  # of SafetyStatus

WHY = {'start': 'known to be safe', 'repeat': 'a repeat to measure the noise',
       'goal': 'where the search is heading', 'maximiser': 'promising the most reward',
       'expander': 'to enlarge the safe set', 'verification': 'the best values once more',
       'comparison': 'the best start once more, to compare'}
ROLES = {'maximiser': 'improve', 'expander': 'explore', 'goal': 'approach',
         'verification': 'verify', 'comparison': 'compare'}
WHERE = {'hull': 'inside the hull of the samples', 'enlarged': 'in the enlarged hull',
         'box': 'anywhere in the box'}

BEST_LINE = 'reading of the best'
BEST_WHY = ('The best values are those of which the model expects the most reward, among all that '
            'were tried and are known to be safe. A single higher reading may have been luck; so '
            'the reading of the best may fall when others become the best.')


def role(name: str) -> str:
    """Return in one plain word why values are tried."""
    return ROLES.get(name, name)


def state(code: int) -> tuple[str, str]:
    """Return headline and level of a state, also of one that is not known here."""
    return STATES[code] if 0 <= code < len(STATES) else (f'State {code}', 'warn')


def headline(s: Snapshot, verdict: int) -> tuple[str, str]:
    """Return what matters most, and the level of its colour."""
    if verdict == STOPPED:
        return 'Stopped', 'bad'
    if s.optimizer is None:
        return 'Waiting for the optimiser', 'idle'
    if _left_early(s):
        return 'The optimiser is gone', 'bad'
    return state(s.optimizer.state)


def sentence(s: Snapshot, verdict: int) -> str:
    """Return what happens now, and what a person can do about it."""
    if verdict == STOPPED:
        after = ('The cause persists.' if s.safety.cause_persists
                 else 'Press Reset, then Arm, to go on.')
        return f'{_sentence(s.safety.reason)} The actuators are off. {after}'
    if s.optimizer is None:
        return 'No message of the optimiser has come yet.'
    if _left_early(s):
        return 'It ended before the run did. No told episode is lost: start it again with resume.'
    c = s.candidate
    if s.optimizer.state in (AWAITING_APPROVAL, RUNNING, VERIFYING) and c is not None:
        where = f', {WHERE[c.domain]}' if c.domain in WHERE else ''
        values = tuned_values(c)
        what = (values_text(values) if len(values) != 1
                else f'{c.names[0]} = {number(values[0])}')
        text = f'Episode {c.iteration}: {what}, {WHY.get(c.role, c.role)}{where}.'
        if len(c.lower) > 1:
            margin = min(c.lower[1:])
            text += (f' Guaranteed margin {margin:.2f}, 0 or more is safe.' if margin >= 0
                     else ' It is one of the starts, which count as safe.')
        return text
    return _sentence(s.optimizer.reason)


def tuned_values(candidate: Any) -> tuple[float, ...]:
    """Return the tuned values of a Candidate."""
    return tuple(candidate.values[:candidate.tuned or len(candidate.values)])


def _left_early(s: Snapshot) -> bool:
    """Tell whether the optimiser vanished in the middle of its run."""
    return s.optimizer_gone and s.optimizer.state not in (FINISHED, FAILED)


def _sentence(reason: str) -> str:
    """Return a reason as a sentence."""
    return reason[:1].upper() + reason[1:] + ('' if reason.endswith('.') else '.')


def risk(spent: float, promised: float) -> str:
    """Say how much of the promised failure probability is spent."""
    if not (math.isfinite(promised) and promised > 0):
        return '–'
    return ' of '.join(f'{p:.2f}' if p == 0 or p >= 0.01 else f'{p:.1g}'
                       for p in (spent, promised))


def outcome_name(code: int) -> str:
    """Return an outcome in words, also one that is not known here."""
    try:
        return Outcome(code).name.lower().replace('_', ' ')
    except ValueError:
        return f'outcome {code}'


def result(message: Any) -> tuple[str, str]:
    """Return an EpisodeResult in one line, and its level."""
    if not message.is_datum:
        what, level = message.reason, 'warn'
    else:
        what = ', '.join([f'reward {quantity(message.reward, message.reward_unit, 5)}', *(
            f'max |{name}| {quantity(peak, unit)}' for name, unit, peak, limit in zip(
                message.signals, message.signal_units, message.peaks, message.limits,
                strict=False) if math.isfinite(limit))])
        level = 'good' if min(message.margins, default=-1.0) >= 0 else 'bad'
    return f'episode {message.iteration} {outcome_name(message.outcome)}: {what}', level
