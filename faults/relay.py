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
Stand between two nodes and spoil what they say: joint states, verdicts, commands, heartbeats.

Passes `relay/in` on to `relay/out`. A line on the standard input names what happens from now on,
one of MODES; a line on the standard output says when the first message was treated so.
"""
from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
import math
import sys
import threading
import time
from typing import Any

from pacsbo_ros.msg import Command, Heartbeat, SafetyStatus
from pacsbo_ros.nodes.spinning import HEARTBEAT, raise_priority, spin, STATES, steady_timer
from rclpy.node import Node
from sensor_msgs.msg import JointState

DELAY = 0.3  # s
SLOW = 3.0  # s, longer than every timeout of the graph
ZEROS = 10  # commands of zero volts that are lost
ECHO = 'echo'  # the mode that repeats the last message, whether another comes or not
STEP = 3600  # s by which the sender's clock jumps


class Relay(Node):
    """Pass messages on, well or badly."""

    punctual = True

    def __init__(self) -> None:
        """Begin as an honest relay."""
        super().__init__('relay')
        kind, qos = {'joints': (JointState, STATES), 'verdict': (SafetyStatus, HEARTBEAT),
                     'command': (Command, HEARTBEAT), 'hand': (Heartbeat, HEARTBEAT)}[
            self.declare_parameter('kind', 'joints').value]
        self.mode = self.begun = 'pass'
        self.last: Any = None  # newest message that was passed on well
        self.held: Any = None  # one that waits to be overtaken
        self.odd = False
        self.lost = 0  # zeros since this mode began
        self.waiting: list[tuple[float, Any]] = []
        self.out = self.create_publisher(kind, 'relay/out', qos)
        self.create_subscription(kind, 'relay/in', self._on_message, qos)
        steady_timer(self, 0.005, self._release)
        threading.Thread(target=self._obey, daemon=True).start()

    def _obey(self) -> None:
        for line in sys.stdin:
            self.begun = ''  # answers, also where the mode is the one that it was
            self.mode = line.strip()

    def _on_message(self, message: Any) -> None:
        self.odd = not self.odd
        self._begin()
        for spoilt in MODES[self.mode](self, message):
            self.out.publish(spoilt)
        if self.mode == 'pass':
            self.last = message

    def _begin(self) -> None:
        """Say when a mode begins."""
        if self.mode != self.begun:
            self.begun, self.lost = self.mode, 0
            print(f'{time.monotonic()} {self.mode}', flush=True)

    def _release(self) -> None:
        if self.mode == ECHO:  # its sender may be dead
            self._begin()
            self.out.publish(self.last)
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            self.out.publish(self.waiting.pop(0)[1])

    def delay(self, message: Any, seconds: float = DELAY) -> list[Any]:
        """Hold a message back for a while."""
        self.waiting.append((time.monotonic() + seconds, message))
        return []

    def frozen(self, message: JointState) -> list[JointState]:
        """Repeat what was measured, with a fresh stamp."""
        return [JointState(header=message.header, name=self.last.name,
                           position=self.last.position, velocity=self.last.velocity)]

    def lose_zeros(self, message: Command) -> list[Command]:
        """Lose the first commands of zero volts."""
        if any(message.values) or self.lost >= ZEROS:
            return [message]
        self.lost += 1
        return []

    def reorder(self, message: Any) -> list[Any]:
        """Let every second message overtake the one before it."""
        if self.odd:
            self.held = message
            return []
        return [message, self.held] if self.held else [message]


def numbers(value: float) -> Callable[[Relay, JointState], list[JointState]]:
    """Replace what was measured."""
    def spoil(_: Relay, message: JointState) -> list[JointState]:
        message.position = [value, value]
        return [message]
    return spoil


def flipped(joint: int) -> Callable[[Relay, JointState], list[JointState]]:
    """Turn the sign of one joint, as a wrongly wired encoder does."""
    def spoil(_: Relay, message: JointState) -> list[JointState]:
        for numbers in (message.position, message.velocity):
            numbers[joint] = -numbers[joint]
        return [message]
    return spoil


def swapped(_: Relay, message: JointState) -> list[JointState]:
    """Take each encoder for the other one."""
    return [JointState(header=message.header, name=message.name,
                       position=message.position[::-1], velocity=message.velocity[::-1])]


def clock(step: int) -> Callable[[Relay, Any], list[Any]]:
    """Shift the stamps, as after a step of the sender's clock."""
    def spoil(_: Relay, message: Any) -> list[Any]:
        message = deepcopy(message)
        stamp = message.header.stamp if hasattr(message, 'header') else message.stamp
        stamp.sec += step
        return [message]
    return spoil


def without_alpha(_: Relay, message: JointState) -> list[JointState]:
    """Leave one joint out."""
    return [JointState(header=message.header, name=['theta'], position=message.position[:1],
                       velocity=message.velocity[:1])]


MODES: dict[str, Callable[[Relay, Any], list[Any]]] = {
    'pass': lambda relay, message: [message],
    'lose all': lambda relay, message: [],
    'lose every second': lambda relay, message: [message] if relay.odd else [],
    'delay': Relay.delay,
    'slow': lambda relay, message: relay.delay(message, SLOW),
    'frozen': Relay.frozen,
    ECHO: lambda relay, message: [],
    'lose zeros': Relay.lose_zeros,
    'swapped': swapped,
    'flipped arm': flipped(0),
    'flipped pendulum': flipped(1),
    'duplicate': lambda relay, message: [message, message],
    'reorder': Relay.reorder,
    'stale': lambda relay, message: [relay.last],
    'NaN': numbers(math.nan),
    'infinite': numbers(math.inf),
    'a joint missing': without_alpha,
    'clock steps back': clock(-STEP),
    'clock steps ahead': clock(STEP),
}


def main() -> int:
    """Run the relay."""
    raise_priority()
    return spin(Relay)


if __name__ == '__main__':
    raise SystemExit(main())
