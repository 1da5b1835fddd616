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
Train, calibrate, test and save the predictor of the rule `student`.

    python -m pacsbo_ros.predictor.train_multiplier --out pacsbo_ros/predictor/checkpoints

It needs torch: pip install .[train]. Stages, each on functions of its own:

1. The optimiser runs on random functions, some of which its model is wrong about (`loops`), with a
   band that is a random factor too narrow or too wide. One network for all numbers of parameters
   learns, by the pinball loss, the TAU quantile of the share of the band that the truth takes up
   at the edge of the safe set, from the history of the run.
2. The optimiser runs without a predictor on functions that its model is wrong about. The score of
   a run is the smallest constant with which nothing unsafe would have been proposed in it; c is
   the conformal quantile of the scores, by number of parameters, so that the promise of a run,
   delta, is kept there too. Where it is kept without, c is small and the predictor says 1.
3. The optimiser runs on fresh functions of each kind, with the predictor and without.

Runs are kept in the work folder: an interrupted training goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.executors import carry_out, executor_factory, MakeExecutor
from pacsbo_ros.predictor.calibration import conformal_quantile
from pacsbo_ros.predictor.command import check, parser_of
from pacsbo_ros.predictor.loops import LENGTH_SCALE, Loops, Plan, run, STRETCH
from pacsbo_ros.predictor.model import Network
from pacsbo_ros.predictor.multiplier import (
    features,
    FILE,
    KERNEL,
    MultiplierCheckpoint,
    MultiplierPredictor,
    save_multiplier,
)
from pacsbo_ros.predictor.workers import collect

TRAINING, CALIBRATION, TEST = (0, 1000, 2000)  # added to the seed: functions of each stage
TAU = 0.95  # level of the pinball loss
RISK = 0.1  # share of the calibration's runs that may be unsafe, the delta of the settings
HIDDEN = (16, 16)
VALIDATION = 0.15  # share of the training runs
CHUNK = 5  # runs of one task
TESTED = ('assumed', 'shorter', 'jump')
WINDOW = 25  # rows of a history, as in the settings
SAMPLES = 30  # of a run
WRONG = ('shorter', 'jump')  # kinds on which it is calibrated
CONSTANTS = (0.5, 4.0)  # c is cut to this range


@dataclass(frozen=True)
class Choices:
    """Hold the size and the seed of a training."""

    seed: int = 1
    functions: int = 120  # for each number of parameters
    calibration: int = 20  # of each kind
    test: int = 30  # of each kind
    epochs: int = 25


NUMBERS = {
    'seed': (0, None, 'the same seed gives the same checkpoint'),
    'functions': (4, None, 'functions of the training for each number of parameters'),
    'calibration': (4, None, 'functions of each kind of the calibration'),
    'test': (1, None, 'functions of each kind of the test'),
    'epochs': (1, None, 'passes over the training data'),
}


@dataclass(frozen=True)
class Task:
    """Name some runs; without a predictor they explore or, if tested, ask none."""

    made: ClassVar[type] = Loops
    plan: Plan
    first: int
    last: int  # exclusive
    predictor: MultiplierPredictor | None = None
    explore: bool = False

    def key(self) -> str:
        """Return a name that changes with everything the result depends on."""
        predictor = [] if self.predictor is None else [
            self.predictor.dimensions, self.predictor.constants, self.predictor.hash]
        text = json.dumps([asdict(self.plan), self.first, self.last, self.explore, predictor],
                          sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def work(task: Task) -> Loops:
    """Make the runs of one task."""
    return Loops.join([run(task.plan, i, task.predictor, task.explore)
                       for i in range(task.first, task.last)])


def rows(runs: Loops, dimension: int) -> tuple[Array, Array]:
    """Return inputs and targets of every step of every run, at every point that was looked at."""
    X, y = [], []
    for history, error, steps in zip(runs.history, runs.error, runs.steps.tolist(), strict=True):
        for step in range(steps):
            seen = error[step][np.isfinite(error[step])]
            X += [features(history[:step + 1][-WINDOW:], dimension)] * len(seen)
            y += seen.tolist()
    return np.array(X, dtype=np.float32), np.clip(y, 0.0, 3.0)


def run_scores(runs: Loops, eta: MultiplierPredictor, dimension: int) -> Array:
    """Return the constant that every run needs so that nothing unsafe is proposed in it."""
    scores = np.zeros(len(runs))
    for i, step in np.argwhere(runs.error[:, :, 0] > runs.slack):
        g = eta.raw(runs.history[i, :step + 1][-WINDOW:], dimension)
        scores[i] = max(scores[i], runs.slack[i, step] / max(g, 1e-3))
    return scores


@dataclass(frozen=True)
class Trainer:
    """Make the checkpoint for some numbers of parameters."""

    dimensions: tuple[int, ...]
    choices: Choices
    make_executor: MakeExecutor
    store: Path
    progress: bool = True

    def train(self) -> MultiplierCheckpoint:
        """Run all stages."""
        eta = MultiplierPredictor(self._fit(), self.dimensions, (1.0,) * len(self.dimensions))
        eta = replace(eta, constants=tuple(self._constant(eta, n) for n in self.dimensions))
        found = {str(n): self._test(eta, n) for n in self.dimensions}
        low, high = STRETCH
        return MultiplierCheckpoint(
            eta, KERNEL,
            tuple((low * LENGTH_SCALE[n], high * LENGTH_SCALE[n]) for n in self.dimensions),
            asdict(self.choices), found)

    def runs(self, plan: Plan, count: int, title: str,
             predictor: MultiplierPredictor | None = None, explore: bool = False) -> Loops:
        """Make the runs 0..count-1 of a plan."""
        tasks = [Task(plan, i, min(i + CHUNK, count), predictor, explore)
                 for i in range(0, count, CHUNK)]
        name = f'n = {plan.dimension}, {title}' if self.progress else ''
        return Loops.join(collect(work, tasks, self.make_executor, self.store, name))

    def _fit(self) -> Network:
        from pacsbo_ros.predictor.training import fit_rows  # torch, which only this step needs
        c = self.choices
        parts: list[list[tuple[Array, Array]]] = [[], []]
        for n in self.dimensions:
            plan = Plan(n, c.seed + TRAINING, samples=SAMPLES)
            made = self.runs(plan, c.functions, 'training', explore=True)
            cut = int((1 - VALIDATION) * len(made))
            parts[0].append(rows(made.take(slice(cut)), n))
            parts[1].append(rows(made.take(slice(cut, None)), n))
        train, rest = ((np.concatenate([X for X, _ in p]), np.concatenate([y for _, y in p]))
                       for p in parts)
        return fit_rows(train, rest, TAU, c.seed, HIDDEN, c.epochs, self.progress)[0]

    def _constant(self, eta: MultiplierPredictor, n: int) -> float:
        c = self.choices
        made = Loops.join([self.runs(Plan(n, c.seed + CALIBRATION, kind, False, SAMPLES),
                                     c.calibration, f'calibration, {kind}') for kind in WRONG])
        return float(np.clip(conformal_quantile(run_scores(made, eta, n), 1 - RISK),
                             *CONSTANTS))

    def _test(self, eta: MultiplierPredictor, n: int) -> dict[str, Any]:
        """Count unsafe runs and regret of each kind, with the predictor and without."""
        found: dict[str, Any] = {}
        for kind in TESTED:
            plan = Plan(n, self.choices.seed + TEST, kind, False, SAMPLES)
            for which, asked in (('with', eta), ('without', None)):
                made = self.runs(plan, self.choices.test, f'test, {kind}, {which}', asked)
                found.setdefault(kind, {'functions': len(made)})[which] = {
                    'unsafe_runs': int(np.sum(made.unsafe > 0)),
                    'regret_left': round(float(made.left.mean()), 4)}
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the predictor that the command line asks for."""
    parser = parser_of('train_multiplier', __doc__, LENGTH_SCALE, list(LENGTH_SCALE),
                       'build/multiplier', NUMBERS, Choices())
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _train(options))


def _train(options: argparse.Namespace) -> None:
    check(options)
    choices = Choices(**{name: getattr(options, name) for name in NUMBERS})
    made = Trainer(tuple(sorted(set(options.dimensions))), choices,
                   executor_factory(options.workers, options.scheduler), options.work).train()
    path = options.out / FILE
    print(f'{path}: sha256 {save_multiplier(path, made)}')
    for n, kinds in made.metrics.items():
        for kind, told in kinds.items():
            words = [f'{which} {told[which]["unsafe_runs"]} unsafe, regret '
                     f'{told[which]["regret_left"]:.3f}' for which in ('without', 'with')]
            print(f'  n = {n}, {kind}, {told["functions"]} runs: {"; ".join(words)}', flush=True)


if __name__ == '__main__':
    raise SystemExit(main())
