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
Make a Python robot a node: `serve(MyRobot())`, or `serve module:Class` from the command line.

The node is named after the robot and offers what every robot of ours offers: episodes by action,
with the consent of the safety monitor. tune.launch.py starts it with all the others.
"""
from __future__ import annotations

from importlib import import_module
import os
import sys

from pacsbo_ros.nodes.episode_server import EpisodeServer, VERDICT_TIMEOUT
from pacsbo_ros.nodes.parameters import declare
from pacsbo_ros.nodes.spinning import raise_priority, spin
from pacsbo_ros.robots.python import Robot
from rclpy.task import Future

PARAMETERS = (VERDICT_TIMEOUT,)


class RobotNode(EpisodeServer):
    """Serve any robot."""

    def __init__(self, robot: Robot, **options) -> None:
        """Take a robot whose actuators are off."""
        super().__init__(robot.description.name, **options)
        p = declare(self, PARAMETERS)
        self.exit_code = 0
        self.done: Future = Future()
        self.serve(robot, p.verdict_timeout)
        self.get_logger().info(f'{robot.description.name} waits for consent and a goal')

    def show(self, stamp) -> None:
        """End once run() has shown a bug: no other episode can be better."""
        broken = getattr(self.robot, 'broken', '')
        if broken and not self.running and not self.done.done():
            self.get_logger().fatal(f'{self.description.name}: run() failed, mend it and resume '
                                    f'the run: {broken}')
            self.exit_code = 1
            self.done.set_result(None)


def serve(robot: Robot) -> int:
    """Run a node for the robot until a signal ends it; return the exit code."""
    raise_priority()
    return spin(lambda: RobotNode(robot))


def load(name: str) -> Robot:
    """Return a new robot of a class named module:Class; ValueError says what is wrong."""
    module, colon, kind = name.partition(':')
    if not colon or not module or not kind:
        raise ValueError(f'robot is {name!r}; write it like my_module:MyRobot')
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        made = getattr(import_module(module), kind)()
        made.description  # noqa: B018  a robot that cannot say what it is fails here
    except ModuleNotFoundError as error:
        where = f'; {os.getcwd()} has none: start there where {module}.py lies, or set PYTHONPATH'
        raise ValueError(f'robot {name}: {error}' + where * (error.name == module)) from error
    except (Exception, SystemExit) as error:  # whatever a user's module raises is told in one line
        raise ValueError(f'robot {name}: {type(error).__name__}: {error}') from error
    return made


def main() -> int:
    """Serve the robot named on the command line."""
    if len(sys.argv) < 2:
        print('error: name a robot, for example serve my_module:MyRobot', file=sys.stderr)
        return 2
    try:
        return serve(load(sys.argv[1]))
    except ValueError as error:
        print(f'error: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    raise SystemExit(main())
