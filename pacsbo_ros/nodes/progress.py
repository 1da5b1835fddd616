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

"""The optimiser's messages, made from a Tuning."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.core.ledger import Entry
from pacsbo_ros.core.optimizer import SafeOptimizer
from pacsbo_ros.msg import Candidate, EpisodeResult, GainMap, GainSlice, OptimizerState
from pacsbo_ros.robots.contract import Description, Outcome
from pacsbo_ros.tuning.report_files import Progress
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.tuning.trial import Measured, Told, Trial
from pacsbo_ros.tuning.tuning import Problem, Tuning
from rclpy.node import Node
from scipy.spatial import ConvexHull, QhullError

MAP_POINTS = 50  # grid points of a slice along each value
CURVE_POINTS = 200  # along the only one
MOST_SLICES = 15  # of six values every pair
PURPOSES = {'false alarms': 'the test that notices when the model was wrong',
            'one experiment': 'calling the next values safe'}


def candidate(node: Node, run_id: str, problem: Problem, trial: Trial,
              needs_approval: bool) -> Candidate:
    """Return the message that announces a trial."""
    values = problem.complete(trial.values)
    return Candidate(
        stamp=node.get_clock().now().to_msg(), run_id=run_id, iteration=trial.iteration,
        names=list(values), units=[problem.robot.tunable(name).unit for name in values],
        values=list(values.values()), tuned=problem.box.dimension, domain=trial.domain,
        role=trial.role, mean=list(trial.mean), lower=list(trial.lower), upper=list(trial.upper),
        needs_approval=needs_approval)


def state(node: Node, run_id: str, tuning: Tuning, state: int, reason: str,
          trial: Trial | None, outcomes: Sequence[int]) -> OptimizerState:
    """Return the message that tells how the run goes."""
    problem, robot = tuning.problem, tuning.problem.robot
    message = OptimizerState(
        stamp=node.get_clock().now().to_msg(), run_id=run_id, robot=robot.name, state=state,
        reason=reason, iteration=len(tuning.told), budget=tuning.budget,
        names=list(problem.box.names), units=list(problem.units), reward_unit=robot.reward.unit,
        constraints=list(robot.constraints), signals=[s.name for s in robot.signals],
        signal_units=[s.unit for s in robot.signals],
        limits=[math.nan if s.limit is None else s.limit for s in robot.signals],
        delta=problem.settings.delta, outcome_count=list(outcomes), reward=math.nan,
        margin=math.nan, best_reward=math.nan, best_margin=math.nan)
    if trial is not None:
        message.values = list(trial.values)
    if tuning.told:
        _fill_last(message, robot, tuning.told[-1])
    best = tuning.best
    if best is not None:
        message.best_values = list(best.trial.values)
        message.best_reward = best.measured.reward
        message.best_margin = best.measured.margin
        message.best_peaks = list(best.measured.peaks)
    if tuning.model is not None:
        _fill_model(message, robot, tuning.model)
    message.warnings = list(tuning.notices)
    return message


def _fill_last(message: OptimizerState, robot: Description, last: Told) -> None:
    """Say what the last episode gave and what was expected of it."""
    message.reward = last.measured.reward
    message.margin = last.measured.margin
    message.margins = list(last.measured.margins)
    message.peaks = list(last.measured.peaks)
    if last.trial.mean:
        message.predicted_reward = robot.reward.reward(last.trial.mean[0])
        message.predicted_margin = min(last.trial.mean[1:])
        message.predicted_margin_lower = min(last.trial.lower[1:])


def _fill_model(message: OptimizerState, robot: Description, model: SafeOptimizer) -> None:
    """Say what the model knows."""
    known = model.state()
    message.domains = list(known.safe_share)
    message.safe_share = [known.safe_share[d] * known.domain_share[d] for d in message.domains]
    message.functions = ['reward', *robot.constraints]
    message.norm_bound = [norm.B for norm in known.norms]
    message.delta, message.delta_spent = known.delta, known.spent
    message.ledger = ledger(known.entries)
    if len(model.settings.length_scale_factors) > 1 and known.length_scale_weights:
        middle = float(np.exp(np.mean(np.log(model.settings.length_scales))))
        message.length_scales = [middle * f for f in model.settings.length_scale_factors]
        message.length_scale_weights = [w for row in known.length_scale_weights for w in row]
    innermost = message.norm_bound[::len(message.domains)]
    message.reward_norm, message.constraint_norm = innermost[0], max(innermost[1:])


def ledger(entries: Sequence[Entry]) -> list[str]:
    """Return one line for each purpose: how much was spent on it, and how often."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.purpose, []).append(entry)
    lines = []
    for purpose, group in groups.items():
        times = f', spread over {len(group)} episodes' if len(group) > 1 else ''
        lines.append(f'{math.fsum(e.amount for e in group):.3g} for '
                     f'{PURPOSES.get(purpose, purpose)}{times}')
    return lines


def gain_map(node: Node, run_id: str, tuning: Tuning) -> GainMap | None:
    """Return what the model believes, in slices through the best values."""
    problem, box, best = tuning.problem, tuning.problem.box, tuning.best
    model = tuning.model
    if best is None or model is None:
        return None
    pairs = list(combinations(range(box.dimension), 2))[:MOST_SLICES] or [(0, 0)]
    measured = [t.measured for t in tuning.told]
    return GainMap(
        stamp=node.get_clock().now().to_msg(), run_id=run_id, iteration=len(tuning.told),
        names=list(box.names), units=list(problem.units), lower=list(box.lower),
        upper=list(box.upper), best=list(best.trial.values),
        slices=[_slice(problem, model, best.trial.point, x, y) for x, y in pairs],
        samples=[v for t in tuning.told for v in t.trial.values],
        sample_reward=[m.reward for m in measured], sample_margin=[m.margin for m in measured],
        sample_outcome=[m.outcome for m in measured], sample_safe=[m.safe for m in measured],
        sample_margins=[v for m in measured for v in m.margins],
        sample_peaks=[v for m in measured for v in m.peaks])


def _slice(problem: Problem, model: SafeOptimizer, best: Sequence[float], x: int,
           y: int) -> GainSlice:
    """Return the slice through the best point along two values, or along the only one."""
    columns, rows = (CURVE_POINTS, 1) if x == y else (MAP_POINTS, MAP_POINTS)
    points = np.tile(best, (rows * columns, 1))
    points[:, x] = np.tile(np.linspace(0.0, 1.0, columns), rows)
    if x != y:
        points[:, y] = np.repeat(np.linspace(0.0, 1.0, rows), columns)
    band = model.predict(points)
    tightest = band.low[1:].argmin(axis=0), np.arange(len(points))
    scale = problem.robot.reward

    def floats(values: ArrayLike) -> list[float]:
        return np.asarray(values, np.float32).tolist()

    lower = band.low[1:].min(axis=0)
    return GainSlice(
        x=x, y=y, columns=columns, rows=rows, reward_mean=floats(scale.reward(band.mu[0])),
        reward_lower=floats(scale.reward(band.low[0])),
        reward_upper=floats(scale.reward(band.up[0])), margin_mean=floats(band.mu[1:][tightest]),
        margin_lower=floats(lower), margin_upper=floats(band.up[1:][tightest]),
        safe=model.safe(points).tolist(),
        hull=_outline(problem, model.hull_vertices(False), x, y),
        enlarged=_outline(problem, model.hull_vertices(True), x, y))


def _outline(problem: Problem, vertices: NDArray[np.float64], x: int, y: int) -> list[float]:
    """Return the corners, in order, of the hull of the vertices' projection."""
    physical = problem.box.to_physical(vertices)
    if x == y:
        return [physical[:, x].min(), 0.0, physical[:, x].max(), 0.0]
    shadow = physical[:, [x, y]]
    try:
        return shadow[ConvexHull(vertices[:, [x, y]]).vertices].ravel().tolist()
    except QhullError:  # a point or a line: its two ends
        order = np.lexsort(shadow.T[::-1])
        return shadow[order[[0, -1]]].ravel().tolist()


def problem_with(result: EpisodeResult, goal: RunEpisode.Goal, robot: Description) -> str:
    """Say why a result cannot be used; empty if it can."""
    given = dict(zip(goal.names, goal.values, strict=True))
    if (result.run_id, result.iteration) != (goal.run_id, goal.iteration) or len(
            result.names) != len(result.values) or given != dict(
                zip(result.names, result.values, strict=True)):
        return 'belongs to another goal'
    if result.outcome not in tuple(Outcome):
        return f'has the unknown outcome {result.outcome}'
    if not result.is_datum:
        return ''
    if tuple(result.constraints) != robot.constraints or len(result.margins) != len(
            robot.constraints):
        return (f'has the constraints {list(result.constraints)} with {len(result.margins)} '
                f'margins instead of {list(robot.constraints)}')
    if len(result.peaks) != len(robot.signals):
        return f'has {len(result.peaks)} peaks for {len(robot.signals)} signals'
    if len(result.noise) not in (0, 1 + len(result.margins)):
        return f'has {len(result.noise)} noises for {1 + len(result.margins)} outputs'
    numbers = (result.reward, result.scaled_reward, *result.margins, *result.noise,
               *result.peaks)
    return '' if all(map(math.isfinite, numbers)) else f'has numbers that are not finite {numbers}'


def measured(result: EpisodeResult) -> Measured:
    """Return what the optimiser may learn from a result."""
    return Measured(result.reward, result.scaled_reward, tuple(result.margins),
                    tuple(result.noise), tuple(result.peaks), result.outcome, result.reason)


def trace(result: RunEpisode.Result, robot: Description) -> Trace:
    """Return the movement that was reported with a result."""
    limits = {s.name: s.limit for s in robot.signals if s.limit is not None}
    columns = tuple(result.trace_columns)
    samples = np.asarray(result.trace, float).reshape(-1, max(1, len(columns)))
    return Trace(columns, tuple(result.trace_units), samples,
                 tuple(limits.get(name, math.nan) for name in columns))


def known(message: OptimizerState) -> Progress:
    """Return what a state says of norm bounds, safe shares, risk, length scale and the best."""
    return Progress(message.iteration, tuple(message.domains), tuple(message.functions),
                    tuple(message.norm_bound), tuple(message.safe_share), message.delta,
                    message.delta_spent, tuple(message.ledger), tuple(message.warnings),
                    tuple(message.length_scales), tuple(message.length_scale_weights),
                    tuple(message.best_values), message.best_reward)
