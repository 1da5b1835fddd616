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

"""What a robot measures, promises and has done so far, as rows that a page can list."""
from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, NamedTuple

from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.view.live import Snapshot
from pacsbo_ros.view.words import outcome_name


class SignalRow(NamedTuple):
    """One measured signal."""

    name: str
    unit: str
    limit: float  # NaN: not limited
    newest: float  # NaN: not known
    peak: float  # of the running episode, else of the last one told; NaN: not known


class ConstraintRow(NamedTuple):
    """One constraint."""

    name: str
    margin: float  # of the last told episode, scaled; NaN: not known
    guaranteed: float  # of the candidate; NaN: not known


def _at(values: Sequence[float], i: int) -> float:
    return float(values[i]) if i < len(values) else math.nan


def _word(values: Sequence[str], i: int) -> str:
    return values[i] if i < len(values) else ''


def signals(s: Snapshot) -> tuple[SignalRow, ...]:
    """Return all signals: as the robot names them, else as the optimiser does."""
    r, o = s.robot, s.optimizer
    if r is not None and len(r.signals):
        names, units, limits = r.signals, r.signal_units, r.signal_limits
    elif o is not None:
        names, units, limits = o.signals, o.signal_units, o.limits
    else:
        names, units, limits = tuple(s.newest), (), ()
    running = _running_peaks(s.controller)
    told: dict[str, float] = dict(zip(o.signals, o.peaks, strict=False)) if o is not None else {}
    return tuple(SignalRow(name, _word(units, i), _at(limits, i), s.newest.get(name, math.nan),
                           running.get(name, told.get(name, math.nan)))
                 for i, name in enumerate(names))


def _running_peaks(controller: Any) -> dict[str, float]:
    if controller is None or not controller.iteration:
        return {}
    return dict(zip(controller.signals, controller.peaks, strict=False))


def commands(s: Snapshot) -> tuple[tuple[str, str, float], ...]:
    """Return name, unit and value of what is sent to the actuators."""
    c, r = s.controller, s.robot
    units = dict(zip(r.commands, r.command_units, strict=False)) if r is not None else {}
    return tuple((name, units.get(name, ''), float(value)) for name, value in zip(
        c.commands, c.command, strict=False)) if c is not None else ()


def constraints(s: Snapshot) -> tuple[ConstraintRow, ...]:
    """Return all constraints."""
    o, c = s.optimizer, s.candidate
    names = o.constraints if o is not None else ()
    if not len(names) and s.robot is not None:
        names = s.robot.constraints
    lower = c.lower[1:] if c is not None else ()
    margins = o.margins if o is not None else ()
    return tuple(ConstraintRow(name, _at(margins, i), _at(lower, i))
                 for i, name in enumerate(names))


def outcomes(s: Snapshot) -> tuple[tuple[str, int], ...]:
    """Return how often episodes ended in which way; the good way always, others if they did."""
    counts = s.optimizer.outcome_count if s.optimizer is not None else ()
    return tuple((outcome_name(code), int(count)) for code, count in enumerate(counts)
                 if count or code == Outcome.COMPLETED)


def tuned(s: Snapshot) -> tuple[tuple[str, str, float], ...]:
    """Return name, unit and best value of all that is tuned; NaN before there is a best one."""
    o = s.optimizer
    if o is None:
        return ()
    return tuple((name, _word(o.units, i), _at(o.best_values, i))
                 for i, name in enumerate(o.names))
