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

"""Signals that are read from any topic: type and QoS from the graph where nobody names them."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pacsbo_ros.nodes.spinning import MEASURED, STATES, steady_now, steady_timer
from pacsbo_ros.robots.parameters.fields import message_class, reader, stamp_reader
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

LOOK = 0.2  # s between looks for a topic that nobody publishes yet

See = Callable[[float, float, str, Mapping[str, float]], None]


class SignalSource:
    """Read the signals of one topic and pass them on: now, stamp, topic, values by name."""

    def __init__(self, node: Node, topic: str, signals: Mapping[str, Any], see: See) -> None:
        """Subscribe now if a type is given, else once the graph knows it; ValueError if wrong."""
        self._node, self._topic, self._signals, self._see = node, topic, signals, see
        self._readers: dict[str, Callable[[Any], float]] = {}
        self._subscription: Any = None
        self._heard = False
        for name, signal in signals.items():
            if not topic or not signal.field:
                raise ValueError(f'signals.{name} has no topic or no field; give both')
        kinds = {signal.type for signal in signals.values() if signal.type}
        if kinds:
            self._subscribe(kinds.pop(), STATES)
            steady_timer(node, LOOK, self._widen)
        else:
            steady_timer(node, LOOK, self._look)

    def _look(self) -> None:
        if self._readers:
            return
        name = self._node.resolve_topic_name(self._topic)
        types = dict(self._node.get_topic_names_and_types()).get(name, ())
        if types and self._node.count_publishers(name):
            try:
                self._subscribe(types[0], MEASURED)
            except ValueError as error:
                self._node.get_logger().error(f'{name}: {error}', once=True)

    def _widen(self) -> None:
        if self._heard:
            return
        infos = self._node.get_publishers_info_by_topic(
            self._node.resolve_topic_name(self._topic))
        if any(info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for info in infos):
            self._heard = True  # or will be: a reliable subscription would never hear it
            self._node.destroy_subscription(self._subscription)
            self._subscription = self._node.create_subscription(
                self._kind, self._topic, self._on_message, MEASURED)

    def _subscribe(self, type_name: str, qos: QoSProfile) -> None:
        try:
            kind = self._kind = message_class(type_name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f'type {type_name!r} of topic {self._topic} is not installed; give '
                             'one like sensor_msgs/msg/JointState') from error
        self._readers = {name: reader(s.field, kind) for name, s in self._signals.items()}
        self._stamp = stamp_reader(kind)
        self._subscription = self._node.create_subscription(
            kind, self._topic, self._on_message, qos)

    def _on_message(self, message: Any) -> None:
        self._heard = True
        now = steady_now()
        stamp = self._stamp(message) if self._stamp else now
        self._see(now, stamp, self._topic,
                  {name: read(message) for name, read in self._readers.items()})
