# Copyright the pacsbo_ros developers. Apache-2.0.
"""An operator's hand on the dead man's handle: publish operator_heartbeat at 50 Hz."""
from pacsbo_ros.msg import Heartbeat
from pacsbo_ros.nodes.spinning import (
    HEARTBEAT,
    process_number,
    raise_priority,
    spin,
    steady_timer,
    system_stamp,
)
from rclpy.node import Node

PERIOD = 0.02  # s


class Hand(Node):
    """Say that the operator is there."""

    punctual = True

    def __init__(self) -> None:
        super().__init__('operator')
        self._source, self._sequence = process_number(), 0
        self._publisher = self.create_publisher(Heartbeat, 'operator_heartbeat', HEARTBEAT)
        steady_timer(self, PERIOD, self._beat)

    def _beat(self) -> None:
        self._sequence += 1
        self._publisher.publish(Heartbeat(stamp=system_stamp(), source=self._source,
                                          sequence=self._sequence, period=PERIOD))


def main() -> int:
    """Run the node."""
    raise_priority()
    return spin(Hand)


if __name__ == '__main__':
    raise SystemExit(main())
