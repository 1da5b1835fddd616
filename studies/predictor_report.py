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
Measure predictors on fresh functions, beside their competitors.

    python -m studies.predictor_report --dimensions 1 2 4 --bounds 1000 --slow 200
    python -m studies.predictor_report --dimensions 3 --checkpoints predictors

The optimiser runs with the predictor alone in the loop. Every estimator then looks at the same
trajectories: the predictor, its network without calibration, the closed-form scale-free estimate
and gradient boosting (both with the same conformal calibration on the same runs), Bayes' rule with
all measurements (`ideal`), and every norm bound of the optimiser. Needs scikit-learn, and the work
folder of the training, for the competitors' data.

  symbol   meaning                                                       shape
  ratio    estimate / true local norm; NaN where there is none           (T, S, 3)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
import json
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core import SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array, SHAPES
from pacsbo_ros.core.rules import COMPLETE
from pacsbo_ros.core.settings import DOMAINS
from pacsbo_ros.executors import (
    add_executor_options,
    carry_out,
    executor_factory,
    MakeExecutor,
    UsageError,
    whole,
)
from pacsbo_ros.predictor.calibration import conformal_quantile
from pacsbo_ros.predictor.checkpoint import (
    Checkpoint,
    checkpoint_name,
    CheckpointError,
    load_checkpoint,
    SHIPPED,
)
from pacsbo_ros.predictor.command import writable
from pacsbo_ros.predictor.data import Family, make_problem, Plan, Trajectories
from pacsbo_ros.predictor.model import features
from pacsbo_ros.predictor.rows import rows
from pacsbo_ros.predictor.train import (
    ALGORITHM_1,
    CALIBRATION,
    Choices,
    estimate_ratios,
    LOOP,
    NETWORK,
    RECIPES,
    Trainer,
)
from pacsbo_ros.predictor.workers import trajectories
from rich.console import Console
from studies.ideal_norm import ideal_ratios
from studies.predictor_figures import draw
from threadpoolctl import threadpool_limits
from tqdm import tqdm

SEED = 900_001  # of the fresh functions; no training with a seed below 9000 has them
CANDIDATES = {1: 0, 2: 2500, 3: 2000, 4: 2000}  # 0: the optimiser's own choice
OPTIMISER_ITSELF = (1,)  # dimensions in which it runs; elsewhere the batch that equals it
SHOWN = (3, 6, 12, 20, 30)  # numbers of samples in the tables
MANY_STARTS = 6  # of the case that has more than the predictor was calibrated for
SLOW = ('scenario', 'cantelli', 'hoeffding', 'bernstein')  # they draw, or need a matrix
NORM_BINS = (0.5, 5.0, 15.0, 30.0)
PREDICTOR, RAW, CLOSED, BOOSTING, BAYES, IDEAL = (
    'predictor', 'network, uncalibrated', 'closed form, calibrated',
    'gradient boosting, calibrated', 'Bayes, all measurements', 'Bayes, informed')

# Gives ln(estimate/‖μ_A‖) before calibration, of runs at one step on one domain.
Guess = Callable[[Trajectories, int, int], Array]


def closed_form(runs: Trajectories, step: int, domain: int) -> Array:
    """Return -½ ln(1 - mean σ² on the domain): the scale-free estimate without its library."""
    unseen = 1.0 / runs.r[:, step, domain] / np.maximum(runs.share[:, step, domain], 1e-12)
    return -0.5 * np.log(np.maximum(1.0 - unseen, 1e-3))


def boosting(trainer: Trainer, window: int) -> Guess:
    """Fit gradient boosting with the network's inputs, loss and training runs."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    parts = [rows(trainer.training_runs(stage), window) for stage in (ALGORITHM_1, LOOP)]
    model = HistGradientBoostingRegressor(
        loss='quantile', quantile=trainer.choices.coverage, max_iter=150, random_state=0)
    model.fit(np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]))

    def guess(runs: Trajectories, step: int, domain: int) -> Array:
        return np.asarray(model.predict(features(
            runs.mean_norm[:, :step + 1], runs.r[:, :step + 1, domain], domain,
            runs.length_scales, runs.lam, window).astype(np.float32)))
    return guess


def calibrated_ratios(guess: Guess, held_out: Trajectories, runs: Trajectories,
                      coverage: float) -> Array:
    """Add to a guess, at each step and domain, the conformal quantile of its error."""
    T, S = runs.count.shape
    ratios = np.full((T, S, 3), np.nan)
    for step in range(int(runs.steps.max())):
        seen, fresh = (part.take(part.count[:, step] > 0) for part in (held_out, runs))
        for d in range(3):
            y = np.log(seen.label[:, step, d] / seen.mean_norm[:, step])
            shift = conformal_quantile(y - guess(seen, step, d), coverage)
            truth = np.log(fresh.label[:, step, d] / fresh.mean_norm[:, step])
            ratios[runs.count[:, step] > 0, step, d] = np.exp(
                guess(fresh, step, d) + shift - truth)
    return ratios


def bound_ratios(runs: Trajectories, plan: Plan, rule: str) -> Array:
    """Return B of a norm bound / true norm along one recorded run, at the numbers SHOWN."""
    S = runs.count.shape[1]
    ratios = np.full((1, S, 3), np.nan)
    settings = make_problem(plan, int(runs.index[0])).settings.replace(rule=rule)
    optimizer = SafeOptimizer(settings, seed=int(runs.index[0]) % 16)
    for N in range(1, int(runs.count[0].max()) + 1):
        optimizer.tell(runs.points[0, N - 1], [runs.values[0, N - 1]])
        if N in SHOWN:
            step = int(np.flatnonzero(runs.count[0] == N)[0])
            ratios[0, step] = [e.B for e in optimizer.state().norms] / runs.label[0, step]
    return ratios


def study(made: Checkpoint, trainer: Trainer, functions: int, bounds: dict[str, int],
          make_executor: MakeExecutor) -> tuple[Trajectories, dict[str, Array]]:
    """Run the loop on fresh functions; give the runs and the ratios of all estimators."""
    n, recipe, eta = made.dimension, trainer.recipe, made.predictor
    plan = Plan(Family(made.kernel, n, made.length_scales), SEED, trainer.choices.samples,
                CANDIDATES[n], recipe.main, Settings().lam)
    runs = trajectories(plan, 0, functions, make_executor, trainer.store, eta,
                        n in OPTIMISER_ITSELF, f'n = {n}, fresh functions')
    held_out = trainer.calibration_runs(CALIBRATION, recipe.main)
    coverage, T, S = eta.calibration.coverage, len(runs), runs.count.shape[1]
    most = int(runs.steps.max())
    found = {name: np.full((T, S, 3), np.nan) for name in (PREDICTOR, RAW)}
    found[PREDICTOR][:, :most] = estimate_ratios(eta, runs)
    found[RAW][:, :most] = estimate_ratios(trainer.named(NETWORK), runs)
    found[CLOSED] = calibrated_ratios(closed_form, held_out, runs, coverage)
    found[BOOSTING] = calibrated_ratios(boosting(trainer, eta.window), held_out, runs, coverage)
    each: dict[str, tuple[Callable[[Trajectories], Array], int]] = {
        name: (partial(ideal_ratios, plan=plan, level=coverage, informed=name == IDEAL,
                       numbers=SHOWN), functions) for name in (BAYES, IDEAL)}
    each |= {rule: (partial(bound_ratios, plan=plan, rule=rule), min(count, functions))
             for rule, count in bounds.items()}
    with make_executor() as executor:
        for name, (ratios_of, count) in each.items():
            singles = [runs.take(slice(i, i + 1)) for i in range(count)]
            ratios = np.concatenate(list(tqdm(
                executor.map(ratios_of, singles), total=count, desc=f'n = {n}, {name}',
                unit='function')))
            found[name] = np.concatenate([ratios, np.full((T - count, S, 3), np.nan)])
            if name in bounds:
                found[f'max(predictor, {name})'] = np.maximum(found[name], found[PREDICTOR])
    return runs, found


def elsewhere(made: Checkpoint, trainer: Trainer, functions: int,
              make_executor: MakeExecutor) -> str:
    """Test away from the main case: other length scales, λ and numbers of starts; a table."""
    recipe, lam = trainer.recipe, Settings().lam
    low, high = made.length_scales
    between = float(np.sqrt(low * recipe.main))
    cases: dict[str, dict[str, Any]] = {
        f'length scale {scale:.3g}': {'length_scale': scale, 'lam': lam}
        for scale in (low, between, high)}
    cases['length scales and λ drawn'] = {}
    cases[f'λ = {made.lam[1]:g}'] = {'length_scale': recipe.main, 'lam': made.lam[1]}
    cases |= {f'{k} start{"s" * (k > 1)}': {'length_scale': recipe.main, 'lam': lam, 'starts': k}
              for k in (1, MANY_STARTS)}
    cases['scale_free in the loop too'] = {
        'length_scale': recipe.main, 'lam': lam, 'rule': 'scale_free'}
    shown = [step for step in (0, 9, 24) if step + MANY_STARTS <= trainer.choices.samples]
    lines = [f'{functions} fresh functions each; hull / enlarged hull / box.', '',
             '| case | least coverage over all steps | ×over at ' + ' | '.join(
                 f'step {step + 1}' for step in shown) + ' |', '|---|---|' + '---|' * len(shown)]
    for name, changes in cases.items():
        plan = Plan(trainer.family, SEED + 1, trainer.choices.samples, recipe.candidates,
                    **changes)
        # The batch knows no bound; with one, the optimiser itself has to run.
        runs = trajectories(plan, 0, functions, make_executor, trainer.store, made.predictor,
                            plan.rule != 'none', name)
        ratios = estimate_ratios(made.predictor, runs)
        cells = [[_cell(ratios[:, step, d]) for d in range(3)] for step in range(ratios.shape[1])]
        least = ' / '.join(f'{min(row[d]["coverage"] for row in cells):.3f}' for d in range(3))
        lines.append(f'| {name} | {least} | ' + ' | '.join(
            _join(cells[step], 'over', 2) for step in shown) + ' |')
    return '\n'.join(lines) + '\n'


def summary(runs: Trajectories, found: dict[str, Array]) -> dict[str, Any]:
    """Condense the ratios to coverage and median over-estimate by N and domain."""
    shown = [N for N in SHOWN if runs.points.shape[1] >= N]
    report: dict[str, Any] = {
        'functions': len(runs), 'alive': {str(N): int(np.sum(runs.count == N)) for N in shown},
        'unsafe_runs': float(np.mean(runs.unsafe > 0)), 'methods': {}}
    first = int(runs.count[0, 0])
    for name, ratios in found.items():
        report['methods'][name] = {
            str(N): [_cell(ratios[:, N - first, d]) for d in range(3)] for N in shown}
    report['at_90'] = {
        name: {str(N): [round(_over_at_90(found[name][:, N - first, d]), 4) for d in range(3)]
               for N in shown} for name in found if name != RAW and 'max' not in name}
    eta = found[PREDICTOR][:, :int(runs.steps.max())]
    report['every_n'] = [[_cell(eta[:, step, d]) for d in range(3)]
                         for step in range(eta.shape[1])]
    bins = np.digitize(runs.norm, NORM_BINS[1:-1])
    report['by_norm'] = {
        f'{NORM_BINS[b]:g} to {NORM_BINS[b + 1]:g}': [
            _cell(eta[bins == b][:, :, d].ravel()) for d in range(3)] for b in range(3)}
    return report


def _cell(ratios: Array) -> dict[str, float]:
    valid = ratios[~np.isnan(ratios)]
    if not len(valid):
        return {'count': 0, 'coverage': float('nan'), 'over': float('nan')}
    return {'count': len(valid), 'coverage': round(float(np.mean(valid >= 1.0)), 4),
            'over': round(float(np.median(valid)), 4)}


def _over_at_90(ratios: Array) -> float:
    """Return the median over-estimate after scaling to a coverage of exactly 0.9, to compare."""
    valid = ratios[~np.isnan(ratios)]
    return float(np.median(valid) / np.quantile(valid, 0.1)) if len(valid) else float('nan')


def tables(report: dict[str, Any]) -> str:
    """Write the summary as Markdown."""
    shown = list(report['alive'])
    lines = [f'{report["functions"]} fresh functions; runs with an unsafe evaluation: '
             f'{report["unsafe_runs"]:.3f}. Cells: coverage on hull / enlarged hull / box, then '
             'the median over-estimate likewise.', '',
             '| estimator | functions | ' + ' | '.join(f'N = {N}' for N in shown) + ' |',
             '|---|---|' + '---|' * len(shown)]
    for name, row in report['methods'].items():
        cells = [f'{_join(row[N], "coverage", 3)}; ×{_join(row[N], "over", 2)}'
                 for N in shown]
        lines.append(f'| {name} | {row[shown[0]][0]["count"]} | ' + ' | '.join(cells) + ' |')
    lines += ['', 'Each scaled to a coverage of exactly 0.9, to compare like with like: median '
              'over-estimates.', '',
              '| estimator | ' + ' | '.join(f'N = {N}' for N in shown) + ' |',
              '|---|' + '---|' * len(shown)]
    lines += [f'| {name} | ' + ' | '.join(
        ' / '.join(f'{x:.2f}' for x in row[N]) for N in shown) + ' |'
        for name, row in report['at_90'].items()]
    least = [min(row[d]['coverage'] for row in report['every_n']) for d in range(3)]
    lines += ['', 'Least coverage of the predictor over every N: ' + ', '.join(
        f'{name} {value:.3f}' for name, value in zip(DOMAINS, least, strict=True)) + '.', '',
        '| norm | coverage over all N (hull / enlarged / box) | median over-estimate |',
        '|---|---|---|']
    lines += [f'| {name} | {_join(row, "coverage", 3)} | ×{_join(row, "over", 2)} |'
              for name, row in report['by_norm'].items()]
    return '\n'.join(lines) + '\n'


def _join(cells: list[dict[str, float]], what: str, digits: int) -> str:
    return ' / '.join(f'{cell[what]:.{digits}f}' for cell in cells)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='predictor report', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--dimensions', type=int, nargs='+', default=[1, 2, 4], choices=RECIPES,
                        help='(default: 1 2 4)')
    parser.add_argument('--kernel', default='matern32', choices=SHAPES,
                        help='(default: matern32)')
    parser.add_argument('--checkpoints', type=Path, default=SHIPPED,
                        help='folder of the checkpoints (default: the shipped ones)')
    parser.add_argument('--work', type=Path, default=Path('build/predictor'),
                        help='work folder of the training (default: build/predictor)')
    parser.add_argument('--out', type=Path, default=Path('predictors'),
                        help='folder for the report (default: predictors)')
    for name, default, words in (('functions', 1000, 'fresh functions'),
                                 ('bounds', 200, 'functions for the norm bounds'),
                                 ('slow', 40, 'functions for the slow norm bounds')):
        parser.add_argument(f'--{name}', type=whole(1), default=default,
                            help=f'{words} (default: {default})')
    add_executor_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Write numbers, tables and figures."""
    parser = _parser()
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _report(options))


# Threads of gradient boosting wait by spinning, which takes for ever beside other work.
@threadpool_limits.wrap(limits=1)
def _report(options: argparse.Namespace) -> None:
    if find_spec('sklearn') is None:
        raise UsageError('the report needs scikit-learn: pip install .[train]')
    writable('out', options.out)
    make_executor = executor_factory(options.workers, options.scheduler)
    for n in options.dimensions:
        path = options.checkpoints / checkpoint_name(options.kernel, n)
        try:
            made = load_checkpoint(path)
            choices = Choices(**{f.name: made.training[f.name] for f in fields(Choices)})
            trainer = Trainer(options.kernel, n, choices, make_executor, options.work)
            trainer.named(NETWORK)
        except CheckpointError as error:
            raise UsageError(
                f'{error}; --checkpoints has to hold a checkpoint and --work the training that '
                'made it, from which the competitors learn') from error
        except KeyError as error:
            raise UsageError(f'{path}: does not say how it was trained ({error})') from error
        runs, found = study(made, trainer, options.functions,
                            {rule: options.slow if rule in SLOW else options.bounds
                             for rule in COMPLETE}, make_executor)
        report = {'checkpoint': made.predictor.hash, **summary(runs, found)}
        (options.out / f'n{n}.json').write_text(json.dumps(report, indent=1) + '\n')
        (options.out / f'n{n}.md').write_text(tables(report))
        (options.out / f'n{n}_elsewhere.md').write_text(
            elsewhere(made, trainer, max(1, options.functions // 4), make_executor))
        draw(report, options.out / f'n{n}.png', n, IDEAL)
        Console().print(tables(report), soft_wrap=True)


if __name__ == '__main__':
    raise SystemExit(main())
