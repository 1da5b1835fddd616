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

"""A stop reaches also what was asked to begin, but was not taken up yet."""
from faults.graph import wait_for
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.nodes import parameter_target
from pacsbo_ros.nodes.parameter_target import Caller
from pacsbo_ros.robots.parameters.task import Call
import pytest
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger


class Ends:
    """A runner and a slow robot: one that takes up nothing until it is spun."""

    def __init__(self, context):
        self.runner, self.robot = (rclpy.create_node(name, context=context)
                                   for name in ('runner', 'robot'))
        self._executors = [SingleThreadedExecutor(context=context) for _ in range(2)]

    def spin(self, until, what):
        for executor, node in zip(self._executors, (self.runner, self.robot), strict=True):
            executor.add_node(node)  # a caller that was made has taken it away

        def look():
            for executor in self._executors:
                executor.spin_once(timeout_sec=0.01)
            return until()
        wait_for(look, what)

    def close(self):
        for executor in self._executors:
            executor.shutdown()
        self.runner.destroy_node()
        self.robot.destroy_node()


@pytest.fixture
def ends(context):
    made = Ends(context)
    yield made
    made.close()


def test_an_action_that_is_taken_up_after_the_stop_is_cancelled(ends):
    cancelled = []

    def on_cancel(_):
        cancelled.append(True)
        return CancelResponse.ACCEPT

    async def execute(handle):
        await rclpy.task.Future()  # moves until it is cancelled
    ActionServer(ends.robot, RunEpisode, 'move', execute, cancel_callback=on_cancel)
    start = Caller(ends.runner, Call('move', 'pacsbo_ros/action/RunEpisode'), 10.0)
    ends.spin(start._client.server_is_ready, 'a server')
    start.call()
    start.cancel()
    ends.spin(lambda: cancelled, 'a cancel')


def test_a_start_that_is_answered_after_the_stop_is_stopped_once_more(ends):
    said = []

    def hear(word):
        def answer(_, response):
            said.append(word)
            return response
        return answer
    ends.robot.create_service(Trigger, 'go', hear('go'))
    start = Caller(ends.runner, Call('go', 'std_srvs/srv/Trigger'), 10.0)
    ends.spin(start._client.service_is_ready, 'a service')
    start.call()
    start.cancel(then=lambda: said.append('stop'))
    ends.spin(lambda: len(said) == 2, 'a stop')
    assert said == ['go', 'stop']
    start.call()
    answer = start._answer
    ends.spin(answer.done, 'an answer')
    start.cancel(then=lambda: said.append('stop'))
    assert said == ['go', 'stop', 'go'], 'it was answered in time: one stop is enough'


def ask_to_stop(ends, answer, said):
    ends.robot.create_service(Trigger, 'halt', answer)
    stop = Caller(ends.runner, Call('/halt', 'std_srvs/srv/Trigger'), 10.0)
    ends.spin(stop._client.service_is_ready, 'a service')
    stop.call()
    stop.insist(said.append)


@pytest.mark.parametrize(('answers', 'words'), [
    (False, '/halt says no: brake stuck'), (None, '/halt has not answered for 0.3 s')])
def test_a_stop_that_is_refused_or_not_answered_is_said(ends, answers, words, monkeypatch):
    monkeypatch.setattr(parameter_target, 'START', 0.3)
    said = []

    async def answer(_, response):
        if answers is None:
            await rclpy.task.Future()  # a node that hangs
        response.success, response.message = answers, 'brake stuck'
        return response
    ask_to_stop(ends, answer, said)
    ends.spin(lambda: said, 'a complaint')
    assert said == [words]


def test_a_stop_that_is_obeyed_is_not_complained_of(ends, monkeypatch):
    monkeypatch.setattr(parameter_target, 'START', 0.2)
    said, heard = [], []

    def answer(_, response):
        heard.append(True)
        response.success = True
        return response
    ask_to_stop(ends, answer, said)
    late = []
    ends.runner.create_timer(0.5, lambda: late.append(True))
    ends.spin(lambda: late, 'the end of the wait')
    assert heard
    assert not said
