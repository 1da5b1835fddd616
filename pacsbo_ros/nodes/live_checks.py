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
Check a task against the live graph before anything moves: every failure is one line.

Nothing is changed by it. Whether a node accepts the box is read from the ranges that it declares,
and by setting the very values that it has: a corner of the box may be unstable, the robot live.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from pacsbo_ros.nodes.parameter_calls import number, ParameterCalls, spin_until
from pacsbo_ros.nodes.spinning import steady_now, synchronised_offset
from pacsbo_ros.robots.parameters import fields
from pacsbo_ros.robots.parameters.task import Call, Source, Task, Tuned
from pacsbo_ros.robots.parameters.words import TaskError, unknown
from pacsbo_ros.safety.freshness import Freshness
from rcl_interfaces.msg import ParameterType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

# Messages that may wait while this process is held up: without a stamp nobody knows for how long.
DEPTH, UNSTAMPED_DEPTH = 100, 3
RETRY = 2.0  # s until a node that has not answered is asked again

Hear = Callable[[str, float, float], None]  # name, value, when it was made


def check_parameters(node: Node, task: Task, calls: ParameterCalls,
                     patience: float) -> dict[str, dict[str, float]]:
    """Return the values that the nodes have, if all can be read, set and hold the box."""
    if not spin_until(node, lambda: not calls.ready(), patience):
        missing = calls.ready()[0]
        there = [f'{"" if ns == "/" else ns}/{name}' for name, ns in
                 node.get_node_names_and_namespaces() if name != node.get_name()]
        if missing in there:
            raise TaskError(f'{missing} does not answer on its parameter services')
        raise unknown('node', missing, there)
    originals = {}
    for target, tuned in task.nodes.items():
        names = [t.parameter for t in tuned]
        for t in tuned:  # one by one: some answer nothing at all if one of several is unknown
            answer = _answer(node, partial(calls.describe, target, [t.parameter]), target,
                             patience)
            if not answer.descriptors or not answer.descriptors[0].type:
                known = _answer(node, partial(calls.names, target), target,
                                patience).result.names
                raise unknown(f'parameter of {target}:', t.parameter, known)
            _check_range(t, answer.descriptors[0])
        values = _answer(node, partial(calls.get, target, names), target, patience).values
        originals[target] = {t.parameter: number(v) for t, v in zip(tuned, values, strict=True)}
    refused = calls.wait(calls.set(originals))
    if refused:
        raise TaskError(f'parameters cannot be set: {refused}')
    return originals


def _answer(node: Node, ask: Callable[[], Any], target: str, patience: float) -> Any:
    """Return what a node answers; ask again, because an answer may get lost."""
    deadline = steady_now() + patience
    while (left := deadline - steady_now()) > 0:
        future = ask()
        if spin_until(node, future.done, min(left, RETRY)) and future.result() is not None:
            return future.result()
    raise TaskError(f'{target} does not answer on its parameter services')


def _check_range(t: Tuned, described) -> None:
    what = f'{t.parameter} of {t.node}'
    if described.type == ParameterType.PARAMETER_INTEGER:
        raise TaskError(f'{what} is a whole number; only parameters that may have any value in '
                        'between (doubles) can be tuned')
    if described.type != ParameterType.PARAMETER_DOUBLE:
        raise TaskError(f'{what} is not a number')
    if described.read_only:
        raise TaskError(f'{what} is read-only')
    for span in described.floating_point_range:
        if t.lower < span.from_value or t.upper > span.to_value:
            raise TaskError(f'{what} accepts {span.from_value:g} to {span.to_value:g}, but the '
                            f'box of {t.name} is {t.lower:g} to {t.upper:g}; narrow it')


def subscribe(node: Node, task: Task, hear: Hear, patience: float) -> list[Freshness]:
    """
    Listen to every signal with the QoS of its publisher; TaskError if one does not speak.

    Returns what judges the stamps, topic by topic: a clock that was set back counts again only
    after a person has vouched for it (renew).
    """
    topics: dict[str, list[Source]] = {}
    for source in task.signals:
        topics.setdefault(node.resolve_topic_name(source.topic), []).append(source)
    heard: dict[str, list[float]] = {topic: [] for topic in topics}
    judges = []
    for topic, sources in topics.items():
        kind, qos = _publication(node, topic, patience)
        read = [(s.name, fields.reader(s.field, kind)) for s in sources]
        stamp = fields.stamp_reader(kind)
        qos.depth = DEPTH if stamp else UNSTAMPED_DEPTH
        judges.append(Freshness(max_delay=min(s.timeout for s in sources),
                                offset=synchronised_offset))
        node.create_subscription(kind, topic, _listener(read, stamp, judges[-1], hear,
                                                        heard[topic]), qos)
    for topic, sources in topics.items():
        times, timeout = heard[topic], min(s.timeout for s in sources)
        if not spin_until(node, partial(_speaks, times), patience):
            late = judges[list(topics).index(topic)].refused
            raise TaskError(f'{topic} comes {late:.2f} s late; if it comes from another machine, '
                            'synchronise the clocks' if late and not times else
                            f'{topic} never speaks' if not times else
                            f'{topic} speaks too seldom: {len(times)} times in {patience:g} s')
        slowest = max(b - a for a, b in zip(times[-5:], times[-4:], strict=False))
        if slowest > timeout:
            raise TaskError(f'{topic} speaks every {slowest:.2f} s, but the timeout of '
                            f'{sources[0].name} is {timeout:g} s; give a longer one')
    return judges


def _speaks(heard: list[float]) -> bool:
    return len(heard) >= 5


def _listener(read: list, stamp: Callable[[Any], float] | None, judge: Freshness,
              hear: Hear, heard: list[float]) -> Callable[[Any], None]:
    def listen(message: Any) -> None:
        made = now = steady_now()
        stamped = stamp(message) if stamp is not None else 0.0
        if stamped > 0:  # a stamp that nobody has set is none
            if not judge.accept(now, stamped, stamped):
                return  # repeated, overtaken or too late: such a source is a silent one
            made = now - judge.lateness
        if len(heard) < 50:
            heard.append(now)
        for name, value in read:
            hear(name, value(message), made)
    return listen


def _publication(node: Node, topic: str, patience: float) -> tuple[Any, QoSProfile]:
    """Return the type and a matching QoS of what is published on a topic."""
    if not spin_until(node, lambda: bool(node.get_publishers_info_by_topic(topic)), patience):
        raise unknown('topic', topic, [name for name, _ in node.get_topic_names_and_types()])
    # One that was killed is believed to live for a while.
    spin_until(node, lambda: len(node.get_publishers_info_by_topic(topic)) == 1, patience)
    publishers = node.get_publishers_info_by_topic(topic)
    types = {p.topic_type for p in publishers}
    if len(publishers) > 1:
        raise TaskError(_rivals(topic, publishers))
    # A reliable subscription would never hear a best-effort publisher. None of the past is
    # wanted, so that volatile fits every durability.
    reliable = all(p.qos_profile.reliability == ReliabilityPolicy.RELIABLE for p in publishers)
    qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE if reliable
                     else ReliabilityPolicy.BEST_EFFORT)
    return load_type(types.pop()), qos


def second_publisher(node: Node, task: Task) -> str:
    """Say that somebody else publishes a signal now; empty if nobody does."""
    for topic in dict.fromkeys(node.resolve_topic_name(s.topic) for s in task.signals):
        if node.count_publishers(topic) > 1:
            return _rivals(topic, node.get_publishers_info_by_topic(topic))
    return ''


def _rivals(topic: str, publishers: list) -> str:
    whose = ', '.join(sorted(f'{p.node_namespace.rstrip("/")}/{p.node_name}' for p in publishers))
    return (f'{topic} has {len(publishers)} publishers ({whose}); their samples could not be told '
            'apart: leave one of them')


def load_type(name: str) -> Any:
    """Import a message, service or action; TaskError if it is not installed."""
    package, kind, short = name.split('/')
    try:
        return getattr(import_module(f'{package}.{kind}'), short)
    except (ImportError, AttributeError) as error:
        raise TaskError(f'type {name} is not installed; source the workspace that has it') \
            from error


def check_call(node: Node, call: Call, patience: float) -> None:
    """See that somebody takes a call, and under the right type."""
    name = node.resolve_service_name(call.name)
    if call.kind == 'msg':
        def takers() -> dict[str, list[str]]:
            return {name: [s.topic_type for s in node.get_subscriptions_info_by_topic(name)]}
        what, wanted = 'subscriber of topic', call.type
    elif call.kind == 'srv':
        def takers() -> dict[str, list[str]]:
            return dict(node.get_service_names_and_types())
        what, wanted = 'service', call.type
    else:
        def takers() -> dict[str, list[str]]:
            return {n.removesuffix('/_action/send_goal'): [t.removesuffix('_SendGoal') for t in ts]
                    for n, ts in node.get_service_names_and_types()
                    if n.endswith('/_action/send_goal')}
        what, wanted = 'action', call.type
    if not spin_until(node, lambda: bool(takers().get(name)), patience):
        others = [n for n in takers() if '/_action/' not in n and 'parameter' not in n]
        raise unknown(what, name, others)
    types = takers()[name]
    if wanted not in types:
        raise TaskError(f'{what} {name} has the type {types[0]}, not {wanted}')


def fill(message: Any, values: dict[str, Any], what: str) -> Any:
    """Set the fields of a message that a task gives."""
    for name, value in values.items():
        if name not in message.get_fields_and_field_types():
            raise unknown(f'field of {what}:', name, message.get_fields_and_field_types())
        inner = getattr(message, name)
        try:
            if isinstance(value, dict):
                fill(inner, value, what)
            elif isinstance(inner, float):
                setattr(message, name, float(value))
            else:
                setattr(message, name, value)
        except (AssertionError, TypeError, ValueError, AttributeError) as error:
            raise TaskError(f'field {name} of {what} cannot be {value!r}') from error
    return message
