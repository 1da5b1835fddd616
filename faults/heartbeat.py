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
