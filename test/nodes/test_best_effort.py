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

"""Drivers often publish with best effort, which a reliable subscription never hears."""
import math
from types import SimpleNamespace

from faults.graph import wait_for
from pacsbo_ros.nodes.plants import TopicsDriver
from pacsbo_ros.nodes.signal_sources import SignalSource
from pacsbo_ros.nodes.spinning import STATES
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState


@pytest.mark.parametrize('qos', [qos_profile_sensor_data, STATES], ids=['best effort', 'reliable'])
def test_joints_and_signals_of_any_driver_are_heard(context, qos):
    node = rclpy.create_node('robot', context=context)
    heard = set()

    def note(_now, _stamp, topic, values):
        heard.add((topic, *values))

    signal = {'field': 'position[alpha]', 'wrap': False}
    sources = [SignalSource(node, 'plant/joint_states', {name: SimpleNamespace(
        type=kind, **signal)}, note) for name, kind in (
            ('named', 'sensor_msgs/msg/JointState'), ('looked_up', ''))]
    driver = TopicsDriver(node)
    joints = node.create_publisher(JointState, 'plant/joint_states', qos)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    message = JointState(name=['theta', 'alpha'], position=[0.1, 0.25], velocity=[0.0, 0.0])

    def everybody_heard():
        message.header.stamp = node.get_clock().now().to_msg()
        joints.publish(message)
        executor.spin_once(timeout_sec=0.02)
        return len(heard) == len(sources) and driver.read().alpha == 0.25

    wait_for(everybody_heard, 'a sample for all')
    executor.shutdown()
    node.destroy_node()


def test_two_publishers_of_joint_states_are_as_good_as_none_until_one_is_gone(context):
    """States of two robots in turn end in doubts of the sensors, but only after a second."""
    node = rclpy.create_node('robot', context=context)
    driver = TopicsDriver(node)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    message = JointState(name=['theta', 'alpha'], position=[0.1, 0.25], velocity=[0.0, 0.0])
    joints, other = (node.create_publisher(JointState, 'plant/joint_states', qos)
                     for qos in (STATES, qos_profile_sensor_data))

    def state_from(*publishers):
        for publisher in publishers:
            message.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(message)
        executor.spin_once(timeout_sec=0.02)
        return driver.read()

    wait_for(lambda: state_from(joints).alpha == 0.25, 'a state')
    wait_for(lambda: math.isnan(state_from(joints, other).alpha), 'a doubt')
    for _ in range(20):
        assert math.isnan(state_from(joints, other).alpha)
    wait_for(lambda: state_from(joints).alpha == 0.25, 'the end of the doubt')
    wait_for(lambda: state_from(other).alpha == 0.25, 'a state of who came after it')
    executor.shutdown()
    node.destroy_node()
