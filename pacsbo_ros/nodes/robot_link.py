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

"""The robot as the optimiser sees it: what it is, whether it is ready, and episodes on it."""
from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

from action_msgs.msg import GoalStatus
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.msg import ControllerState, Robot
from pacsbo_ros.nodes import progress
from pacsbo_ros.nodes.parameters import StartError
from pacsbo_ros.nodes.robot_messages import description
from pacsbo_ros.nodes.spinning import HEARTBEAT, LATCHED, steady_now, wait_for_message
from pacsbo_ros.nodes.waiting import Waiting
from pacsbo_ros.robots.contract import Description
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future

LOST = 2.0  # s without a sign that the controller works at a goal
SILENT = 0.5  # s without a heartbeat of it


def meet_robot(node: Node, timeout: float) -> Description:
    """Wait until the robot says what it is."""
    node.get_logger().info('waiting for a robot to say what it is')
    message = wait_for_message(node, Robot, 'robot', LATCHED, timeout)
    if message is None:
        raise StartError(f'no robot said what it is on {node.resolve_topic_name("robot")} '
                         f"within {timeout:g} s; start the robot's node")
    try:
        return description(message)
    except ValueError as error:
        raise StartError(f'robot {message.name!r} is described wrongly: {error}') from error


class RobotLink:
    """Have the robot run episodes, from a worker thread."""

    def __init__(self, node: Node, waiting: Waiting, robot: Description) -> None:
        """Listen to the node of the robot that the run began with."""
        self._node, self._waiting, self._robot = node, waiting, robot
        self._controller: ControllerState | None = None  # its newest heartbeat
        self._seen = -math.inf  # when that came
        self._changed_robot = ''  # how the robot differs from the one that the run began with
        self._goal = ('', 0)  # run and iteration of the newest goal
        self._goal_seen = -math.inf  # when the controller was last seen to work at it
        self._candidates = node.resolve_topic_name('candidate')
        self._client: Any = ActionClient(node, RunEpisode, 'run_episode')
        node.create_subscription(ControllerState, 'controller_state', self._on_controller,
                                 HEARTBEAT)
        node.create_subscription(Robot, 'robot', self._on_robot, LATCHED)

    def _on_controller(self, message: ControllerState) -> None:
        self._controller, self._seen = message, steady_now()
        if (message.run_id, message.iteration) == self._goal:
            self._goal_seen = self._seen

    def _on_robot(self, message: Robot) -> None:
        """Hold the run while the robot is not the one that it began with."""
        try:
            same = description(message) == self._robot
        except ValueError:
            same = False
        self._changed_robot = '' if same else (
            f'the robot ({message.name} on {message.plant}) is not what it was when the run '
            'began; start it as it was, or begin a new run')

    @property
    def known(self) -> bool:
        """Tell whether the controller was ever heard."""
        return self._controller is not None

    def ready(self) -> bool:
        """Tell whether the robot takes a goal now, and the monitor knows what is proposed."""
        return (self._controller is not None and steady_now() - self._seen < SILENT
                and self._client.server_is_ready()
                and self._controller.state == ControllerState.READY
                and not self._changed_robot and self._monitor_listens())

    def _monitor_listens(self) -> bool:
        """Tell whether the monitor gets the candidates, to compare them with what runs."""
        listeners = self._node.get_subscriptions_info_by_topic(self._candidates)
        return any(listener.node_name == 'safety_monitor' for listener in listeners)

    def note(self) -> str:
        """Say why the robot is not ready."""
        if self._controller is None:
            return 'it has not started yet'
        if steady_now() - self._seen > SILENT:
            return 'it is silent'
        if self._changed_robot:
            return self._changed_robot
        if not self._monitor_listens():
            return 'the safety monitor does not listen to candidates yet'
        return self._controller.note or 'it is busy'

    def run(self, goal: RunEpisode.Goal) -> RunEpisode.Result | None:
        """Send a goal and wait for its result; None if it was refused, got lost or is wrong."""
        handle = self._answer(self._client.send_goal_async, goal)
        if handle is None or not handle.accepted:
            return None
        self._goal = (goal.run_id, goal.iteration)
        answer = self._answer(handle.get_result_async)
        if answer is None or answer.status == GoalStatus.STATUS_UNKNOWN:
            return None
        wrong = progress.problem_with(answer.result.result, goal, self._robot)
        if wrong:
            self._node.get_logger().error(f'a result {wrong} and is not used')
            return None
        return answer.result

    def _answer(self, ask: Callable[..., Future], *arguments: Any) -> Any:
        """
        Ask the robot something in the executor's thread, and wait for the answer.

        In another thread an answer may come before rclpy has noted that it waits for one.
        """
        asked = self._await(self._node.executor.create_task(ask, *arguments))
        return None if asked is None else self._await(asked)

    def _await(self, future: Future) -> Any:
        """Wait for a future while the controller works at our goal; None if it does not come."""
        future.add_done_callback(lambda _: self._waiting.notify())
        start = steady_now()
        while not future.done():
            # A controller that was restarted lives, but knows nothing of our goal.
            if steady_now() - max(self._goal_seen, start) > LOST:
                return None
            self._waiting.wait(future.done, timeout=0.1)
        return future.result()
