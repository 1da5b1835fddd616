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

"""Real node processes over real DDS with somebody who watches: for tests and the campaign."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
import contextlib
import itertools
import json
import os
from pathlib import Path
import signal
import subprocess
import threading
import time
from typing import Any

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from domain_coordinator import domain_id
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.msg import (
    Candidate,
    Command,
    ControllerState,
    EpisodeResult,
    GainMap,
    OptimizerState,
    Robot,
    SafetyStatus,
)
from pacsbo_ros.nodes import ctl
from pacsbo_ros.nodes.lifeline import tied_to
from pacsbo_ros.nodes.spinning import EVENTS, HEARTBEAT, LATCHED, RECORDS, STATES
import rclpy
from rclpy.action import ActionClient
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

TOPICS = {
    'candidate': (Candidate, LATCHED), 'optimizer_state': (OptimizerState, LATCHED),
    'gain_map': (GainMap, LATCHED), 'told_result': (EpisodeResult, RECORDS),
    'episode_result': (EpisodeResult, RECORDS), 'safety_status': (SafetyStatus, HEARTBEAT),
    'safety_event': (SafetyStatus, EVENTS), 'controller_state': (ControllerState, HEARTBEAT),
    'robot': (Robot, LATCHED), 'joint_states': (JointState, STATES),
    'plant/command': (Command, HEARTBEAT),
}
PATIENCE = 30.0  # s; only a broken graph needs that long
RETRY = 2.0  # s until a service call that was not answered is repeated


def wait_for(condition: Callable[[], Any], what: str, patience: float = PATIENCE,
             period: float = 0.005) -> Any:
    """Return the first true value of condition; fail with words when it does not come."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(period)
    raise AssertionError(f'{what} did not happen within {patience} s')


@contextlib.contextmanager
def own_domain():
    """Stay on this machine and away from every other graph on it."""
    with domain_id() as number, changed_environment(
            ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST', ROS_DOMAIN_ID=str(number)):
        yield


@contextlib.contextmanager
def changed_environment(**values: str):
    """Set variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


class Client:
    """An operator's view of a graph: keeps all messages, calls services, sends goals."""

    def __init__(self, namespace: str = '', topics: Sequence[str] = tuple(TOPICS)) -> None:
        """Listen to the topics of a namespace in a thread of its own."""
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node('observer', namespace=namespace, context=self.context)
        self.messages: dict[str, list[Any]] = defaultdict(list)
        self.times: dict[str, list[float]] = defaultdict(list)  # when each came, steady clock
        for topic in topics:
            kind, qos = TOPICS[topic]
            self.node.create_subscription(kind, topic, self._keeper(topic), qos)
        self.action = ActionClient(self.node, RunEpisode, 'run_episode')
        self._services: dict[str, Any] = {}
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()

    def _keeper(self, topic: str) -> Callable[[Any], None]:
        def keep(message: Any) -> None:
            self.times[topic].append(time.monotonic())
            self.messages[topic].append(message)
        return keep

    def _spin(self) -> None:
        # At the end the context may go, with what an executor waits for, while it still spins.
        with contextlib.suppress(ExternalShutdownException, InvalidHandle):
            self.executor.spin()

    def last(self, topic: str) -> Any:
        """Return the newest message of a topic; None before the first."""
        return self.messages[topic][-1] if self.messages[topic] else None

    def wait(self, topic: str, condition: Callable[[Any], Any] = lambda m: True,
             patience: float = PATIENCE) -> Any:
        """Wait until the newest message of a topic fulfils a condition."""
        return wait_for(lambda: (m := self.last(topic)) is not None and condition(m) and m,
                        f'a {topic} that fits (last: {self.last(topic)})', patience)

    def find(self, service: str, patience: float = PATIENCE) -> Any:
        """Return the client of a service that is there, by what it does."""
        if service not in self._services:
            self._services[service] = self.node.create_client(
                Trigger, ctl.service(service))
        client = self._services[service]
        assert client.wait_for_service(timeout_sec=patience), f'no service {service}'
        return client

    def call(self, service: str, patience: float = PATIENCE) -> Trigger.Response:
        """Call a service and return its answer."""
        client = self.find(service, patience)
        # A killed server is believed to live for a while: ask again, as a person would.
        asked: list[Any] = []

        def answered() -> Any:
            if not asked or time.monotonic() - asked[-1][0] > RETRY:
                asked.append((time.monotonic(), client.call_async(Trigger.Request())))
            return next((future for _, future in asked if future.done()), None)

        return wait_for(answered, f'an answer of {service}', patience).result()

    def send(self, **fields: Any) -> Any:
        """Send a goal; return its handle."""
        assert self.action.wait_for_server(timeout_sec=PATIENCE)
        future = self.action.send_goal_async(RunEpisode.Goal(**fields))
        wait_for(future.done, 'an answer to the goal')
        return future.result()

    def result(self, handle: Any) -> EpisodeResult:
        """Wait for the result of a goal."""
        future = handle.get_result_async()
        wait_for(future.done, 'the result of the goal')
        return future.result().result.result

    def set_parameter(self, node: str, name: str, value: Any) -> Any:
        """Set a parameter; return the node's answer."""
        future = self._parameters_of(node).set_parameters([Parameter(name, value=value)])
        wait_for(future.done, f'an answer to setting {name}')
        return future.result().results[0]

    def get_parameter(self, node: str, name: str) -> Any:
        """Return the value of a parameter."""
        future = self._parameters_of(node).get_parameters([name])
        wait_for(future.done, f'the value of {name}')
        return parameter_value_to_python(future.result().values[0])

    def _parameters_of(self, node: str) -> AsyncParameterClient:
        client = AsyncParameterClient(self.node, node)
        assert client.wait_for_services(timeout_sec=PATIENCE)
        return client

    def close(self) -> None:
        """Leave the graph."""
        self.executor.shutdown(timeout_sec=5.0)
        self.thread.join(timeout=5.0)
        self.context.try_shutdown()


class Process:
    """A node in a process of its own, with its output in a file."""

    def __init__(self, name: str, folder: Path, namespace: str, parameters: dict[str, Any],
                 remap: dict[str, str] | None = None, program: Sequence[str] = (),
                 node: bool = True) -> None:
        """Start the installed executable of that name, or another program."""
        installed = Path(get_package_prefix('pacsbo_ros')) / 'lib' / 'pacsbo_ros' / name
        config = Path(get_package_share_directory('pacsbo_ros')) / 'config' / 'furuta.yaml'
        words = [*(program or [str(installed)])]
        if node:  # a launcher knows its own arguments only
            words += ['--ros-args', '--params-file', str(config)]
        for key, value in parameters.items():
            words += ['-p', f'{key}:={json.dumps(value)}']
        for old, new in (remap or {}).items():
            words += ['-r', f'{old}:={new}']
        if namespace:
            words += ['-r', f'__ns:=/{namespace}']
        self.name = name
        self.log = folder / f'{name}-{time.monotonic_ns()}.log'
        self.log.touch()
        self.popen = self.launch(words, folder)

    def launch(self, words: list[str], folder: Path) -> Any:
        """Start a program that writes to the log."""
        with self.log.open('w') as log:
            # Tied to us: a test run that is killed leaves no real-time process behind.
            return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log,
                                    stderr=subprocess.STDOUT, cwd=folder,
                                    start_new_session=True, preexec_fn=tied_to(os.getpid()))

    @property
    def output(self) -> str:
        """Return what it has printed."""
        return self.log.read_text()

    @property
    def alive(self) -> bool:
        """Tell whether it has not ended."""
        return self.popen.poll() is None

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.popen.send_signal(number)

    def wait(self, patience: float = 4 * PATIENCE) -> int:
        """Wait for the end of the process, which may be the end of a whole run."""
        return self.popen.wait(patience)

    def ask(self) -> None:
        """Ask it to end."""
        if self.alive:
            self.popen.send_signal(signal.SIGCONT)
            self.popen.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Have it end, ever less politely."""
        if self.alive:
            self.ask()
            try:
                self.popen.wait(10)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        return self.popen.returncode


class Graph:
    """Processes in a namespace of their own, and an operator who watches them."""

    numbers = itertools.count()
    make = Process  # how its nodes are started

    def __init__(self, folder: Path, topics: Sequence[str] = tuple(TOPICS)) -> None:
        """Begin with nobody but the operator, who is only there if he listens to topics."""
        # A namespace of its own keeps it apart from the other graphs in the domain.
        self.folder, self.namespace = folder, f'graph{next(self.numbers)}'
        self.processes: list[Process] = []
        self.client = Client(self.namespace, topics) if topics else None

    def start(self, name: str, **parameters: Any) -> Process:
        """Start a node of the package."""
        process = self.make(name, self.folder, self.namespace, parameters)
        self.processes.append(process)
        return process

    def wait_until_ready(self) -> ControllerState:
        """Wait until the controller takes goals."""
        return self.client.wait('controller_state', lambda m: m.state == ControllerState.READY)

    def close(self) -> None:
        """End everything, the newest process first."""
        if self.client is not None:
            self.client.close()
        for process in reversed(self.processes):
            process.ask()
        for process in self.processes:
            process.end()
