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

"""Recordings without rosbag2 hold what was said, readable by who knows nothing of this package."""
from faults.graph import wait_for
from pacsbo_ros.msg import GainMap, GainSlice, OptimizerState
from pacsbo_ros.nodes import bringup
from pacsbo_ros.nodes.parameters import StartError
from pacsbo_ros.nodes.recorder import definition, Recorder
from pacsbo_ros.nodes.spinning import LATCHED
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState


@pytest.fixture(autouse=True)
def mcap():
    """Skip where it is not installed."""
    pytest.importorskip('mcap', reason='recordings need mcap')


def make(context, file):
    return Recorder(context=context, parameter_overrides=[Parameter('output', value=str(file))])


def test_latched_nested_and_best_effort_messages_are_read_back(context, tmp_path):
    reader = pytest.importorskip('mcap_ros2.reader', reason='reading needs mcap-ros2-support')
    file = tmp_path / 'run' / 'bag.mcap'
    node = rclpy.create_node('speaker', context=context)
    states = node.create_publisher(OptimizerState, 'optimizer_state', LATCHED)
    states.publish(OptimizerState(run_id='early', best_reward=0.75, names=['k_theta', 'k_alpha']))
    maps = node.create_publisher(GainMap, 'gain_map', LATCHED)
    maps.publish(GainMap(slices=[GainSlice(rows=3)]))
    joints = node.create_publisher(JointState, 'joint_states', qos_profile_sensor_data)
    recorder = make(context, file)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(recorder)
    counts = {}
    keep = recorder._keep

    def counted(channel, data):
        counts[channel] = counts.get(channel, 0) + 1
        keep(channel, data)

    recorder._keep = counted

    def heard():
        joints.publish(JointState(name=['alpha'], position=[0.25]))
        executor.spin_once(timeout_sec=0.05)
        return {recorder._channels.get(f'/{t}') for t in (
            'optimizer_state', 'gain_map', 'joint_states')} <= set(counts)

    wait_for(heard, 'a message of each topic')
    executor.shutdown()
    recorder.destroy_node()
    read = {m.channel.topic: m.ros_msg for m in reader.read_ros2_messages(str(file))}
    assert read['/optimizer_state'].run_id == 'early'
    assert read['/optimizer_state'].best_reward == 0.75
    assert list(read['/optimizer_state'].names) == ['k_theta', 'k_alpha']
    assert read['/gain_map'].slices[0].rows == 3
    assert list(read['/joint_states'].position) == [0.25]


def test_a_definition_has_every_type_that_it_contains_once():
    text = definition('pacsbo_ros/msg/GainMap')
    assert text.count('MSG: pacsbo_ros/GainSlice\n') == 1
    assert definition('sensor_msgs/msg/JointState').count('MSG: builtin_interfaces/Time\n') == 1


@pytest.mark.parametrize('name', ['', '/proc/none/bag.mcap'])
def test_a_file_that_cannot_be_written_is_one_line(context, name):
    with pytest.raises(StartError, match='output is'):
        make(context, name)


def test_record_mcap_puts_it_into_the_folder_of_the_run(tmp_path):
    values = bringup.resolve({'record': 'mcap', 'run_dir': str(tmp_path)})
    (made,) = (p for p in bringup.processes(values, tmp_path) if p.name == 'recorder')
    assert made.parameters['output'].startswith(f'{tmp_path}/bag-')
    assert made.parameters['output'].endswith('.mcap')
    assert made.module == 'mcap'
    assert not made.essential
