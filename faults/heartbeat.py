# Copyright the pacsbo_ros developers. Apache-2.0.
"""An operator's hand on the dead man's handle: publish operator_heartbeat at 50 Hz."""
from rclpy.node import Node
from std_msgs.msg import Empty

from pacsbo_ros.nodes.spinning import HEARTBEAT, raise_priority, spin, steady_timer


class Hand(Node):
    """Say that the operator is there."""

    punctual = True

    def __init__(self) -> None:
        super().__init__('operator')
        publisher = self.create_publisher(Empty, 'operator_heartbeat', HEARTBEAT)
        steady_timer(self, 0.02, lambda: publisher.publish(Empty()))


def main() -> int:
    """Run the node."""
    raise_priority()
    return spin(Hand)


if __name__ == '__main__':
    raise SystemExit(main())
