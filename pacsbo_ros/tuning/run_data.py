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

"""A run folder as it is read for pictures: nothing in it is locked, repaired or changed."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.files import (
    FileError,
    parse_json,
    parse_yaml,
    read_bytes,
    RECORDS,
    TEXT,
)
from pacsbo_ros.robots.contract import Description, RewardScale, Signal
from pacsbo_ros.tuning.report_files import Progress, ReportFiles
from pacsbo_ros.tuning.run_folder import BEST_GAINS, JOURNAL, PARAMETERS
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.tuning.trial import Told, VERIFICATION
from pacsbo_ros.tuning.verification import Gain, gain
from pacsbo_ros.view.slices import Slices

STAGES = 4  # pictures that show how the safe set grew


@dataclass(frozen=True)
class RunData:
    """Hold what a run left behind."""

    run_id: str
    robot: Description  # what was tuned on; its tunables are left out
    names: tuple[str, ...]  # of the tuned values
    units: tuple[str, ...]
    fixed: dict[str, float]  # what the robot could tune and the run left as it was
    told: tuple[Told, ...]
    notes: tuple[str, ...]  # sentences on what could not be read
    parameters: dict[str, Any]
    slices: tuple[Slices, ...]  # some stages, the last one last
    progress: tuple[Progress, ...]
    traces: dict[str, tuple[Told, Trace]]  # chosen episodes, by why they were chosen
    verified: bool  # the best values were verified and written

    @classmethod
    def load(cls, folder: Path) -> RunData:
        """Read a run folder; ValueError if it is none."""
        journal = folder / JOURNAL
        if not journal.is_file():
            raise ValueError(f'{folder} is not a run folder: it has no {JOURNAL}')
        problem, told, notes = _read(journal)
        try:
            described = _described(problem, told)
        except (KeyError, TypeError, ValueError, AttributeError):
            described = _described({}, told)
            notes.append(f'The first line of {journal.name} does not describe a robot.')
        parameters, note = _parameters(folder / PARAMETERS)
        report_files = ReportFiles(folder)
        slices = tuple(report_files.slices(STAGES))
        progress = tuple(report_files.progress())
        traces = {why: (item, trace) for why, item in _chosen(told, progress).items()
                  if (trace := report_files.trace(item.trial.iteration)) is not None
                  and len(trace.samples)}
        left_out = [f'{name} could not be read and is left out.' for name in report_files.damaged]
        return cls(folder.resolve().name, *described, tuple(told),
                   (*notes, *note, *left_out), parameters, slices, progress, traces,
                   (folder / BEST_GAINS).exists())

    @property
    def best(self) -> Told | None:
        """Return the episode with the values that the run called its best."""
        return best_of(self.told, self.progress)

    @property
    def gain(self) -> Gain | None:
        """Return what the verification of the best values showed."""
        return gain(self.told, self.best.trial.values) if self.best else None

    def column(self, value: Callable[..., float]) -> np.ndarray:
        """Return a number of every episode."""
        return np.array([value(t) for t in self.told], float)


def best_of(told: Sequence[Told], progress: Sequence[Progress] = ()) -> Told | None:
    """Return the episode with the values that the run called its best; None if there is none."""
    unsafe = {t.trial.values for t in told if not t.measured.safe}
    safe = [t for t in told if t.trial.values not in unsafe and t.trial.searches]
    # The best reading of all is but a lucky one: it only stands in where nothing else is known.
    named = [t.trial.values for t in reversed(told) if t.trial.role == VERIFICATION]
    named += [p.best_values for p in progress[-1:]]
    chosen = next((found for values in named
                   if (found := [s for s in safe if s.trial.values == values])), safe)
    return max(chosen, key=lambda t: t.measured.reward, default=None)


def _chosen(told: list[Told], progress: Sequence[Progress]) -> dict[str, Told]:
    """Choose the episodes whose movement tells most about the run."""
    if not told:
        return {}
    tightest = min(told, key=lambda t: t.measured.margin)
    checks = [t for t in told if t.trial.role == VERIFICATION]
    why: dict[int, list[str]] = {}
    for reason, item in (('start', told[0]), ('best', best_of(told, progress)),
                         ('closest to a limit' if tightest.measured.safe else 'worst', tightest),
                         ('verification', checks[-1] if checks else None)):
        if item is not None:
            why.setdefault(item.trial.iteration, []).append(reason)
    episodes = {t.trial.iteration: t for t in told}
    return {', '.join(reasons): episodes[i] for i, reasons in why.items()}


def _read(journal: Path) -> tuple[dict[str, Any], list[Told], list[str]]:
    """Return the problem, the episodes up to the first damaged line, and notes."""
    problem: dict[str, Any] = {}
    told: list[Told] = []
    for number, line in enumerate(read_bytes(journal, RECORDS).splitlines(), start=1):
        try:
            data = parse_json(line, journal.name)
            if number == 1:
                problem = dict(data['problem'])
            else:
                told.append(Told.from_record(data))
        except (ValueError, KeyError, TypeError, AttributeError):
            return problem, told, [f'Line {number} of {journal.name} could not be read; what '
                                   'follows it is not shown.']
    return problem, told, []


def _described(problem: dict[str, Any], told: list[Told]) -> tuple[
        Description, tuple[str, ...], tuple[str, ...], dict[str, float]]:
    """Return robot, names and units of the tuned values, and what was fixed."""
    robot = problem.get('robot', {})
    count = len(told[0].trial.values) if told else 0
    margins, peaks = ((len(told[0].measured.margins), len(told[0].measured.peaks)) if told
                      else (0, 0))
    names = tuple(problem.get('box', {}).get('names', ())) or tuple(
        f'value {i + 1}' for i in range(count))
    units = {t['name']: t['unit'] for t in robot.get('tunables', ())}
    signals = _signals(robot.get('signals')) or tuple(
        Signal(f'signal {i + 1}', '') for i in range(peaks))
    constraints = tuple(robot.get('constraints', ())) or tuple(
        f'constraint {i + 1}' for i in range(margins))
    description = Description(
        robot.get('name', 'robot'), (), signals, _signals(robot.get('commands')), constraints,
        RewardScale(**robot.get('reward', {})), robot.get('plant', ''))
    return (description, names, tuple(units.get(name, '') for name in names),
            problem.get('fixed', {}))


def _signals(items: list[dict[str, Any]] | None) -> tuple[Signal, ...]:
    return tuple(Signal(item['name'], item['unit'], item['limit']) for item in items or ())


def _parameters(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of all nodes under 'node name', and notes."""
    result: dict[str, Any] = {}
    try:
        content = parse_yaml(read_bytes(path, TEXT), path.name) if path.exists() else None
        for node, parameters in (content or {}).items():
            for name, value in parameters.get('ros__parameters', {}).items():
                result[f'{node.rsplit("/", 1)[-1]} {name}'] = value
    except (FileError, AttributeError, TypeError):
        return {}, [f'{path.name} could not be read and is left out.']
    return result, []
