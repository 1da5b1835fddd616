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

"""A robot's description and results as messages, and back."""
from __future__ import annotations

from array import array
from collections.abc import Mapping
import math

import numpy as np
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.msg import EpisodeResult, Robot
from pacsbo_ros.robots import contract
from pacsbo_ros.robots.contract import Description, RewardScale, Signal, Tunable

LONGEST_TRACE = 2000  # samples of an episode that its result carries


def robot_message(d: Description) -> Robot:
    """Return what a robot is, as it is latched."""
    return Robot(
        name=d.name, plant=d.plant,
        tunables=[t.name for t in d.tunables], tunable_units=[t.unit for t in d.tunables],
        tunable_lower=[t.lower for t in d.tunables], tunable_upper=[t.upper for t in d.tunables],
        tunable_default=[t.default for t in d.tunables],
        tunable_nodes=[t.node for t in d.tunables],
        tunable_parameters=[t.parameter for t in d.tunables],
        signals=[s.name for s in d.signals], signal_units=[s.unit for s in d.signals],
        signal_limits=_limits(d.signals),
        commands=[s.name for s in d.commands], command_units=[s.unit for s in d.commands],
        command_limits=_limits(d.commands), constraints=list(d.constraints),
        reward_unit=d.reward.unit, reward_offset=d.reward.offset, reward_scale=d.reward.scale)


def description(m: Robot) -> Description:
    """Return the robot that a message describes; ValueError if it makes no sense."""
    return Description(
        name=m.name, plant=m.plant,
        tunables=tuple(Tunable(*fields) for fields in zip(
            m.tunables, m.tunable_units, m.tunable_lower, m.tunable_upper, m.tunable_default,
            m.tunable_nodes, m.tunable_parameters, strict=True)),
        signals=_signals(m.signals, m.signal_units, m.signal_limits),
        commands=_signals(m.commands, m.command_units, m.command_limits),
        constraints=tuple(m.constraints),
        reward=RewardScale(m.reward_offset, m.reward_scale, m.reward_unit))


def _limits(signals: tuple[Signal, ...]) -> list[float]:
    return [math.nan if s.limit is None else s.limit for s in signals]


def _signals(names, units, limits) -> tuple[Signal, ...]:
    return tuple(Signal(name, unit, None if math.isnan(limit) else limit)
                 for name, unit, limit in zip(names, units, limits, strict=True))


def goal_values(d: Description, goal: RunEpisode.Goal) -> dict[str, float]:
    """Return the values that a goal sets, by name; Refusal says what is wrong with them."""
    if not len(goal.values):
        raise contract.Refusal('no values given')
    names = list(goal.names) or [t.name for t in d.tunables][:len(goal.values)]
    if len(names) != len(goal.values):
        raise contract.Refusal(f'{len(goal.values)} values for the {len(names)} names '
                               f'{", ".join(names)}')
    if len(set(names)) != len(names):
        raise contract.Refusal(f'names are {", ".join(names)}: give each at most once')
    if not 0.0 <= goal.duration < math.inf:
        raise contract.Refusal(f'duration is {goal.duration} s; give a positive one, or 0')
    return dict(zip(names, map(float, goal.values), strict=True))


def result_message(d: Description, goal: RunEpisode.Goal, values: Mapping[str, float],
                   r: contract.EpisodeResult) -> EpisodeResult:
    """Return what an episode with these values gave; the caller sets the stamp."""
    return EpisodeResult(
        run_id=goal.run_id, iteration=goal.iteration, names=list(values),
        units=[d.tunable(name).unit for name in values], values=list(values.values()),
        reward=r.reward, reward_unit=d.reward.unit, scaled_reward=r.scaled_reward,
        margin=min(r.margins, default=math.nan), constraints=list(d.constraints),
        margins=list(r.margins), noise=list(r.noise), signals=[s.name for s in d.signals],
        signal_units=[s.unit for s in d.signals], peaks=list(r.peaks), limits=_limits(d.signals),
        is_datum=r.is_datum, outcome=int(r.outcome), reason=r.reason, duration=r.duration,
        seed=goal.seed)


def answer(d: Description, result: EpisodeResult,
           trace: np.ndarray | None = None) -> RunEpisode.Result:
    """Return the answer to a goal, with every n-th sample of its trace if there is one."""
    if trace is None:
        return RunEpisode.Result(result=result)
    channels = (*d.signals, *d.commands)
    stride = -(-len(trace) // LONGEST_TRACE) or 1
    return RunEpisode.Result(
        result=result, trace_columns=['time', *(c.name for c in channels)],
        trace_units=['s', *(c.unit for c in channels)],
        trace=array('f', np.ascontiguousarray(trace[::stride], np.float32).tobytes()))
