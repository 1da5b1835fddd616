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
Speak to a running graph from a terminal, also where there is no ros2 command.

    ros2 run pacsbo_ros ctl stop          make stop
    ros2 run pacsbo_ros ctl status        make status

The exit code is 0 if the graph did what was asked, 1 if it refused, 2 if nobody answered.
"""
from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from typing import Any

from pacsbo_ros.msg import OptimizerState, SafetyStatus
from pacsbo_ros.nodes.spinning import HEARTBEAT, LATCHED
from pacsbo_ros.nodes.transport import use_datagrams
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

WORDS = {  # what can be asked for: who does it, and what it does
    'stop': ('safety_monitor', 'switch the actuators off now, latched'),
    'reset': ('safety_monitor', 'leave a stop, disarmed; refused while its cause persists'),
    'arm': ('safety_monitor', 'allow the robot to move, if all checks pass'),
    'pause': ('pacsbo_optimizer', 'wait after the running episode'),
    'resume': ('pacsbo_optimizer', 'go on after a pause'),
    'approve': ('pacsbo_optimizer', 'run the candidate that waits for approval'),
    'finish': ('pacsbo_optimizer', 'end the search now and verify the best values'),
}
STATUS = 'status'


def service(word: str) -> str:
    """Return the service that does it, as seen from the graph's namespace."""
    return f'{WORDS[word][0]}/{word}'


def line(word: str, namespace: str = '/') -> str:
    """Return the command that says it and works where we are."""
    where = '' if namespace == '/' else f'--namespace {namespace}'
    if shutil.which('ros2'):
        return f'ros2 run pacsbo_ros ctl {word} {where}'.strip()
    return f'make {word}' + (f' ARGS="{where}"' if where else '')


def with_commands(words: str, namespace: str = '/') -> str:
    """Return the words with the command beside every call that they ask for."""
    return re.sub(rf'\bcall ({"|".join(WORDS)})\b',
                  lambda match: f'{match[0]} ({line(match[1], namespace)})', words)


def code_name(message, code: int) -> str:
    """Return the name of a state code of a message, or its number where it has none."""
    names = {value: name for name in dir(type(message)) if name.isupper()
             and isinstance(value := getattr(type(message), name), int)}
    return names.get(code, f'state {code}')


def ask(node: Node, executor: SingleThreadedExecutor, word: str, timeout: float) -> int:
    """Call one service and print its answer."""
    client: Any = node.create_client(Trigger, service(word))
    deadline = time.monotonic() + timeout
    while not client.service_is_ready() and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)
    future = client.call_async(Trigger.Request())
    executor.spin_until_future_complete(future, max(0.1, deadline - time.monotonic()))
    if not future.done():
        print(f'error: nobody answered {node.resolve_service_name(service(word))} within '
              f'{timeout:g} s; is {WORDS[word][0]} running, in this namespace and ROS domain?',
              file=sys.stderr)
        return 2
    answer = future.result()
    words = with_commands(answer.message, node.get_namespace())
    print(words if answer.success else f'refused: {words}')
    return 0 if answer.success else 1


def tell_status(node: Node, executor: SingleThreadedExecutor, timeout: float) -> int:
    """Print what the monitor and the optimiser say."""
    heard: dict[str, Any] = {}
    for kind, topic, qos in ((SafetyStatus, 'safety_status', HEARTBEAT),
                             (OptimizerState, 'optimizer_state', LATCHED)):
        node.create_subscription(
            kind, topic, lambda message, topic=topic: heard.update({topic: message}), qos)
    deadline = time.monotonic() + timeout
    while len(heard) < 2 and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)
    safety, run = heard.get('safety_status'), heard.get('optimizer_state')
    if safety is not None:
        print(f'safety_monitor    {code_name(safety, safety.state)}: '
              f'{with_commands(safety.reason, node.get_namespace())}')
    if run is not None:
        print(f'pacsbo_optimizer  {code_name(run, run.state)}: '
              f'{with_commands(run.reason, node.get_namespace())}')
        print(f'                  {min(run.iteration, run.budget)} of {run.budget} episodes, '
              f'best reward {run.best_reward:.4f}')
    if not heard:
        print(f'error: no graph spoke within {timeout:g} s; is it running, in this namespace '
              'and ROS domain?', file=sys.stderr)
    return 0 if heard else 2


def main(arguments: list[str] | None = None) -> int:
    """Do one word."""
    parser = argparse.ArgumentParser(
        prog='ctl', description='Speak to a running graph.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='\n'.join(f'{word:8} {does}' for word, (_, does) in WORDS.items())
        + f'\n{STATUS:8} say what the monitor and the optimiser are doing')
    parser.add_argument('word', choices=[*WORDS, STATUS])
    parser.add_argument('--namespace', default='', help='of the graph')
    parser.add_argument('--timeout', type=float, default=10.0, help='patience [s]')
    options = parser.parse_args(rclpy.utilities.remove_ros_args(
        sys.argv if arguments is None else ['ctl', *arguments])[1:])
    use_datagrams()
    rclpy.init(args=[])
    try:
        node = Node('pacsbo_ctl', namespace=options.namespace, start_parameter_services=False)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        if options.word == STATUS:
            return tell_status(node, executor, options.timeout)
        return ask(node, executor, options.word, options.timeout)
    except (KeyboardInterrupt, ExternalShutdownException):
        return 130
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    raise SystemExit(main())
