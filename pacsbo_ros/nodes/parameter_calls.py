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
Read and set the parameters of other nodes, without waiting or with.

An answer may be late or lost, so nothing is believed before it was read back: a set is done when
the values that the node then says it has are the wanted ones.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any

from pacsbo_ros.nodes.spinning import steady_now
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

ANSWER = 1.0  # s until a node that has not answered is asked what it has
OWED = 10.0  # s for which a set that was not answered may still take effect
Values = Mapping[str, Mapping[str, float]]  # node -> parameter -> value


class Exchange:
    """Ask several nodes something; be done when all have answered or the time is over."""

    def __init__(self, asked: Mapping[str, object], judge: Callable[[dict], str],
                 then: Callable[[], Exchange] | None = None, timeout: float = ANSWER,
                 silence: str = 'does not answer') -> None:
        """Judge the answers by node; without a complaint, or any answer, go on with `then`."""
        self._asked: dict[str, Any] = dict(asked)
        self._judge, self._then = judge, then
        self._silence = silence
        self._deadline = steady_now() + timeout
        self._next: Exchange | None = None
        self._failure: str | None = None

    @property
    def done(self) -> bool:
        """Tell whether all is answered, or no more answer is waited for."""
        if self._next is not None:
            return self._next.done
        if self._failure is not None:
            return True
        late = [node for node, future in self._asked.items() if not future.done()]
        if late and steady_now() < self._deadline:
            return False
        answers = {node: future.result() for node, future in self._asked.items()
                   if future.done() and future.exception() is None}
        refused = self._judge(answers)
        if self._then is not None and not refused:
            self._next = self._then()  # also where an answer is missing: it may have been lost
            return self._next.done
        self._failure = refused or (f'{late[0]} {self._silence}' if late else '')
        return True

    @property
    def failure(self) -> str:
        """Say what went wrong; empty if nothing did."""
        return self._next.failure if self._next is not None else self._failure or ''


class ParameterCalls:
    """The parameter services of some nodes."""

    def __init__(self, node: Node, targets: list[str]) -> None:
        """Make the clients, so that they have found their services when they are needed."""
        self._node = node
        self._sent: list[tuple[float, str, Any]] = []  # sets: when, to whom, the future answer
        self._set: dict[str, Any]
        self._get: dict[str, Any]
        self._describe: dict[str, Any]
        self._list: dict[str, Any]
        self._set, self._get, self._describe, self._list = (
            {t: node.create_client(kind, f'{t}/{name}') for t in targets}
            for kind, name in ((SetParametersAtomically, 'set_parameters_atomically'),
                               (GetParameters, 'get_parameters'),
                               (DescribeParameters, 'describe_parameters'),
                               (ListParameters, 'list_parameters')))

    def ready(self) -> list[str]:
        """Return the nodes whose parameter services are not there."""
        return [t for t in self._get if not (self._get[t].service_is_ready()
                                             and self._set[t].service_is_ready())]

    def describe(self, target: str, names: list[str]):
        """Ask for types and ranges; a future."""
        return self._describe[target].call_async(DescribeParameters.Request(names=names))

    def get(self, target: str, names: list[str]):
        """Ask for values; a future."""
        return self._get[target].call_async(GetParameters.Request(names=names))

    def names(self, target: str):
        """Ask for the names of all parameters; a future."""
        return self._list[target].call_async(ListParameters.Request())

    def set(self, values: Values) -> Exchange:  # noqa: A003
        """Set values, atomically node by node, and read them back."""
        asked = {}
        for target, inner in values.items():
            request = SetParametersAtomically.Request(parameters=[
                Parameter(name=name, value=ParameterValue(
                    type=ParameterType.PARAMETER_DOUBLE, double_value=float(value)))
                for name, value in inner.items()])
            asked[target] = self._set[target].call_async(request)
            self._sent.append((steady_now(), target, asked[target]))
        return Exchange(asked, _refusals, lambda: self.check(values))

    @property
    def owing(self) -> str:
        """Return a node that has not answered a set yet, which may still come; empty if none."""
        since = steady_now() - OWED
        self._sent = [s for s in self._sent if s[0] > since and not s[2].done()]
        return self._sent[0][1] if self._sent else ''

    def check(self, values: Values) -> Exchange:
        """Read values and compare them with the wanted ones."""
        asked = {target: self.get(target, list(inner)) for target, inner in values.items()}
        return Exchange(asked, lambda answers: self._differences(values, answers))

    def _differences(self, values: Values, answers: dict) -> str:
        for target, answer in answers.items():
            for place, (name, wanted) in enumerate(values[target].items()):
                has = number(answer.values[place]) if place < len(answer.values) else math.nan
                if not math.isclose(has, wanted, rel_tol=1e-9, abs_tol=1e-12):
                    return f'{name} of {target} is {has:g}, not {wanted:g}'
        return ''

    def wait(self, exchange: Exchange, patience: float = 10.0) -> str:
        """Spin until an exchange is done; return its failure. Only where nobody else spins."""
        spin_until(self._node, lambda: exchange.done, patience)
        return exchange.failure if exchange.done else 'no answer'


def spin_until(node: Node, condition: Callable[[], bool], patience: float) -> bool:
    """Spin a node that nobody else spins until a condition holds; tell whether it does."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    deadline = steady_now() + patience
    try:
        while not condition():
            if steady_now() > deadline or not node.context.ok():
                return False
            executor.spin_once(timeout_sec=0.05)
        return True
    finally:
        executor.remove_node(node)
        executor.shutdown(timeout_sec=0.0)


def number(value: ParameterValue) -> float:
    """Return a parameter as a number; NaN if it is none."""
    return value.double_value if value.type == ParameterType.PARAMETER_DOUBLE else math.nan


def _refusals(answers: dict) -> str:
    for target, answer in answers.items():
        if not answer.result.successful:
            return f'{target} refuses the values: {answer.result.reason or "no reason given"}'
    return ''
