# Copyright the pacsbo_ros developers. Apache-2.0.
"""The optimiser's messages, made from a Tuning."""
from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from rclpy.node import Node

from pacsbo_ros.action import RunEpisode
from pacsbo_ros.furuta.episode import TRACE_COLUMNS
from pacsbo_ros.furuta.outcome import Outcome
from pacsbo_ros.furuta.scaling import Scaling
from pacsbo_ros.msg import Candidate, EpisodeResult, GainMap, OptimizerState
from pacsbo_ros.tuning.keepsakes import Progress
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.tuning.trial import Trial
from pacsbo_ros.tuning.tuning import Tuning

MAP_POINTS = 50  # grid points of a gain map along each gain
FUNCTIONS = ('reward', 'alpha_margin', 'theta_margin')


def _reward(scaling: Scaling, scaled):
    """Return the reward that the optimiser sees as `scaled`."""
    return scaling.reward_offset + scaling.reward_scale * scaled


def candidate(node: Node, run_id: str, names: Sequence[str], trial: Trial,
              needs_approval: bool) -> Candidate:
    """Return the message that announces a trial."""
    return Candidate(
        stamp=node.get_clock().now().to_msg(), run_id=run_id, iteration=trial.iteration,
        names=list(names), gains=list(trial.gains), domain=trial.domain, role=trial.role,
        mean=list(trial.mean), lower=list(trial.lower), upper=list(trial.upper),
        needs_approval=needs_approval)


def state(node: Node, run_id: str, tuning: Tuning, state: int, reason: str,
          trial: Trial | None, outcomes: Sequence[int],
          scaling: Scaling) -> OptimizerState:
    """Return the message that tells how the run goes."""
    message = OptimizerState(
        stamp=node.get_clock().now().to_msg(), run_id=run_id, state=state, reason=reason,
        iteration=len(tuning.told), budget=tuning.budget, names=list(tuning.problem.box.names),
        outcome_count=list(outcomes), reward=math.nan, max_alpha=math.nan, margin=math.nan,
        best_reward=math.nan, best_max_alpha=math.nan)
    if trial is not None:
        message.gains = list(trial.gains)
    if tuning.told:
        last = tuning.told[-1]
        message.reward = last.measured.reward
        message.max_alpha = last.measured.max_alpha
        message.margin = min(last.measured.values[1:])
        if last.trial.mean:
            message.predicted_reward = _reward(scaling, last.trial.mean[0])
            message.predicted_margin = min(last.trial.mean[1:])
            message.predicted_margin_lower = min(last.trial.lower[1:])
    best = tuning.best
    if best is not None:
        message.best_gains = list(best.trial.gains)
        message.best_reward = best.measured.reward
        message.best_max_alpha = best.measured.max_alpha
    if tuning.model is not None:
        known = tuning.model.state()
        message.domains = list(known.safe_share)
        message.safe_share = [known.safe_share[d] * known.domain_share[d]
                              for d in message.domains]
        message.functions = list(FUNCTIONS[:tuning.problem.settings.outputs])
        message.norm_bound = [norm.B for norm in known.norms]
        innermost = message.norm_bound[::len(message.domains)]
        message.reward_norm, message.constraint_norm = innermost[0], max(innermost[1:])
    return message


def gain_map(node: Node, run_id: str, tuning: Tuning, scaling: Scaling) -> GainMap | None:
    """Return what the model believes over the first two gains, the others at their best."""
    box, best, model = tuning.problem.box, tuning.best, tuning.model
    if box.dimension < 2 or best is None or model is None:
        return None
    axis = np.linspace(0.0, 1.0, MAP_POINTS)
    points = np.tile(best.trial.point, (MAP_POINTS ** 2, 1))
    points[:, 0], points[:, 1] = np.tile(axis, MAP_POINTS), np.repeat(axis, MAP_POINTS)
    band = model.predict(points)
    worst = band.low[1:].min(axis=0)
    gains = np.array([t.trial.gains for t in tuning.told])

    def corners(enlarged: bool) -> list[float]:
        return box.to_physical(model.hull_vertices(enlarged))[:, :2].ravel().tolist()

    return GainMap(
        stamp=node.get_clock().now().to_msg(), run_id=run_id, iteration=len(tuning.told),
        names=list(box.names[:2]), lower=list(box.lower[:2]), upper=list(box.upper[:2]),
        columns=MAP_POINTS, rows=MAP_POINTS, constraint_lower=worst.astype(np.float32).tolist(),
        reward_mean=_reward(scaling, band.mu[0]).astype(np.float32).tolist(),
        safe=(worst >= 0).tolist(), hull=corners(False), enlarged=corners(True),
        samples=gains[:, :2].ravel().tolist(),
        sample_reward=[t.measured.reward for t in tuning.told],
        sample_outcome=[t.measured.outcome for t in tuning.told],
        sample_safe=[t.measured.safe for t in tuning.told])


def problem_with(result: EpisodeResult, goal: RunEpisode.Goal, constraints: int) -> str:
    """Say why a result cannot be used; empty if it can."""
    if (result.run_id, result.iteration, list(result.gains)) != (
            goal.run_id, goal.iteration, list(goal.gains)):
        return 'belongs to another goal'
    if result.outcome not in tuple(Outcome):
        return f'has the unknown outcome {result.outcome}'
    if result.is_datum and len(result.constraints) != constraints:
        return f'has {len(result.constraints)} constraints instead of {constraints}'
    numbers = (result.reward, result.max_alpha, result.max_theta, result.scaled_reward,
               *result.constraints)
    return '' if all(map(math.isfinite, numbers)) else f'has numbers that are not finite {numbers}'


def trace(result: RunEpisode.Result) -> Trace:
    """Return the movement that the controller reported."""
    samples = np.asarray(result.trace, float).reshape(-1, len(TRACE_COLUMNS))
    return Trace(samples, result.alpha_limit, result.theta_limit)


def known(message: OptimizerState) -> Progress:
    """Return the norm bounds and safe shares of a state."""
    return Progress(message.iteration, tuple(message.domains), tuple(message.functions),
                    tuple(message.norm_bound), tuple(message.safe_share))
