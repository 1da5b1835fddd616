# Copyright the pacsbo_ros developers. Apache-2.0.
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
