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

"""The plants a controller can drive, by the name in its parameter `plant`."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pacsbo_ros.msg import Command
from pacsbo_ros.nodes.spinning import (
    HEARTBEAT,
    MEASURED,
    process_number,
    stamp_seconds,
    steady_now,
    synchronised_offset,
    system_stamp,
)
from pacsbo_ros.robots.furuta.driver import Driver, SimulatedDriver, STATE_TIMEOUT
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Start
from pacsbo_ros.robots.furuta.plant import Measurement, NO_STATE
from pacsbo_ros.robots.furuta.presets import preset as preset_plant
from pacsbo_ros.robots.furuta.running import check_delay
from pacsbo_ros.safety.freshness import Freshness, LATE
from rclpy.node import Node
from sensor_msgs.msg import JointState

COMMAND_PERIOD = 0.05  # s within which the next command comes; an older one is none


def make_driver(node: Node, plant: str, preset: str, settings: EpisodeSettings) -> Driver:
    """Open the plant that the parameters name."""
    if plant == 'topics':
        return TopicsDriver(node)
    if plant == 'qube':
        from pacsbo_ros.robots.furuta.qube import QubeDriver  # needs Quanser's SDK
        driver = QubeDriver(version=3 if preset == 'qube3' else 2)
        if driver.watchdog:
            node.get_logger().warning('the Qube has no hardware watchdog that can be used '
                                      f'({driver.watchdog}): a killed process leaves its voltage')
        else:
            node.get_logger().info("the Qube's own watchdog guards every voltage")
        return driver
    description = preset_plant(preset)
    check_delay(description, settings)
    hanging = settings.start is not Start.UPRIGHT
    if plant == 'mujoco':
        from pacsbo_ros.robots.furuta.mujoco_driver import MujocoDriver  # needs MuJoCo
        return MujocoDriver(description, hanging=hanging, log_length=1)
    return SimulatedDriver(description, hanging=hanging, log_length=1)


class TopicsDriver:
    """
    Drive any robot that publishes its joints and takes a voltage.

    Reads sensor_msgs/JointState from `plant/joint_states` (joints `theta` and `alpha`, positions
    and velocities) and writes a Command `voltage` to `plant/command`, every sample. Stamps within
    ten seconds of our time of day are taken for it, so that a channel that has always been slow is
    seen; any other clock is learnt.
    """

    def __init__(self, node: Node) -> None:
        """Subscribe and advertise on the controller's own node and executor."""
        self._freshness = Freshness(LATE, offset=synchronised_offset)
        self._speakers = Freshness()  # who publishes, whatever the stamps
        self._log = node.get_logger()
        self._measurement = NO_STATE
        self._source, self._sequence = process_number(), 0
        self._commands = node.create_publisher(Command, 'plant/command', HEARTBEAT)
        node.create_subscription(JointState, 'plant/joint_states', self._on_joints, MEASURED)

    def _on_joints(self, message: JointState, info: Mapping[str, Any]) -> None:
        now, who = steady_now(), info.get('publisher_gid')  # an older rclpy does not know it
        self._speakers.accept(now, now, now, int.from_bytes(who['data'], 'big') if who else 0)
        if self._speakers.rivals(now):
            self._log.error('two publishers of plant/joint_states, which cannot be told apart; '
                            'end one of them', throttle_duration_sec=5.0)
        try:
            i, j = message.name.index('theta'), message.name.index('alpha')
            measurement = Measurement(message.position[i], message.position[j],
                                      message.velocity[i], message.velocity[j])
        except (ValueError, IndexError):
            return
        stamp = stamp_seconds(message.header.stamp)
        if self._freshness.accept(now, stamp, stamp):
            self._measurement = measurement
        elif self._freshness.refused:
            self._log.warning(
                f'joint states come {1e3 * self._freshness.refused:.0f} ms late by our clock and '
                'do not count: mend the channel, or synchronise the clocks to 20 ms',
                throttle_duration_sec=5.0)

    def reset(self, rng: np.random.Generator) -> None:
        """Do nothing: the plant is where it is."""

    def read(self) -> Measurement:
        """Return the newest state unless it is too old, or somebody else publishes states."""
        if self._speakers.rivals(steady_now()) or not self.age <= STATE_TIMEOUT:
            return NO_STATE
        return self._measurement

    @property
    def age(self) -> float:
        """Return the age of the newest state [s]."""
        return self._freshness.age(steady_now())

    def write(self, volts: float) -> None:
        """Publish the voltage."""
        self._sequence += 1
        self._commands.publish(Command(
            stamp=system_stamp(), source=self._source, sequence=self._sequence,
            period=COMMAND_PERIOD, names=['voltage'], values=[float(volts)]))

    def renew(self) -> None:
        """Learn the plant's clock anew, because a person vouches for it."""
        self._freshness.renew()

    def push(self, alpha_dot: float) -> None:
        """Do nothing: a person or the simulator pushes."""

    def close(self) -> None:
        """Publish zero volts once more."""
        self.write(0.0)
