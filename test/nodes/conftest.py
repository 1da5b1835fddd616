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

"""Real node processes over real DDS, in a ROS domain of their own."""
import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='node tests need ROS 2: run them by make test')
from faults import graph as graphs
from faults.forked import Forked
import rclpy

# A busy machine may hold a process up for longer than the watchdogs of a robot allow. Tests that
# are not about these times use wide ones.
PATIENT = {'verdict_timeout': 1.0}
PATIENT_MONITOR = {'state_timeout': 1.0, 'heartbeat_timeout': 1.0}


# Not every sample: to hear them takes a fifth of a core, and no test looks at them.
HEARD = tuple(topic for topic in graphs.TOPICS if topic not in ('joint_states', 'plant/command'))


class Graph(graphs.Graph):
    """The processes of one test and an operator who watches them."""

    make = Forked

    def __init__(self, folder, topics=HEARD):
        super().__init__(folder, topics)

    def start_monitor(self, **parameters):
        return self.start('safety_monitor', **{'auto_arm': True, **PATIENT_MONITOR, **parameters})

    def start_controller(self, **parameters):
        return self.start('furuta_controller', **{'speed': 0.0, **PATIENT, **parameters})

    def start_optimizer(self, **parameters):
        return self.start('pacsbo_optimizer',
                          **{'run_dir': str(self.folder / 'run'), 'candidates': 400,
                             'report': False, 'start_repeats': 0, 'verifications': 1,
                             **parameters})


@pytest.fixture(scope='session', autouse=True)
def ros_domain():
    """Keep the tests on this machine and away from every other graph on it."""
    with graphs.own_domain():
        yield


@pytest.fixture
def context():
    """Make a context for nodes in the process of the test."""
    made = rclpy.Context()
    made.init()
    yield made
    made.try_shutdown()


@pytest.fixture
def graph(tmp_path):
    made = Graph(tmp_path)
    yield made
    made.close()


@pytest.fixture
def alone(tmp_path):
    """Start nodes that end by themselves: nobody watches, nothing moves."""
    made = Graph(tmp_path, topics=())
    yield made
    made.close()


@pytest.fixture
def another(tmp_path_factory):
    """Make a second graph beside the first."""
    made = Graph(tmp_path_factory.mktemp('another'))
    yield made
    made.close()


@pytest.fixture(scope='module')
def common_graph(request, tmp_path_factory):
    """Make an empty graph for all tests of a module, whose operator hears what it names."""
    made = Graph(tmp_path_factory.mktemp('common'),
                 getattr(request.module, 'HEARD', HEARD))
    yield made
    made.close()


@pytest.fixture(scope='module')
def shared(common_graph):
    """Make a ready graph for the tests of a module that leave it as it was."""
    common_graph.start_monitor()
    common_graph.start_controller()
    common_graph.wait_until_ready()
    return common_graph


@pytest.fixture
def ready(graph):
    """Make a graph with an armed monitor and a controller that waits for goals."""
    graph.start_monitor()
    graph.start_controller()
    graph.wait_until_ready()
    return graph
