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

"""The nodes that a task tunes, over ROS: nothing here waits, all answers come later."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pacsbo_ros.nodes.live_checks import check_call, fill, load_type
from pacsbo_ros.nodes.parameter_calls import Exchange, ParameterCalls
from pacsbo_ros.nodes.spinning import EVENTS, steady_timer
from pacsbo_ros.robots.parameters.task import Call, Task
from rclpy.action import ActionClient
from rclpy.node import Node

START = 5.0  # s that a service or action gets to take up an episode


class Caller:
    """Something to be called: a service, an action or a message."""

    def __init__(self, node: Node, call: Call, patience: float) -> None:
        """Find who takes it and make the request; TaskError if that cannot be."""
        check_call(node, call, patience)
        kind = load_type(call.type)
        self._node, self._name, self._kind = node, call.name, call.kind
        self._answer: Any = None  # of the newest request: a future
        request = {'srv': 'Request', 'action': 'Goal'}.get(call.kind)
        self._message = fill(getattr(kind, request)() if request else kind(), call.fields,
                             call.name)
        if call.kind == 'srv':
            self._client: Any = node.create_client(kind, call.name)
        elif call.kind == 'action':
            self._client = ActionClient(node, kind, call.name)
        else:
            self._client = node.create_publisher(kind, call.name, EVENTS)

    def call(self) -> Exchange:
        """Call it, and hear whether it was taken."""
        if self._kind == 'msg':
            self._client.publish(self._message)
            return Exchange({}, lambda _: '')
        self._answer = (self._client.call_async(self._message) if self._kind == 'srv'
                        else self._client.send_goal_async(self._message))
        return Exchange({self._name: self._answer}, self._judge, timeout=START, silence=(
            f'has not answered for {START:g} s; have it answer when the motion begins'))

    def _judge(self, answers: dict) -> str:
        for answer in answers.values():
            if self._kind == 'action':
                if not answer.accepted:
                    return f'{self._name} rejects the goal'
            elif getattr(answer, 'success', True) is False:
                return f'{self._name} says no: {getattr(answer, "message", "")}'
        return ''

    def insist(self, say: Callable[[str], object]) -> None:
        """Say it if the newest request is refused, or not answered in time."""
        answer = self._answer
        if answer is None:  # a message: nobody answers
            return

        def silent() -> None:
            self._node.destroy_timer(timer)
            if not answer.done():
                say(f'{self._name} has not answered for {START:g} s')

        def judge(future: Any) -> None:
            if future.exception() is None and (words := self._judge({'': future.result()})):
                say(words)
        timer = steady_timer(self._node, START, silent)
        answer.add_done_callback(judge)

    def cancel(self, then: Callable[[], object] = lambda: None) -> None:
        """End an action that this has started; what is taken up late, too, and call then()."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        late = not answer.done()

        def end(future: Any) -> None:
            if future.exception() is not None:
                return
            if self._kind == 'action' and future.result().accepted:
                future.result().cancel_goal_async()
            if late:
                then()
        answer.add_done_callback(end)


class ParameterTarget:
    """Set, start, stop and put back."""

    def __init__(self, node: Node, task: Task, calls: ParameterCalls, patience: float) -> None:
        """Find everything that will be called."""
        self._node, self._task, self._calls = node, task, calls
        self.originals: dict[str, dict[str, float]] = {}
        self._start = Caller(node, task.start, patience) if task.start else None
        self._stop = Caller(node, task.stop, patience) if task.stop else None

    def _by_node(self, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
        return {node: {t.parameter: values[t.name] for t in tuned}
                for node, tuned in self._task.nodes.items()}

    def set(self, values: Mapping[str, float]) -> Exchange:  # noqa: A003
        """Set the tuned values and read them back."""
        return self._calls.set(self._by_node(values))

    def check(self, values: Mapping[str, float]) -> Exchange:
        """Read the tuned values and compare them."""
        return self._calls.check(self._by_node(values))

    def restore(self) -> Exchange:
        """Put the originals back; an action that still runs is ended."""
        if self._start is not None:
            self._start.cancel()
        return self._calls.set(self.originals)

    @property
    def owing(self) -> str:
        """Return a node that may still take over values that were set; empty if none."""
        return self._calls.owing

    def start(self) -> Exchange:
        """Start the episode."""
        return self._start.call() if self._start is not None else Exchange({}, lambda _: '')

    def stop(self) -> None:
        """Stop what moves, and again what a start that was not answered yet lets move later."""
        if self._start is not None:
            self._start.cancel(then=self._call_stop)
        self._call_stop()

    def _call_stop(self) -> None:
        if self._stop is not None:
            self._stop.call()
            self._stop.insist(lambda words: self._node.get_logger().fatal(
                f'the stop failed: {words}; if the robot still moves switch it off by hand'))
