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
Record all topics into one MCAP file, where there is no rosbag2: `record:=mcap`.

The file is what rosbag2 writes: messages as they came over the wire (CDR) beside the definitions
of their types, so that `ros2 bag play`, PlotJuggler and Foxglove can read it.
"""
from __future__ import annotations

from importlib import import_module
from pathlib import Path
import re
import time
from typing import Any

from ament_index_python.packages import get_package_share_directory
from pacsbo_ros.nodes.parameters import declare, Parameter, StartError
from pacsbo_ros.nodes.spinning import lower_priority, spin, steady_timer
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future

try:
    from mcap.writer import Writer
except ModuleNotFoundError:
    Writer = None  # type: ignore[assignment, misc]

PARAMETERS = (
    Parameter('output', '', 'File to write, which must not exist.'),
)
LOOK = 0.5  # s between two looks for new topics
DEPTH = 100  # messages of a topic that may wait for the disk
BASIC = {'bool', 'byte', 'char', 'string', 'wstring', 'float32', 'float64', *(
    f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64))}


def definition(kind: str) -> str:
    """Return the text of a message's type and, after it, of all types that it contains."""
    texts: dict[str, str] = {}

    def collect(package: str, name: str) -> None:
        if f'{package}/{name}' in texts:
            return
        text = (Path(get_package_share_directory(package)) / 'msg' / f'{name}.msg').read_text(
            encoding='utf-8')
        texts[f'{package}/{name}'] = text
        for field in re.findall(r'^\s*([A-Za-z][\w/]*)', text, re.MULTILINE):
            if field not in BASIC:
                *elsewhere, inner = field.split('/')
                collect(elsewhere[0] if elsewhere else package, inner)

    package, _, name = kind.split('/')
    collect(package, name)
    (_, first), *others = texts.items()
    return first + ''.join(f'{"=" * 80}\nMSG: {name}\n{text}' for name, text in others)


class Recorder(Node):
    """Write what everybody says."""

    def __init__(self, **options) -> None:
        """Open the file, then listen."""
        super().__init__('recorder', **options)
        p = declare(self, PARAMETERS)
        if Writer is None:
            raise StartError('recording needs the package mcap: pip install mcap')
        if not p.output:
            raise StartError('parameter output is empty; give the file to write')
        try:
            Path(p.output).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(p.output).open('xb')  # noqa: SIM115, closed with the node
        except OSError as error:
            raise StartError(f'output is {p.output}: {error.strerror}; give another file') \
                from error
        self.done: Future = Future()
        self.exit_code = 0
        self._writer = Writer(self._file)
        self._writer.start(profile='ros2', library='pacsbo_ros')
        self._channels: dict[str, int] = {}
        self._unknown: set[str] = set()
        steady_timer(self, LOOK, self._look)
        self.get_logger().info(f'recording into {p.output}')

    def _look(self) -> None:
        for topic, (kind, *_) in self.get_topic_names_and_types():
            if topic not in self._channels and topic not in self._unknown and '/_' not in topic:
                publishers = self.get_publishers_info_by_topic(topic)
                if publishers:
                    self._listen(topic, kind, [info.qos_profile for info in publishers])

    def _listen(self, topic: str, kind: str, offered: list[QoSProfile]) -> None:
        package, _, name = kind.split('/')
        try:
            schema = self._writer.register_schema(kind, 'ros2msg', definition(kind).encode())
            message = getattr(import_module(f'{package}.msg'), name)
        except (LookupError, OSError, ImportError, AttributeError) as error:
            self._unknown.add(topic)
            self.get_logger().warning(f'{topic} is not recorded: {kind}: {error}')
            return
        channel = self._channels[topic] = self._writer.register_channel(topic, 'cdr', schema)
        # Ask for no more than every publisher offers, or some would not be heard.
        qos = QoSProfile(
            depth=DEPTH,
            reliability=_least(ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT,
                               [q.reliability for q in offered]),
            durability=_least(DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE,
                              [q.durability for q in offered]))
        self.create_subscription(message, topic, lambda data: self._keep(channel, data), qos,
                                 raw=True)

    def _keep(self, channel: int, data: bytes) -> None:
        now = time.time_ns()
        try:
            self._writer.add_message(channel, now, data, now)
        except OSError as error:
            self.get_logger().error(f'recording ends: {error.strerror}')
            self.exit_code = 1
            if not self.done.done():
                self.done.set_result(None)

    def destroy_node(self) -> None:
        """Write the index, which players need to jump."""
        try:
            self._writer.finish()
            self._file.close()
        except OSError as error:
            self.get_logger().error(f'the recording has no index: {error.strerror}')
        super().destroy_node()


def _least(more: Any, less: Any, offered: list[Any]) -> Any:
    return more if all(policy == more for policy in offered) else less


def main() -> int:
    """Record."""
    lower_priority()
    return spin(Recorder)


if __name__ == '__main__':
    raise SystemExit(main())
