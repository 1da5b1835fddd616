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
A task file: which parameters of which nodes are tuned, and what an episode is.

It is an ordinary ROS parameter file (everything stands under /**: ros__parameters). All that can
be checked without the graph is checked here, before any process is started; what only the graph
knows is checked by episode_runner before anything moves.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
import shlex
from typing import Any

from pacsbo_ros.robots.contract import Description, RewardScale, Signal, Tunable
from pacsbo_ros.robots.parameters.expressions import Expression
from pacsbo_ros.robots.parameters.fields import split
from pacsbo_ros.robots.parameters.sections import finite, read_yaml, Section, WORD
from pacsbo_ros.robots.parameters.units import Dimension, dimension, words
from pacsbo_ros.robots.parameters.words import TaskError

KEYS = ('task', 'simulated', 'tuned', 'episode', 'signals', 'reward', 'constraints', 'stop',
        'optimizer', 'processes')
# What `optimizer` may set, with the values of a task that says nothing of it.
OPTIMIZER: dict[str, Any] = {
    'iterations': 30, 'seed': 0, 'delta': 0.1, 'noise_bound': 0.05, 'lam': 0.02,
    'length_scales': [0.3], 'length_scales_from_data': True, 'kernel': 'matern32',
    'rule': 'student', 'scale_prior': 0.5, 'scale_trust': 3.0, 'step': 0.0, 'start_repeats': 1,
    'verifications': 2, 'noise_from_repeats': False,
    'method': 'pacsbo', 'known_norm': 2.0, 'output_scale': 1.0, 'candidates': 0,
    'require_approval': False}
MOST_TUNED = 6
SILENCE = 0.5  # s that a signal may be silent if the task does not say


@dataclass(frozen=True)
class Tuned:
    """A parameter of a node, where it may be and where it is known to be safe."""

    name: str
    node: str
    parameter: str
    unit: str
    lower: float
    upper: float
    safe: tuple[float, ...]


@dataclass(frozen=True)
class Call:
    """Something to be called or published: a service, an action or a message."""

    name: str
    type: str  # noqa: A003
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return srv, action or msg."""
        return self.type.split('/')[1]


@dataclass(frozen=True)
class Source:
    """Where a signal comes from."""

    name: str
    topic: str
    field: str
    unit: str
    limit: float | None
    timeout: float  # s; a longer silence ends an episode

    @property
    def signal(self) -> Signal:
        """Return what others need to know of it."""
        return Signal(self.name, self.unit, self.limit)


@dataclass(frozen=True)
class Constraint:
    """A margin: an expression that has to stay >= 0, and what it is divided by."""

    name: str
    expression: Expression
    scale: float


@dataclass(frozen=True)
class Task:
    """A task that is complete and makes sense, as far as that can be known without a graph."""

    name: str
    path: Path
    simulated: bool  # nothing real moves, so that nobody has to arm it
    tuned: tuple[Tuned, ...]
    start: Call | None  # None: an episode is just a window of time
    duration: float  # s, of the recorded window
    settle: float  # s from setting the values to the start
    signals: tuple[Source, ...]
    reward: Expression
    reward_scale: RewardScale
    constraints: tuple[Constraint, ...]
    stop: Call | None
    optimizer: dict[str, Any]
    processes: tuple[tuple[str, ...], ...]  # command lines, run in the folder of the file

    @property
    def safe(self) -> list[tuple[float, ...]]:
        """Return the vectors that are known to be safe."""
        return list(zip(*(t.safe for t in self.tuned), strict=True))

    @property
    def nodes(self) -> dict[str, tuple[Tuned, ...]]:
        """Return what is tuned, node by node."""
        result: dict[str, tuple[Tuned, ...]] = {}
        for t in self.tuned:
            result[t.node] = (*result.get(t.node, ()), t)
        return result

    def description(self) -> Description:
        """Return the robot that this task makes of its nodes."""
        return Description(
            self.name, tuple(Tunable(t.name, t.unit, t.lower, t.upper, t.safe[0], t.node,
                                     t.parameter) for t in self.tuned),
            tuple(s.signal for s in self.signals), (), tuple(c.name for c in self.constraints),
            self.reward_scale, self.name)

    def optimizer_parameters(self) -> dict[str, Any]:
        """Return the parameters of pacsbo_optimizer that the task decides."""
        return {**OPTIMIZER, **self.optimizer, 'tuned': [t.name for t in self.tuned],
                'box_lower': [t.lower for t in self.tuned],
                'box_upper': [t.upper for t in self.tuned],
                'start': [v for vector in self.safe for v in vector]}


def load(path: str | Path) -> Task:
    """Read and check a task file; TaskError in one line that begins with the file's name."""
    path = Path(path).expanduser()
    try:
        data = read_yaml(path)
        top = Section(data, 'the file', ('/**',))
        inner = top.section('/**', ('ros__parameters',))
        return _task(Section(inner.value('ros__parameters', wanted='the task'), 'the task', KEYS),
                     path.resolve())
    except TaskError as error:
        raise TaskError(f'{path}: {error}') from error


def _task(s: Section, path: Path) -> Task:
    name = s.text('task', wanted='the name of the task')
    if not WORD.match(name):
        raise TaskError(f'task is {name!r}; use letters, digits and _')
    simulated = s.value('simulated', False)
    if not isinstance(simulated, bool):
        raise TaskError(f'simulated is {simulated!r}; give true or false')
    tuned = _tuned(s.section('tuned', None))
    signals = _signals(s.section('signals', None))
    dimensions = {g.name: dimension(g.unit) for g in signals}
    reward, scale = _reward(s, dimensions)
    episode = s.section('episode', ('start', 'type', 'request', 'duration', 'settle'))
    if 'start' not in episode and 'type' in episode:
        raise TaskError("episode has a type but lacks 'start'; give both or none")
    return Task(
        name, path, simulated, tuned, _call(episode, 'start', ('srv', 'action', 'msg')),
        episode.number('duration', lower=0.05, upper=3600.0),
        episode.number('settle', 0.0, 0.0, 600.0), signals, reward, scale,
        _constraints(s.section('constraints', None), dimensions), _stop(s),
        _optimizer(s, len(tuned)), _processes(s))


def _tuned(s: Section) -> tuple[Tuned, ...]:
    tuned = []
    for name in s:
        t = s.section(name, ('node', 'parameter', 'unit', 'lower', 'upper', 'safe'))
        lower, upper, unit = t.number('lower'), t.number('upper'), t.text('unit', '')
        dimension(unit)
        if not lower < upper:
            raise TaskError(f'{t.where}: lower is {lower:g} and upper {upper:g}; lower has to be '
                            'below upper')
        safe = t.numbers('safe')
        for value in safe:
            if not lower <= value <= upper:
                raise TaskError(f'{t.where}: safe has {value:g}, outside [{lower:g}, {upper:g}]')
        node = t.name('node', wanted='its full name, like /joint')
        if not node.startswith('/'):
            raise TaskError(f'node of {t.where} is {node!r}; give its full name, like /{node}')
        parameter = t.text('parameter', name)
        if not parameter.strip():
            raise TaskError(f'parameter of {t.where} is {parameter!r}; give a name or leave it '
                            'out')
        tuned.append(Tuned(name, node, parameter, unit, lower, upper, safe))
    if not 1 <= len(tuned) <= MOST_TUNED:
        raise TaskError(f'tuned has {len(tuned)} parameters; give 1 to {MOST_TUNED}')
    if len({len(t.safe) for t in tuned}) > 1:
        counts = ', '.join(f'{t.name} {len(t.safe)}' for t in tuned)
        raise TaskError(f'safe has different numbers of values ({counts}); give every parameter '
                        'one value per safe start')
    places = [(t.node, t.parameter) for t in tuned]
    for place in places:
        if places.count(place) > 1:
            raise TaskError(f'parameter {place[1]} of {place[0]} is tuned twice')
    return tuple(tuned)


def _signals(s: Section) -> tuple[Source, ...]:
    signals = []
    for name in s:
        g = s.section(name, ('topic', 'field', 'unit', 'limit', 'timeout'))
        path = g.text('field', wanted='a path like position[0]')
        split(path)
        unit = g.text('unit', '')
        dimension(unit)
        limit = g.number('limit') if 'limit' in g else None
        if limit is not None and limit <= 0:
            raise TaskError(f'limit of {g.where} is {limit:g}; give a positive number')
        signals.append(Source(name, g.name('topic'), path, unit, limit,
                              g.number('timeout', SILENCE, 0.01, 60.0)))
    if not signals:
        raise TaskError('signals is empty; give at least one')
    return tuple(signals)


def _expression(text: str, dimensions: dict[str, Dimension], what: str) -> Expression:
    expression = Expression(text, dimensions, what)
    if not expression.signals:
        raise TaskError(f'{what} {text!r} has no signal in it; put one into a metric, for example '
                        f'rms({next(iter(dimensions))})')
    return expression


def _reward(s: Section, dimensions: dict[str, Dimension]) -> tuple[Expression, RewardScale]:
    value = s.value('reward', wanted='an expression such as -iae(error)')
    if isinstance(value, str):
        return _expression(value, dimensions, 'reward'), RewardScale()
    r = s.section('reward', ('expression', 'offset', 'scale', 'unit'))
    unit = r.text('unit', '')
    dimension(unit)
    scale = r.number('scale', 1.0)
    if scale <= 0:
        raise TaskError(f'scale of reward is {scale:g}; give a positive number')
    expression = _expression(r.text('expression', wanted='an expression such as -iae(error)'),
                             dimensions, 'reward')
    found = expression.dimension
    if unit and found is not None and found != dimension(unit):
        raise TaskError(f'unit of reward is {unit!r}, but {expression.text!r} is {words(found)}')
    return expression, RewardScale(r.number('offset', 0.0), scale, unit)


def _constraints(s: Section, dimensions: dict[str, Dimension]) -> tuple[Constraint, ...]:
    constraints = []
    for name in s:
        what = f'constraint {name}'
        value = s.value(name, wanted='an expression that has to stay >= 0')
        if isinstance(value, str):
            expression = _expression(value, dimensions, what)
            scale = expression.at_rest()
            if not 0 < scale < float('inf'):
                raise TaskError(f'{what} {value!r} has no scale of its own; write it as a limit '
                                'minus a metric, or as {expression: ..., scale: ...}')
        else:
            c = s.section(name, ('expression', 'scale'))
            expression = _expression(c.text('expression'), dimensions, what)
            scale = c.number('scale')
            if scale <= 0:
                raise TaskError(f'scale of {what} is {scale:g}; give a positive number')
        constraints.append(Constraint(name, expression, scale))
    if not constraints:
        raise TaskError('constraints is empty; give at least one, such as '
                        "{error: '0.5 - peak(error)'}")
    return tuple(constraints)


def _call(s: Section, key: str, kinds: tuple[str, ...]) -> Call | None:
    if key not in s:
        return None
    request = s.value('request', {})
    if not isinstance(request, dict):
        raise TaskError(f'request of {s.where} is {request!r}; give names and values of fields')
    return Call(s.name(key), s.type('type', kinds), request)


def _stop(s: Section) -> Call | None:
    if 'stop' not in s:
        return None
    stop = s.section('stop', ('service', 'topic', 'type', 'request'))
    if ('service' in stop) == ('topic' in stop):
        raise TaskError('stop has to name either a service or a topic')
    return (_call(stop, 'service', ('srv',)) if 'service' in stop
            else _call(stop, 'topic', ('msg',)))


def _optimizer(s: Section, dimensions: int) -> dict[str, Any]:
    o = s.section('optimizer', tuple(OPTIMIZER), {})
    result: dict[str, Any] = {}
    for key in o:
        default, value = OPTIMIZER[key], o.value(key)
        if isinstance(default, list):
            result[key] = list(o.numbers(key))
            if len(result[key]) not in (1, dimensions):
                raise TaskError(f'{key} of optimizer has {len(result[key])} numbers; give one, or '
                                f'one for each of the {dimensions} parameters')
        elif isinstance(default, bool):
            if not isinstance(value, bool):
                raise TaskError(f'{key} of optimizer is {value!r}; give true or false')
            result[key] = value
        elif isinstance(default, str):
            result[key] = o.text(key)
        else:
            number = finite(value, f'{key} of optimizer', 0.0)
            if isinstance(default, int) and number != int(number):
                raise TaskError(f'{key} of optimizer is {value!r}; give a whole number')
            result[key] = type(default)(number)
    return result


def _processes(s: Section) -> tuple[tuple[str, ...], ...]:
    lines = s.value('processes', [])
    if not isinstance(lines, list) or not all(isinstance(x, str) and x.strip() for x in lines):
        raise TaskError(f'processes is {lines!r}; give a list of command lines')
    try:
        return tuple(tuple(shlex.split(line)) for line in lines)
    except ValueError as error:
        raise TaskError(f'processes: {error}') from error
