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

"""
Serve the live page: show the graph in a browser, and pass its buttons on as service calls.

The node spins in a thread of its own and only ever hands snapshots to the web server in the main
thread; nothing that a browser does can hold it up, and it holds up nobody else in the graph.
"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import signal
import socket
import sys
import threading
from typing import Any

from pacsbo_ros.msg import (
    Candidate,
    ControllerState,
    EpisodeResult,
    GainMap,
    OptimizerState,
    Robot,
    SafetyStatus,
)
from pacsbo_ros.nodes.ctl import service, WORDS
from pacsbo_ros.nodes.parameters import declare, Parameter, StartError
from pacsbo_ros.nodes.spinning import (
    EVENTS,
    HEARTBEAT,
    LATCHED,
    steady_now,
    steady_timer,
)
from pacsbo_ros.view import words
from pacsbo_ros.view.access import check_exposure
from pacsbo_ros.view.live import Live
from pacsbo_ros.view.slices import Slices
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

PATIENCE = 3.0  # s until an unanswered service call is reported
PARAMETERS = (
    Parameter('host', '127.0.0.1', 'Address to listen on; any other than this machine needs a '
              'token.'),
    Parameter('port', 8080, 'Port to listen on.', 1, 65535),
    Parameter('token', '', 'What a page must present before its buttons work; STOP always does.'),
    Parameter('rate', 20.0, 'How often an open page moves and draws its robot [Hz].', 1.0,
              20.0),
    Parameter('silence', 30.0, 'How long a page may not answer before it is let go of; a press '
              'on a busy machine must not be lost [s].', 5.0, 300.0),
)
NO_NICEGUI = ('the live page needs NiceGUI: pip install "pacsbo_ros[dashboard]" (or pip install '
              'nicegui)')


class Dashboard(Node):
    """Feed a Live from the graph and call the graph's services."""

    def __init__(self, live: Live, **options) -> None:
        """Declare, check the exposure, listen."""
        super().__init__('dashboard', **options)
        self.p = declare(self, PARAMETERS)
        try:
            check_exposure(self.p.host, self.p.token)
        except ValueError as error:
            raise StartError(error) from error
        self._live = live
        self._asked: dict[int, tuple[str, float]] = {}  # open calls: their name and when
        self._asked_lock = threading.Lock()
        self._state = -1
        self._unshown: set[str] = set()  # what was said of messages that cannot be shown
        for kind, topic, callback, qos in (
                (Robot, 'robot', live.see_robot, LATCHED),
                (SafetyStatus, 'safety_status', live.see_safety, HEARTBEAT),
                (ControllerState, 'controller_state', live.see_controller, HEARTBEAT),
                (Candidate, 'candidate', live.see_candidate, LATCHED),
                (SafetyStatus, 'safety_event', self._on_safety_event, EVENTS),
                (OptimizerState, 'optimizer_state', self._on_state, LATCHED),
                (GainMap, 'gain_map', self._on_map, LATCHED),
                (EpisodeResult, 'episode_result', self._on_result, EVENTS)):
            self.create_subscription(kind, topic, self._shown(topic, callback), qos)
        self._buttons: dict[str, Any] = {
            word: self.create_client(Trigger, service(word)) for word in WORDS}
        steady_timer(self, 1.0, self._look_after)

    # From the graph to the page.

    def _shown(self, topic: str, callback: Callable) -> Callable:
        """Return a callback that says it when a message cannot be shown, and goes on."""
        def show(message: Any) -> None:
            try:
                callback(message)
            except Exception as error:  # a code of another version, or nonsense
                words = f'a message on {topic} cannot be shown: {type(error).__name__}: {error}'
                if words not in self._unshown:
                    self._unshown = {*self._unshown, words} if len(self._unshown) < 20 else {words}
                    self.log_refusal(words)
        return show

    def _on_safety_event(self, message: SafetyStatus) -> None:
        level = {SafetyStatus.DISARMED: 'info', SafetyStatus.ARMED: 'good',
                 SafetyStatus.STOPPED: 'bad'}.get(message.state, 'warn')
        self._live.say(f'safety monitor: {message.reason}', level)

    def _on_state(self, message: OptimizerState) -> None:
        self._live.see_optimizer(message)
        if message.state != self._state:
            self._state = message.state
            title, level = words.state(message.state)
            if level != 'info' and message.state != OptimizerState.RUNNING:
                said = message.reason.startswith(title.lower())
                self._live.say(message.reason if said else f'{title.lower()}: {message.reason}',
                               level)

    def _on_map(self, message: GainMap) -> None:
        try:
            self._live.see_slices(Slices.from_message(message))
        except ValueError as error:
            self.get_logger().warning(f'gain map not shown: {error}')

    def _on_result(self, message: EpisodeResult) -> None:
        self._live.say(*words.result(message))

    # From the page to the graph, called in the web server's thread.

    def press(self, name: str) -> None:
        """Call a service and return at once; the answer becomes an event."""
        self.get_logger().info(f'{name} pressed on the page')
        client = self._buttons[name]
        if not client.service_is_ready():
            self._live.say(f'{name}: nobody offers this service now' + (
                '; without the safety monitor the actuators are off' if name == 'stop'
                else ''), 'bad')
            return
        future = client.call_async(Trigger.Request())
        with self._asked_lock:
            self._asked[id(future)] = (name, steady_now())
        future.add_done_callback(lambda done: self._answered(name, done))

    def _answered(self, name: str, future) -> None:
        with self._asked_lock:
            self._asked.pop(id(future), None)
        if future.exception() is not None or future.cancelled():
            self._live.say(f'{name}: {future.exception()}', 'bad')
            return
        answer = future.result()
        self._live.say(f'{name}: {answer.message}', 'info' if answer.success else 'warn')

    def _look_after(self) -> None:
        """Report calls that nobody answered, and miss the optimiser."""
        self._live.see_presence(self.count_publishers('optimizer_state') > 0)
        now = steady_now()
        with self._asked_lock:
            late = [(key, name) for key, (name, since) in self._asked.items()
                    if now - since > PATIENCE]
            for key, _ in late:
                del self._asked[key]
        for _, name in late:
            self._live.say(f'{name}: no answer within {PATIENCE:g} s', 'bad')

    def log_refusal(self, text: str) -> None:
        """Log what the page or its server refused, and show it on the page."""
        self.get_logger().warning(text)
        self._live.say(text, 'warn')


def _check_port(host: str, port: int) -> None:
    """Say plainly that an address cannot be used, before the web server does it at length."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family[0], socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(family[4])
    except OSError as error:
        raise StartError(f'host {host}, port {port}: {error.strerror}; set the parameters host '
                         'and port to a free address') from error


def main() -> int:
    """Run the web server here and the node in a thread."""
    # The web server owns the signals: it ends first, then the node.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    live = Live()
    node = None
    try:
        node = Dashboard(live)
        _check_port(node.p.host, node.p.port)
        try:
            from pacsbo_ros.view.page import serve
        except ImportError as error:
            raise StartError(NO_NICEGUI if error.name == 'nicegui' else error) from error
        executor.add_node(node)
        thread = threading.Thread(target=_spin, args=(executor,), name='ros', daemon=True)
        thread.start()
        node.get_logger().info(f'the live page is at http://{node.p.host}:{node.p.port}/')
        serve(live, node.press, node.log_refusal, node.p.host, node.p.port, node.p.token,
              node.p.rate, node.p.silence)
    except StartError as error:
        print(f'error: {error}', file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        pass
    finally:
        executor.shutdown(timeout_sec=2.0)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _spin(executor: SingleThreadedExecutor) -> None:
    with suppress(ExternalShutdownException):
        executor.spin()


if __name__ == '__main__':
    raise SystemExit(main())
