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

"""A joint with a PID controller, as anybody might have written it; it knows no tuner."""
import contextlib
import random

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

PERIOD, INERTIA, FRICTION, LAG = 0.01, 0.05, 0.1, 0.02  # s, kg m², N m s/rad, s of the motor
STEP, LIMIT = 0.5, 12.0  # rad, N m


class JointPid(Node):
    """Hold a simulated joint at its set point; a service moves that by half a radian."""

    def __init__(self):
        super().__init__('joint_pid')
        for name, value, upper in (('p', 3.0, 100.0), ('i', 0.0, 50.0), ('d', 0.3, 10.0)):
            span = FloatingPointRange(from_value=0.0, to_value=upper)
            self.declare_parameter(name, value, ParameterDescriptor(floating_point_range=[span]))
        self.target = self.position = self.velocity = self.torque = self.integral = 0.0
        self.enabled = True
        self.states = self.create_publisher(JointState, '~/state', 10)
        self.create_service(Trigger, '~/step_test', self.step_test)
        self.create_service(Trigger, '~/disable', self.disable)
        self.create_timer(PERIOD, self.tick)

    def step_test(self, _, response):
        """Bring the joint to zero, then ask for half a radian."""
        self.position = random.gauss(0.0, 0.002)
        self.velocity = self.torque = self.integral = 0.0
        self.target, self.enabled, response.success = STEP, True, True
        return response

    def disable(self, _, response):
        """Switch the torque off and close the brake until the next test."""
        self.velocity = self.torque = 0.0
        self.enabled, response.success = False, True
        return response

    def tick(self):
        """Control, simulate, publish."""
        p, i, d = (self.get_parameter(name).value for name in 'pid')
        error = self.target - self.position
        self.integral += PERIOD * error
        wanted = p * error + i * self.integral - d * self.velocity if self.enabled else 0.0
        self.torque += PERIOD / LAG * (max(-LIMIT, min(LIMIT, wanted)) - self.torque)
        for _ in range(10):
            acceleration = (self.torque - FRICTION * self.velocity) / INERTIA
            self.velocity += PERIOD / 10 * acceleration
            self.position += PERIOD / 10 * self.velocity
        state = JointState(name=['joint'], position=[self.position], velocity=[self.velocity],
                           effort=[self.torque])
        state.header.stamp = self.get_clock().now().to_msg()
        self.states.publish(state)


def main():
    """Run the node."""
    rclpy.init()
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(JointPid())


if __name__ == '__main__':
    main()
