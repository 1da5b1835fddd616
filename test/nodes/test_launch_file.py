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

"""The launch file as it is shipped, where there is a launch_testing: start, episode, stop, end."""
import contextlib
from pathlib import Path
import tempfile
import unittest

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('launch_testing', reason='the launch file needs launch and launch_ros')
from ament_index_python.packages import get_package_share_directory
from faults import graph as graphs
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
import launch_testing
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from pacsbo_ros.msg import EpisodeResult, SafetyStatus
import yaml

SHARE = Path(get_package_share_directory('pacsbo_ros'))
NAMESPACE = 'launched'
PATIENCE = 120.0  # s; a busy machine starts four processes
AFTERWARDS = contextlib.ExitStack()


@pytest.mark.graph
@pytest.mark.launch_test
def generate_test_description():
    """Include the installed launch file, with the wide watchdogs that a busy machine needs."""
    AFTERWARDS.enter_context(graphs.own_domain())
    folder = Path(AFTERWARDS.enter_context(tempfile.TemporaryDirectory()))
    parameters = yaml.safe_load((SHARE / 'config' / 'furuta.yaml').read_text())
    parameters['/**/safety_monitor']['ros__parameters'].update(
        state_timeout=1.0, heartbeat_timeout=1.0)
    parameters['/**/furuta_controller']['ros__parameters'].update(verdict_timeout=1.0)
    (folder / 'patient.yaml').write_text(yaml.safe_dump(parameters))
    arguments = {'namespace': NAMESPACE, 'speed': 'max', 'iterations': '1000',
                 'run_dir': str(folder / 'run'), 'params_file': str(folder / 'patient.yaml')}
    return LaunchDescription([
        IncludeLaunchDescription(str(SHARE / 'launch' / 'furuta.launch.py'),
                                 launch_arguments=arguments.items()),
        ReadyToTest()])


class WhileItRuns(unittest.TestCase):
    """A person watches the first episode and calls the stop."""

    def test_an_episode_is_done_and_a_stop_is_heard(self):
        client = graphs.Client(NAMESPACE, ('episode_result', 'safety_status', 'safety_event'))
        self.addCleanup(client.close)
        result = client.wait('episode_result', patience=PATIENCE)
        assert result.outcome == EpisodeResult.COMPLETED, result
        assert client.last('safety_status').state == SafetyStatus.ARMED
        assert client.call('stop', PATIENCE).success
        stopped = client.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED, PATIENCE)
        assert 'operator' in stopped.reason


@launch_testing.post_shutdown_test()
class AtItsEnd(unittest.TestCase):
    """Every process was told to end, and did so by itself."""

    @classmethod
    def tearDownClass(cls):
        AFTERWARDS.close()

    def test_every_process_has_ended_in_order(self, proc_info, proc_output):
        assert len(proc_info.process_names()) == 4
        assertExitCodes(proc_info, [0, 130])  # the optimiser was interrupted, and says so
        said = ''.join(line.text.decode() for line in proc_output)
        assert 'Traceback' not in said, said
