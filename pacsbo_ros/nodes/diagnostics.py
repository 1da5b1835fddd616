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

"""What a node says of its own health on /diagnostics, once a second, for rqt_robot_monitor."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from pacsbo_ros.nodes.spinning import EVENTS, steady_timer
from rclpy.node import Node

PERIOD = 1.0  # s
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@dataclass(frozen=True)
class Health:
    """Say how well a node is."""

    level: bytes  # OK, WARN or ERROR
    message: str
    values: Mapping[str, str] = field(default_factory=dict)
    hardware: str = ''  # what it stands before


def report_health(node: Node, what: str, look: Callable[[], Health]) -> None:
    """Publish what `look` returns, under the name of the node and of what is looked at."""
    # The topic is one for all robots by the habit of ROS; the node's full name tells them apart.
    publisher = node.create_publisher(DiagnosticArray, '/diagnostics', EVENTS)

    def publish() -> None:
        health = look()
        array = DiagnosticArray(status=[DiagnosticStatus(
            level=health.level, name=f'{node.get_fully_qualified_name()}: {what}',
            message=health.message, hardware_id=health.hardware,
            values=[KeyValue(key=key, value=value) for key, value in health.values.items()])])
        array.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(array)

    steady_timer(node, PERIOD, publish)
