"""Real node processes over real DDS, in a ROS domain of their own."""
from collections import defaultdict
import contextlib
import itertools
import json
import os
from pathlib import Path
import signal
import subprocess
import threading
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='node tests need ROS 2: run them by make test')
from ament_index_python.packages import get_package_prefix  # noqa: E402
from domain_coordinator import domain_id  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.parameter_client import AsyncParameterClient  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from pacsbo_ros.action import RunEpisode  # noqa: E402
from pacsbo_ros.msg import (  # noqa: E402
    Candidate,
    ControllerState,
    EpisodeResult,
    GainMap,
    OptimizerState,
    SafetyStatus,
)
from pacsbo_ros.nodes.spinning import EVENTS, HEARTBEAT, LATCHED, STATES  # noqa: E402

TOPICS = {
    'candidate': (Candidate, LATCHED), 'optimizer_state': (OptimizerState, LATCHED),
    'gain_map': (GainMap, LATCHED), 'told_result': (EpisodeResult, EVENTS),
    'episode_result': (EpisodeResult, EVENTS), 'safety_status': (SafetyStatus, HEARTBEAT),
    'safety_event': (SafetyStatus, EVENTS), 'controller_state': (ControllerState, HEARTBEAT),
    'joint_states': (JointState, STATES),
}
PATIENCE = 30.0  # s; only a broken graph needs that long
# A busy machine may hold a process up for longer than the watchdogs of a robot allow. Tests that
# are not about these times use wide ones.
PATIENT = {'verdict_timeout': 1.0}
PATIENT_MONITOR = {'state_timeout': 1.0, 'heartbeat_timeout': 1.0}


def wait_for(condition, what, patience=PATIENCE):
    """Return the first true value of condition; fail with words when it does not come."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f'{what} did not happen within {patience} s')


class Client:
    """An operator's view of a graph: keeps all messages, calls services, sends goals."""

    def __init__(self, namespace=''):
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node('observer', namespace=namespace, context=self.context)
        self.messages = defaultdict(list)
        for topic, (kind, qos) in TOPICS.items():
            self.node.create_subscription(kind, topic, self.messages[topic].append, qos)
        self.action = ActionClient(self.node, RunEpisode, 'run_episode')
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()

    def _spin(self):
        with contextlib.suppress(rclpy.executors.ExternalShutdownException):
            self.executor.spin()

    def last(self, topic):
        return self.messages[topic][-1] if self.messages[topic] else None

    def wait(self, topic, condition=lambda m: True, patience=PATIENCE):
        """Wait until the newest message of a topic fulfils a condition."""
        return wait_for(lambda: (m := self.last(topic)) is not None and condition(m) and m,
                        f'a {topic} that fits (last: {self.last(topic)})', patience)

    def call(self, service, patience=PATIENCE):
        client = self.node.create_client(Trigger, service)
        assert client.wait_for_service(timeout_sec=patience), f'no service {service}'
        future = client.call_async(Trigger.Request())
        wait_for(future.done, f'an answer of {service}', patience)
        return future.result()

    def send(self, **fields):
        """Send a goal; return its handle."""
        assert self.action.wait_for_server(timeout_sec=PATIENCE)
        future = self.action.send_goal_async(RunEpisode.Goal(**fields))
        wait_for(future.done, 'an answer to the goal')
        return future.result()

    def result(self, handle):
        future = handle.get_result_async()
        wait_for(future.done, 'the result of the goal')
        return future.result().result.result

    def set_parameter(self, node, name, value):
        client = AsyncParameterClient(self.node, node)
        assert client.wait_for_services(timeout_sec=PATIENCE)
        future = client.set_parameters([Parameter(name, value=value)])
        wait_for(future.done, f'an answer to setting {name}')
        return future.result().results[0]

    def close(self):
        self.context.try_shutdown()
        self.thread.join(timeout=5.0)


class Process:
    """A node in a process of its own, with its output in a file."""

    def __init__(self, name, folder, namespace, parameters):
        prefix = Path(get_package_prefix('pacsbo_ros'))
        words = [str(prefix / 'lib' / 'pacsbo_ros' / name), '--ros-args']
        for key, value in parameters.items():
            words += ['-p', f'{key}:={json.dumps(value)}']
        if namespace:
            words += ['-r', f'__ns:=/{namespace}']
        self.log = folder / f'{name}-{time.monotonic_ns()}.log'
        with self.log.open('w') as log:
            self.popen = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT,
                                          cwd=folder, start_new_session=True)

    @property
    def output(self):
        return self.log.read_text()

    def signal(self, number):
        self.popen.send_signal(number)

    def wait(self, patience=4 * PATIENCE):
        """Wait for the end of the process, which may be the end of a whole run."""
        return self.popen.wait(patience)

    def end(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGCONT)
            self.popen.send_signal(signal.SIGINT)
            try:
                self.popen.wait(10)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        return self.popen.returncode


class Graph:
    """The processes of one test and an operator who watches them."""

    numbers = itertools.count()

    def __init__(self, folder):
        # A namespace of its own keeps it apart from the other graphs in the domain.
        self.folder, self.namespace = folder, f'graph{next(self.numbers)}'
        self.processes = []
        self.client = Client(self.namespace)

    def start(self, name, **parameters):
        process = Process(name, self.folder, self.namespace, parameters)
        self.processes.append(process)
        return process

    def start_monitor(self, **parameters):
        return self.start('safety_monitor', **{'auto_arm': True, **PATIENT_MONITOR, **parameters})

    def start_controller(self, **parameters):
        return self.start('furuta_controller', **{'speed': 0.0, **PATIENT, **parameters})

    def start_optimizer(self, **parameters):
        return self.start('pacsbo_optimizer',
                          **{'run_dir': str(self.folder / 'run'), 'candidates': 400,
                             'report': False, **parameters})

    def wait_until_ready(self):
        return self.client.wait('controller_state', lambda m: m.state == ControllerState.READY)

    def close(self):
        self.client.close()
        for process in reversed(self.processes):
            process.end()


@pytest.fixture(scope='session', autouse=True)
def ros_domain():
    """Keep the tests on this machine and away from every other graph on it."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    with domain_id() as number:
        os.environ['ROS_DOMAIN_ID'] = str(number)
        yield


@pytest.fixture
def graph(tmp_path):
    made = Graph(tmp_path)
    yield made
    made.close()


@pytest.fixture
def another(tmp_path_factory):
    """A second graph beside the first."""
    made = Graph(tmp_path_factory.mktemp('another'))
    yield made
    made.close()


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """A ready graph for the tests of a module that leave it as it was."""
    made = Graph(tmp_path_factory.mktemp('shared'))
    made.start_monitor()
    made.start_controller()
    made.wait_until_ready()
    yield made
    made.close()


@pytest.fixture
def ready(graph):
    """A graph with an armed monitor and a controller that waits for goals."""
    graph.start_monitor()
    graph.start_controller()
    graph.wait_until_ready()
    return graph
