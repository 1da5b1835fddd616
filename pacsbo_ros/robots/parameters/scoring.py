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

"""What an episode is worth: from recorded signals to reward and margins."""
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.contract import EpisodeResult, Outcome
from pacsbo_ros.robots.parameters.task import Constraint, Task
from pacsbo_ros.robots.parameters.windows import frozen, Recorder, Series, WindowError

WORST = -1.0  # scaled: what is worse teaches nothing more, and would only spoil the scale
TRIPPED_MARGIN = -0.1  # at most, of the constraints on a signal that passed its limit
MOST_ROWS = 1000  # of a trace


def completed(task: Task, recorders: dict[str, Recorder], start: float,
              duration: float) -> EpisodeResult:
    """Score a whole window; a recording that is no good is INVALID_STATE and no datum."""
    peaks = tuple(recorders[s.name].peak for s in task.signals)
    try:
        window = {name: r.series(start, duration) for name, r in recorders.items()}
        if frozen(window):
            raise WindowError('not one signal changed during the episode')
        reward = task.reward(window)
        margins = tuple(_scaled(c.expression(window), c.scale) for c in task.constraints)
    except WindowError as error:
        return without_data(task, Outcome.INVALID_STATE, str(error), peaks, duration)
    for what, value in (('reward', reward),
                        *((f'constraint {c.name}', m)
                          for c, m in zip(task.constraints, margins, strict=True))):
        if not math.isfinite(value):
            return without_data(task, Outcome.INVALID_STATE, f'{what} is {value}', peaks,
                                duration)
    return EpisodeResult(
        Outcome.COMPLETED, Outcome.COMPLETED.sentence, True, reward,
        task.reward_scale.scaled(reward), margins, (), peaks, duration, trace(task, window))


def tripped(task: Task, recorders: dict[str, Recorder], start: float, duration: float,
            outcome: Outcome, reason: str, signal: str = '') -> EpisodeResult:
    """Score an episode that passed a limit: the worst reward, and no constraint kept of it."""
    margins = []
    try:
        window = {name: r.series(start) for name, r in recorders.items()}
    except WindowError:
        window = {}
    owners = [c.name for c in task.constraints if signal in c.expression.signals]
    for c in task.constraints:
        seen = _seen(c, window) if window else 0.0
        value = seen if math.isfinite(seen) else TRIPPED_MARGIN
        blamed = not owners or c.name in owners
        margins.append(min(value, TRIPPED_MARGIN) if blamed else value)
    return EpisodeResult(
        outcome, reason, True, task.reward_scale.reward(-1.0), -1.0, tuple(margins), (),
        tuple(recorders[s.name].peak for s in task.signals), duration,
        trace(task, window) if window else None)


def _scaled(value: float, scale: float) -> float:
    return value if math.isnan(value) else max(value / scale, WORST)


def _seen(constraint: Constraint, window: dict[str, Series]) -> float:
    """Return the margin of a window that was cut short; NaN where it has none."""
    try:
        return _scaled(constraint.expression(window), constraint.scale)
    except WindowError:
        return math.nan


def without_data(task: Task, outcome: Outcome, reason: str, peaks: tuple[float, ...],
                 duration: float = 0.0) -> EpisodeResult:
    """Report an episode that says nothing about the values."""
    return EpisodeResult(outcome, reason, False, 0.0, 0.0, (0.0,) * len(task.constraints), (),
                         peaks, duration)


def trace(task: Task, window: dict[str, Series]) -> NDArray[np.float64]:
    """Return all signals at the times of the most often sampled one: time first."""
    finest = max(window.values(), key=lambda s: len(s.t))
    t = finest.t[::max(1, -(-len(finest.t) // MOST_ROWS))]
    return np.column_stack([t, *(np.interp(t, window[s.name].t, window[s.name].y)
                                 for s in task.signals)])
