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

"""
What a run keeps for pictures beside its journal, one item per episode.

    traces/0007.csv   the movement of episode 7
    slices/0007.npz   what the model believed after it
    progress.jsonl    a line per episode: norm bounds, safe shares and risk after it

None of it is needed to resume a run; a picture lacks what is missing or damaged here.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
import json
import math
from pathlib import Path
from typing import Any, TypeVar

from pacsbo_ros.files import FileError, parse_json, read_bytes, RECORDS
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.view.slices import Slices

Item = TypeVar('Item')


@dataclass(frozen=True)
class Progress:
    """Hold what the optimiser knew after an episode."""

    iteration: int
    domains: tuple[str, ...]
    functions: tuple[str, ...]
    norm_bound: tuple[float, ...]  # B: function by function, domain by domain
    safe_share: tuple[float, ...]  # per domain: share of all candidates that are safe there
    delta: float = math.nan  # promised failure probability of the run
    delta_spent: float = math.nan  # of it spent so far
    ledger: tuple[str, ...] = ()  # who spent how much
    warnings: tuple[str, ...] = ()  # what a person should know
    length_scales: tuple[float, ...] = ()  # in question, shares of the box
    length_scale_weights: tuple[float, ...] = ()  # of the data for each, function by function
    best_values: tuple[float, ...] = ()  # what the run called its best then; empty if none
    best_reward: float = math.nan  # its reading

    @classmethod
    def from_record(cls, record: Any) -> Progress:
        """Read what asdict() gave and JSON kept; FileError if it is something else."""
        try:
            fields: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in record.items()}
            item = cls(**fields)
            sound = (type(item.iteration) is int
                     and all(isinstance(w, str) for w in (*item.domains, *item.functions))
                     and all(type(n) in (int, float) and math.isfinite(n)
                             for n in (*item.norm_bound, *item.safe_share, *item.best_values))
                     and type(item.best_reward) in (int, float)
                     and len(item.norm_bound) == len(item.functions) * len(item.domains)
                     and len(item.safe_share) == len(item.domains))
        except (AttributeError, TypeError, OverflowError):
            sound = False
        if not sound:
            raise FileError('it is no record of progress')
        return item


class ReportFiles:
    """Keep the items of one run folder."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that exists; nothing is written yet."""
        self._traces = folder / 'traces'
        self._slices = folder / 'slices'
        self._progress = folder / 'progress.jsonl'
        self.damaged: list[str] = []  # names of files that could not be read

    def keep_trace(self, iteration: int, trace: Trace) -> None:
        """Keep the movement of an episode; a repeated one replaces it."""
        self._traces.mkdir(exist_ok=True)
        trace.save(self._traces / f'{iteration:04}.csv')

    def keep_slices(self, slices: Slices) -> None:
        """Keep what the model believes after an episode."""
        self._slices.mkdir(exist_ok=True)
        slices.save(self._slices / f'{slices.iteration:04}.npz')

    def keep_progress(self, progress: Progress) -> None:
        """Keep what the optimiser knows after an episode."""
        with self._progress.open('a', encoding='utf-8') as file:
            file.write(json.dumps(asdict(progress)) + '\n')

    def trace(self, iteration: int) -> Trace | None:
        """Return the movement of an episode; None if it was not kept or is damaged."""
        path = self._traces / f'{iteration:04}.csv'
        return self._load(Trace.load, path) if path.exists() else None

    def slices(self, stages: int | None = None) -> list[Slices]:
        """Return all sound items in order, or this many from the first to the last."""
        files = sorted(self._slices.glob('*.npz')) if self._slices.is_dir() else []
        if stages is not None and len(files) > stages:
            files = [files[round(i * (len(files) - 1) / (stages - 1))] for i in range(stages)]
        return [item for path in files if (item := self._load(Slices.load, path))]

    def _load(self, load: Callable[[Path], Item], path: Path) -> Item | None:
        try:
            return load(path)
        except Exception:  # the readers of archives and numbers fail in many ways
            self.damaged.append(str(path.relative_to(self._progress.parent)))
            return None

    def progress(self) -> list[Progress]:
        """Return what was known in the order of the episodes; a damaged line is left out."""
        found: dict[int, Progress] = {}
        if self._progress.exists():
            content = self._load(lambda path: read_bytes(path, RECORDS), self._progress)
            for line in (content or b'').splitlines():
                try:
                    item = Progress.from_record(parse_json(line, self._progress.name))
                except FileError:
                    continue
                found[item.iteration] = item
        return [found[i] for i in sorted(found)]
