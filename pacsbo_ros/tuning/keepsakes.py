# Copyright the pacsbo_ros developers. Apache-2.0.
"""
What a run keeps for pictures beside its journal, one item per episode.

    traces/0007.csv   the movement of episode 7
    planes/0007.npz   what the model believed of the gain plane after it
    progress.jsonl    a line per episode: norm bounds and safe shares after it

None of it is needed to resume a run; a picture lacks what is missing or damaged here.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
import json
from pathlib import Path
from typing import TypeVar

from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.view.plane import GainPlane

Item = TypeVar('Item')


@dataclass(frozen=True)
class Progress:
    """Hold what the optimiser knew after an episode."""

    iteration: int
    domains: tuple[str, ...]
    functions: tuple[str, ...]
    norm_bound: tuple[float, ...]  # B: function by function, domain by domain
    safe_share: tuple[float, ...]  # per domain: share of all candidates that are safe there


class Keepsakes:
    """Keep the items of one run folder."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that exists; nothing is written yet."""
        self._traces = folder / 'traces'
        self._planes = folder / 'planes'
        self._progress = folder / 'progress.jsonl'
        self.damaged: list[str] = []  # names of files that could not be read

    def keep_trace(self, iteration: int, trace: Trace) -> None:
        """Keep the movement of an episode; a repeated one replaces it."""
        self._traces.mkdir(exist_ok=True)
        trace.save(self._traces / f'{iteration:04}.csv')

    def keep_plane(self, plane: GainPlane) -> None:
        """Keep the gain plane after an episode."""
        self._planes.mkdir(exist_ok=True)
        plane.save(self._planes / f'{plane.iteration:04}.npz')

    def keep_progress(self, progress: Progress) -> None:
        """Keep the norm bounds after an episode."""
        with self._progress.open('a', encoding='utf-8') as file:
            file.write(json.dumps(asdict(progress)) + '\n')

    def trace(self, iteration: int) -> Trace | None:
        """Return the movement of an episode; None if it was not kept or is damaged."""
        path = self._traces / f'{iteration:04}.csv'
        return self._load(Trace.load, path) if path.exists() else None

    def planes(self, stages: int | None = None) -> list[GainPlane]:
        """Return all sound planes in order, or this many from the first to the last."""
        files = sorted(self._planes.glob('*.npz')) if self._planes.is_dir() else []
        if stages is not None and len(files) > stages:
            files = [files[round(i * (len(files) - 1) / (stages - 1))] for i in range(stages)]
        return [plane for path in files if (plane := self._load(GainPlane.load, path))]

    def _load(self, load: Callable[[Path], Item], path: Path) -> Item | None:
        try:
            return load(path)
        except Exception:  # the readers of archives and numbers fail in many ways
            self.damaged.append(f'{path.parent.name}/{path.name}')
            return None

    def progress(self) -> list[Progress]:
        """Return the norm bounds in the order of the episodes; a torn line is left out."""
        found: dict[int, Progress] = {}
        if self._progress.exists():
            for line in self._progress.read_text(encoding='utf-8').splitlines():
                try:
                    item = Progress(**{key: tuple(value) if isinstance(value, Sequence)
                                       else value for key, value in json.loads(line).items()})
                except (ValueError, TypeError, AttributeError):
                    continue
                found[item.iteration] = item
        return [found[i] for i in sorted(found)]
