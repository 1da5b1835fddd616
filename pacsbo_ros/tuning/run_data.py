# Copyright the pacsbo_ros developers. Apache-2.0.
"""A run folder as it is read for pictures: nothing in it is locked, repaired or changed."""
from __future__ import annotations

from dataclasses import dataclass
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pacsbo_ros.furuta.outcome import Outcome
from pacsbo_ros.tuning.keepsakes import Keepsakes, Progress
from pacsbo_ros.tuning.run_folder import BEST_GAINS, JOURNAL, PARAMETERS
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.tuning.trial import START, VERIFICATION, Told
from pacsbo_ros.view.plane import GainPlane

STAGES = 4  # planes that show how the safe set grew


@dataclass(frozen=True)
class RunData:
    """Hold what a run left behind."""

    run_id: str
    names: tuple[str, ...]  # of the tuned gains
    told: tuple[Told, ...]
    notes: tuple[str, ...]  # sentences on what could not be read
    parameters: dict[str, Any]
    planes: tuple[GainPlane, ...]  # some stages, the last one last
    progress: tuple[Progress, ...]
    traces: dict[str, tuple[Told, Trace]]  # chosen episodes, by why they were chosen
    verified: bool  # the best gains were verified and written

    @classmethod
    def load(cls, folder: Path) -> RunData:
        """Read a run folder; ValueError if it is none."""
        journal = folder / JOURNAL
        if not journal.is_file():
            raise ValueError(f'{folder} is not a run folder: it has no {JOURNAL}')
        names, told, notes = _read(journal)
        parameters, note = _parameters(folder / PARAMETERS)
        keepsakes = Keepsakes(folder)
        planes = tuple(keepsakes.planes(STAGES))
        traces = {why: (item, trace) for why, item in _chosen(told).items()
                  if (trace := keepsakes.trace(item.trial.iteration)) is not None
                  and len(trace.samples)}
        left_out = [f'{name} could not be read and is left out.' for name in keepsakes.damaged]
        return cls(folder.resolve().name, names, tuple(told), (*notes, *note, *left_out),
                   parameters, planes, tuple(keepsakes.progress()), traces,
                   (folder / BEST_GAINS).exists())

    @property
    def best(self) -> Told | None:
        """Return the best episode among gains that were never unsafe."""
        return best_of(self.told)

    @property
    def alpha_limit(self) -> float:
        """Return the limit of alpha in rad; NaN if no trace tells it."""
        return next((trace.alpha_limit for _, trace in self.traces.values()), math.nan)

    def column(self, value) -> np.ndarray:
        """Return a number of every episode."""
        return np.array([value(t) for t in self.told], float)


def best_of(told: list[Told] | tuple[Told, ...]) -> Told | None:
    """Return the best episode among gains that were never unsafe; None if there is none."""
    unsafe = {t.trial.gains for t in told if not t.measured.safe}
    return max((t for t in told if t.trial.gains not in unsafe and t.trial.role != VERIFICATION),
               key=lambda t: t.measured.reward, default=None)


def _chosen(told: list[Told]) -> dict[str, Told]:
    """Choose the episodes whose movement tells most about the run."""
    if not told:
        return {}
    chosen = {'start': told[0]}
    best = best_of(told)
    if best is not None and best is not told[0]:
        chosen['best'] = best
    searched = [t for t in told if t.trial.role not in (START, VERIFICATION)]
    if searched:
        tightest = min(searched, key=lambda t: min(t.measured.values[1:]))
        chosen['closest to a limit' if tightest.measured.safe else 'worst'] = tightest
    if told[-1].trial.role == VERIFICATION:
        chosen['verification'] = told[-1]
    return chosen


def _read(journal: Path) -> tuple[tuple[str, ...], list[Told], list[str]]:
    """Return the names of the gains, the episodes up to the first damaged line, and notes."""
    names: tuple[str, ...] = ()
    told: list[Told] = []
    for number, line in enumerate(journal.read_text('utf-8', 'replace').splitlines(), start=1):
        try:
            data = json.loads(line)
            if number == 1:
                names = tuple(map(str, data['problem'].get('box', {}).get('names', ())))
            else:
                episode = Told.from_record(data)
                Outcome(episode.measured.outcome)
                told.append(episode)
        except (ValueError, KeyError, TypeError, AttributeError):
            return names, told, [f'Line {number} of {journal.name} could not be read; what '
                                 'follows it is not shown.']
    return names or tuple(f'gain {i + 1}' for i in range(
        len(told[0].trial.gains) if told else 0)), told, []


def _parameters(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of all nodes under 'node name', and notes."""
    result: dict[str, Any] = {}
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8')) if path.exists() else None
        for node, parameters in (content or {}).items():
            for name, value in parameters.get('ros__parameters', {}).items():
                result[f'{node.rsplit("/", 1)[-1]} {name}'] = value
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError):
        return {}, [f'{path.name} could not be read and is left out.']
    return result, []
