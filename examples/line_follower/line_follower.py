#!/usr/bin/env python3
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

"""A cart that follows a winding line with a camera's offset; its two gains are parameters."""
import contextlib
import math
import random

from geometry_msgs.msg import Twist
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import Float64

PERIOD, SPEED, DELAY, LOOK_AHEAD = 0.02, 0.5, 5, 0.1  # s, m/s, periods of the camera, m


class LineFollower(Node):
    """Drive for ever along y = 0.3 sin(1.5 x)."""

    def __init__(self):
        super().__init__('line_follower')
        self.declare_parameter('k_offset', 4.0)
        self.declare_parameter('k_heading', 1.5)
        self.x = self.y = self.heading = 0.0
        self.seen = [(0.0, 0.0)] * DELAY
        self.offsets = self.create_publisher(Float64, 'line/offset', 10)
        self.commands = self.create_publisher(Twist, 'cmd_vel', 10)
        self.create_timer(PERIOD, self.tick)

    def tick(self):
        """See, steer, drive."""
        x = self.x + LOOK_AHEAD
        offset = self.y - 0.3 * math.sin(1.5 * x)
        along = self.heading - math.atan(0.45 * math.cos(1.5 * x))
        self.seen.append((offset + random.gauss(0.0, 0.002), along))
        offset_seen, along_seen = self.seen.pop(0)
        command = Twist()
        command.linear.x = SPEED
        command.angular.z = max(-4.0, min(4.0, -self.get_parameter('k_offset').value * offset_seen
                                          - self.get_parameter('k_heading').value * along_seen))
        self.heading += PERIOD * command.angular.z
        self.x += PERIOD * SPEED * math.cos(self.heading)
        self.y += PERIOD * SPEED * math.sin(self.heading)
        if abs(offset) > 0.4:  # somebody puts it back onto the line
            self.y, self.heading = 0.3 * math.sin(1.5 * self.x), 0.0
            self.seen = [(0.0, 0.0)] * DELAY
        self.offsets.publish(Float64(data=offset))
        self.commands.publish(command)


def main():
    """Run the node."""
    rclpy.init()
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(LineFollower())


if __name__ == '__main__':
    main()
