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
Train, calibrate and save norm predictors.

The shipped ones are made by

    python -m pacsbo_ros.predictor.train --dimensions 1 2 4 --out pacsbo_ros/predictor/checkpoints

and a file of yours is used by its path, load_predictor(path, settings) in Python or the parameter
predictor_checkpoint of the optimiser's node. It needs torch: pip install .[train]

Stages, each on functions of its own (so that train, validation, calibration and test sets share
none): Algorithm 1 with true norms → a first network → the real loop with that network in it →
the network → the real loop with the network → a first calibration → the real loop with the
calibrated predictor → the calibration → a test. Trajectories are kept in the work folder: an
interrupted training goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core.kernels import SHAPES
from pacsbo_ros.core.settings import DOMAINS, Settings
from pacsbo_ros.executors import carry_out, executor_factory, MakeExecutor
from pacsbo_ros.predictor.calibration import calibrate, uncalibrated
from pacsbo_ros.predictor.checkpoint import (
    Checkpoint,
    checkpoint_name,
    LARGEST_WINDOW,
    load_checkpoint,
    save_checkpoint,
)
from pacsbo_ros.predictor.command import check, parser_of
from pacsbo_ros.predictor.data import Family, Plan, Trajectories
from pacsbo_ros.predictor.model import Calibration, Network, NormPredictor
from pacsbo_ros.predictor.workers import trajectories

# Numbers of the stages; each has functions of its own.
ALGORITHM_1, LOOP, FIRST_CALIBRATION, CALIBRATION, TEST = range(5)
STAGES = ('Algorithm 1', 'real loop', 'first calibration', 'calibration', 'test')
# Predictors on the way, and which of them is in the loop of a stage; '' means true norms.
FIRST, NETWORK, DRAFT, FINAL = 'first', 'network', 'draft', 'final'
IN_THE_LOOP = ('', FIRST, NETWORK, DRAFT, FINAL)
OTHER_STARTS = {1: 0.1, 6: 0.1}  # number of starts: share of the training runs besides three
MARGIN = 0.015  # of coverage, where fewer than all functions of the calibration calibrate
VALIDATION = 0.15  # share of the training functions


@dataclass(frozen=True)
class Recipe:
    """Say what to train on in one dimension; the numbers of candidates keep it affordable."""

    length_scales: tuple[float, ...]  # lowest ... highest: where it is calibrated
    main: float  # the length scale with the largest calibration set, and of the test
    candidates: int
    effort: float = 1.0  # share of the functions, for dimensions where each costs more
    usual: float = 0.5  # share of the calibration at the default lambda, else covered less


RECIPES = {
    1: Recipe((0.05, 0.1, 0.2, 0.4), 0.1, 200, usual=0.0),  # covered enough without
    2: Recipe((0.1, 0.3, 0.6), 0.3, 900, 0.6),
    3: Recipe((0.15, 0.4, 0.8), 0.4, 1000, 0.5),
    4: Recipe((0.2, 0.5, 1.0), 0.5, 1000, 0.5),
}


@dataclass(frozen=True)
class Choices:
    """Hold the size and the seed of a training."""

    seed: int = 1
    functions: int = 1200  # of Algorithm 1, and as many again of the real loop
    calibration: int = 2400  # functions at the main length scale; half at the others
    test: int = 500
    samples: int = 30
    window: int = 25
    coverage: float = 0.925
    epochs: int = 30


# Numbers on the command line: the least and the most that make sense, and what they are.
NUMBERS = {
    'seed': (0, None, 'the same seed gives the same checkpoint'),
    'functions': (10, None, 'functions of Algorithm 1, and as many again of the real loop'),
    'calibration': (10, None, 'functions of the calibration; below 200 only to try it out'),
    'test': (1, None, 'fresh functions for the metrics in the checkpoint'),
    'samples': (6, 1000, 'samples of a run, its starts among them'),
    'window': (1, LARGEST_WINDOW, 'iterations that the network looks back'),
    'epochs': (1, None, 'passes over the training data'),
}


@dataclass(frozen=True)
class Trainer:
    """Make the checkpoint of one kernel and dimension."""

    kernel: str
    dimension: int
    choices: Choices
    make_executor: MakeExecutor
    store: Path
    progress: bool = True

    @property
    def recipe(self) -> Recipe:
        """Return the recipe of the dimension."""
        return RECIPES[self.dimension]

    @property
    def family(self) -> Family:
        """Return the problems that the checkpoint is for."""
        scales = self.recipe.length_scales
        return Family(self.kernel, self.dimension, (scales[0], scales[-1]))

    def train(self) -> Checkpoint:
        """Run all stages."""
        first = self._fit([self.training_runs(ALGORITHM_1)])
        self._name(FIRST, first, self._uncalibrated())
        network = self._fit([self.training_runs(stage) for stage in (ALGORITHM_1, LOOP)])
        self._name(NETWORK, network, self._uncalibrated())
        self._name(DRAFT, network, self._calibrate(FIRST_CALIBRATION, 4))
        final = self._name(FINAL, network, self._calibrate(CALIBRATION, 1))
        test = self.runs(TEST, self.choices.test, length_scale=self.recipe.main,
                         lam=Settings().lam)
        made = self._checkpoint(network, final.calibration)
        return replace(made, metrics=metrics(final, test))

    def runs(self, stage: int, count: int, **choices: Any) -> Trajectories:
        """Make trajectories of one stage, with the predictor of the stage before in the loop."""
        plan = Plan(self.family, 100 * self.choices.seed + stage, self.choices.samples,
                    self.recipe.candidates, **choices)
        scale = f', length scale {choices["length_scale"]:g}' if 'length_scale' in choices else ''
        title = f'n = {self.dimension}, {STAGES[stage % 10]}{scale}' if self.progress else ''
        name = IN_THE_LOOP[stage % 10]
        return trajectories(plan, 0, count, self.make_executor, self.store,
                            self.named(name) if name else None, title=title)

    def training_runs(self, stage: int) -> Trajectories:
        """Return runs with three starts and some with other numbers of starts, in random order."""
        count = int(self.recipe.effort * self.choices.functions)
        parts = [self.runs(stage, count)]
        for number, share in OTHER_STARTS.items():
            # Another seed by another stage number: these are other functions.
            parts.append(self.runs(stage + 10 * number, max(1, int(share * count)),
                                   starts=number))
        joined = Trajectories.join(parts)
        return joined.take(np.random.default_rng(self.choices.seed).permutation(len(joined)))

    def calibration_runs(self, stage: int, scale: float, share: int = 1) -> Trajectories:
        """Return the runs on which the predictor is calibrated at one length scale."""
        count = int(self.recipe.effort * self.choices.calibration) // share
        if scale != self.recipe.main:
            count //= 2
        usual = int(self.recipe.usual * count)
        parts = [self.runs(stage, max(1, count - usual), length_scale=scale)]
        if usual:  # other functions, hence another stage number
            parts.append(self.runs(stage + 10, usual, length_scale=scale, lam=Settings().lam))
        return Trajectories.join(parts)

    def named(self, name: str) -> NormPredictor:
        """Read a predictor that an earlier stage left in the work folder."""
        return load_checkpoint(self.path(name)).predictor

    def _fit(self, parts: list[Trajectories]) -> Network:
        from pacsbo_ros.predictor.training import fit  # torch, which only this step needs
        c = self.choices
        cut = [int((1 - VALIDATION) * len(p)) for p in parts]
        train = Trajectories.join([p.take(slice(k)) for p, k in zip(parts, cut, strict=True)])
        rest = Trajectories.join(
            [p.take(slice(k, None)) for p, k in zip(parts, cut, strict=True)])
        return fit(train, rest, c.window, c.coverage, c.seed, epochs=c.epochs,
                   progress=self.progress)[0]

    def _calibrate(self, stage: int, share: int) -> Calibration:
        eta = self.named(NETWORK)
        sets = {scale: self.calibration_runs(stage, scale, share)
                for scale in self.recipe.length_scales}
        every = self.choices.calibration // share
        levels = {scale: self.choices.coverage + (MARGIN if len(runs) < every else 0.0)
                  for scale, runs in sets.items()}
        return calibrate(eta.network, eta.window, sets, levels)

    def _uncalibrated(self) -> Calibration:
        return uncalibrated(self.choices.window, self.recipe.main, self.choices.coverage)

    def path(self, name: str) -> Path:
        """Return the file in which a stage leaves its predictor; every training has its own."""
        digest = sha256(json.dumps(self._training(), sort_keys=True).encode()).hexdigest()[:12]
        return self.store / f'{name}_{digest}_{checkpoint_name(self.kernel, self.dimension)}'

    def _training(self) -> dict[str, Any]:
        """Return all that the result depends on, as the checkpoint tells it."""
        return {**asdict(self.choices), 'family': _plain(asdict(self.family)),
                'recipe': _plain(asdict(self.recipe))}

    def _name(self, name: str, network: Network, calibration: Calibration) -> NormPredictor:
        """Save an intermediate predictor and read it back: rounded, and with its hash."""
        self.store.mkdir(parents=True, exist_ok=True)
        save_checkpoint(self.path(name), self._checkpoint(network, calibration))
        return self.named(name)

    def _checkpoint(self, network: Network, calibration: Calibration) -> Checkpoint:
        return Checkpoint(
            NormPredictor(network, calibration, self.choices.window), self.kernel,
            self.dimension, self.family.length_scales, self.family.lam, self._training(), {})


def metrics(eta: NormPredictor, runs: Trajectories) -> dict[str, Any]:
    """Return least coverage and median over-estimates of a predictor on some runs, by domain."""
    found: dict[str, Any] = {'functions': len(runs), 'least_coverage': {}, 'over': {}}
    ratios = estimate_ratios(eta, runs)
    for d, name in enumerate(DOMAINS):
        coverage = np.nanmean(np.where(np.isnan(ratios), np.nan, ratios >= 1.0), axis=0)[:, d]
        found['least_coverage'][name] = round(float(np.nanmin(coverage)), 4)
        found['over'][name] = {
            str(3 + step): round(float(np.nanmedian(ratios[:, step, d])), 4)
            for step in (0, 9, 27) if step < len(coverage)}
    return found


def estimate_ratios(eta: NormPredictor, runs: Trajectories) -> np.ndarray:
    """Return estimate / true local norm, (T, S, 3), NaN where a run has ended."""
    most = int(runs.steps.max())
    ratios = np.full((len(runs), most, 3), np.nan)
    for step in range(most):
        live = runs.count[:, step] > 0
        ratios[live, step] = eta.estimates(
            runs.mean_norm[live, :step + 1], runs.r[live, :step + 1], runs.length_scales[live],
            runs.lam[live]) / runs.label[live, step]
    return ratios


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in data.items()}


def _parser() -> argparse.ArgumentParser:
    parser = parser_of('train_predictor', __doc__, RECIPES, [1], 'build/predictor', NUMBERS,
                       Choices())
    parser.add_argument('--kernel', default='matern32', choices=SHAPES,
                        help='(default: matern32)')
    parser.add_argument('--coverage', type=_coverage, default=Choices().coverage,
                        help='share of functions whose norm an estimate has to reach '
                             f'(default: {Choices().coverage})')
    return parser


def _coverage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.5 <= value <= 0.98:
        raise argparse.ArgumentTypeError(f'{text}: choose from 0.5 to 0.98')
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the predictors that the command line asks for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _train_all(options))


def _train_all(options: argparse.Namespace) -> None:
    check(options)
    choices = Choices(**{f.name: getattr(options, f.name) for f in fields(Choices)})
    make_executor = executor_factory(options.workers, options.scheduler)
    for n in options.dimensions:
        made = Trainer(options.kernel, n, choices, make_executor, options.work).train()
        path = options.out / checkpoint_name(options.kernel, n)
        digest = save_checkpoint(path, made)
        print(f'{path}: sha256 {digest}\n{_words(made.metrics)}', flush=True)


def _words(found: dict[str, Any]) -> str:
    """Say in words what the test has measured."""
    lines = [f'  on {found["functions"]} fresh functions']
    for name, over in found['over'].items():
        steps = ', '.join(f'x{value:.2f} at N = {N}' for N, value in over.items())
        lines.append(f'  {name:9} coverage at least {found["least_coverage"][name]:.3f}, '
                     f'median estimate/norm {steps}')
    return '\n'.join(lines)


if __name__ == '__main__':
    raise SystemExit(main())
