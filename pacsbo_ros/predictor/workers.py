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

"""Work that survives: many tasks on an Executor, each result kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed, BrokenExecutor, Executor
from dataclasses import asdict, dataclass
import hashlib
import json
import os
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from pacsbo_ros.executors import MakeExecutor
from pacsbo_ros.predictor.batch import run_batch
from pacsbo_ros.predictor.data import Plan, run, Trajectories
from pacsbo_ros.predictor.model import NormPredictor
from tqdm import tqdm

CHUNK = 50  # trajectories of one task
ATTEMPTS = 5  # times that a pool may break before we give up


class Runs(Protocol):
    """What a task makes: runs, in named arrays."""

    def __init__(self, **arrays: np.ndarray) -> None: ...

    def __len__(self) -> int: ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, for a file."""


class Named(Protocol):
    """Some work: which runs, of which type, and a name for the file that keeps them."""

    made: ClassVar[type]

    @property
    def first(self) -> int:
        """Return the number of the first run."""

    @property
    def last(self) -> int:
        """Return the number after the last run."""

    def key(self) -> str:
        """Return a name that changes with everything the result depends on."""


T = TypeVar('T', bound=Named)
R = TypeVar('R', bound=Runs)


@dataclass(frozen=True)
class Task:
    """Name some trajectories; without a predictor they are the runs of Algorithm 1."""

    made: ClassVar[type] = Trajectories
    plan: Plan
    first: int
    last: int  # exclusive
    predictor: NormPredictor | None = None
    optimizer: bool = False  # run the optimiser itself instead of the equivalent batch

    def key(self) -> str:
        """Return a name that changes with everything the result depends on."""
        text = json.dumps([asdict(self.plan), self.first, self.last, self.optimizer,
                           self.predictor.hash if self.predictor else ''], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def work(task: Task) -> Trajectories:
    """Make the trajectories of one task."""
    indices, predictor = range(task.first, task.last), task.predictor
    if task.optimizer:
        return Trajectories.join([run(task.plan, i, predictor) for i in indices])
    return run_batch(task.plan, indices, predictor.estimates if predictor else None)


def trajectories(
    plan: Plan, first: int, last: int, make_executor: MakeExecutor, store: Path | None = None,
    predictor: NormPredictor | None = None, optimizer: bool = False, title: str = '',
) -> Trajectories:
    """Make the trajectories first..last-1 of a plan; what `store` holds is not made again."""
    tasks = [Task(plan, i, min(i + CHUNK, last), predictor, optimizer)
             for i in range(first, last, CHUNK)]
    return Trajectories.join(collect(work, tasks, make_executor, store, title))


def collect(
    function: Callable[[T], R], tasks: Sequence[T], make_executor: MakeExecutor,
    store: Path | None = None, title: str = '',
) -> list[R]:
    """Return function(task) for all tasks, in their order; a dead worker costs only its task."""
    found: dict[int, R] = {}
    if store is not None:
        store.mkdir(parents=True, exist_ok=True)
        for i, task in enumerate(tasks):
            kept = _read(store / f'{task.key()}.npz', task.made)
            if kept is not None:
                found[i] = kept
    total, done = sum(t.last - t.first for t in tasks), sum(len(t) for t in found.values())
    with tqdm(total=total, initial=done, desc=title, unit='function', disable=not title) as bar:
        for attempt in range(ATTEMPTS):
            missing = [i for i in range(len(tasks)) if i not in found]
            if not missing:
                break
            with make_executor() as executor:
                for i, result in _finished(executor, function, tasks, missing,
                                           attempt == ATTEMPTS - 1):
                    found[i] = result
                    if store is not None:
                        _write(store / f'{tasks[i].key()}.npz', result)
                    bar.update(len(result))
    return [found[i] for i in range(len(tasks))]


def _finished(
    executor: Executor, function: Callable[[T], R], tasks: Sequence[T],
    missing: Sequence[int], last_attempt: bool,
) -> Iterator[tuple[int, R]]:
    """Yield results as they come; tasks whose worker died are left for the next attempt."""
    futures: dict[Any, int] = {}
    try:
        for i in missing:
            futures[executor.submit(function, tasks[i])] = i
    except BrokenExecutor:
        if last_attempt:
            raise
    for future in as_completed(futures):
        try:
            yield futures[future], future.result()
        except BrokenExecutor:
            if last_attempt:
                raise


def _write(path: Path, result: Runs) -> None:
    part = path.with_suffix(f'.{os.getpid()}.part')
    with part.open('wb') as file:
        np.savez(file, **result.arrays())  # type: ignore[arg-type]
    os.replace(part, path)


def _read(path: Path, made: type) -> Any:
    """Read what was kept; a file that a crash has damaged is as good as none."""
    try:
        with np.load(path, allow_pickle=False) as data:
            return made(**{name: data[name] for name in data.files})
    except Exception:  # there are many ways to be damaged
        return None
