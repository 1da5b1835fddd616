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

"""What the operator wants of a run: pause, resume, approve, finish."""
from __future__ import annotations

from collections.abc import Callable

from pacsbo_ros.nodes.ctl import line
from pacsbo_ros.nodes.waiting import Waiting
from rclpy.node import Node
from std_srvs.srv import Trigger


class Wishes:
    """Hear the operator by services, and ask for a person."""

    def __init__(self, node: Node, waiting: Waiting, searching: Callable[[], bool]) -> None:
        """Offer the services; searching says whether there is a search left to finish."""
        self._node, self._waiting, self._searching = node, waiting, searching
        self.paused = self.finishing = False
        self.over = False  # nothing will be tried any more
        self.pause_reason = ''
        self.approved = True  # the candidate at hand may be tried
        self.asking = False  # it was said that this waits for the operator
        for name, callback in (('pause', self._on_pause), ('resume', self._on_resume),
                               ('approve', self._on_approve), ('finish', self._on_finish)):
            node.create_service(Trigger, f'~/{name}', callback)

    def ask_person(self, why: str) -> None:
        """Stop before the next episode until a person has looked and calls resume."""
        self.pause_reason, self.paused = f'{why}: look at the robot', True
        self._node.get_logger().error(
            f'{self.pause_reason}, then {line("resume", self._node.get_namespace())}')

    def _answer(self, response: Trigger.Response, words: str,
                ok: bool = True) -> Trigger.Response:
        response.success, response.message = ok, words
        self._node.get_logger().info(words)
        self._waiting.notify()
        return response

    def _on_pause(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.over:
            return self._answer(response, 'the run is over already', False)
        self.pause_reason, self.paused = 'paused by the operator', True
        return self._answer(response, 'pausing; a running episode ends first')

    def _on_resume(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.paused = False
        return self._answer(response, 'going on')

    def _on_approve(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.asking:
            return self._answer(response, 'no candidate waits for approval', False)
        self.approved = True
        return self._answer(response, 'approved')

    def _on_finish(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._searching():
            return self._answer(response, 'the search is over already', False)
        self.finishing = True
        return self._answer(response, 'finishing: the best values will be verified')
