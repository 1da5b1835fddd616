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
A pendulum in a process of its own, to be driven by a controller with `plant:=topics`.

It stands for a robot: it publishes `plant/joint_states` at 200 Hz in real time and takes
`plant/command`, of which only a fresh one counts. Whoever has no robot yet can try everything with
it; the faults campaign reads in its log which voltage the motor really got.
"""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from pacsbo_ros.msg import Command
from pacsbo_ros.nodes.parameters import declare, Parameter, StartError
from pacsbo_ros.nodes.spinning import (
    clock_offset,
    HEARTBEAT,
    raise_priority,
    spin,
    stamp_seconds,
    STATES,
    steady_now,
    steady_timer,
    system_stamp,
)
from pacsbo_ros.robots.furuta.assisted import AssistedPlant
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import preset
from pacsbo_ros.safety.freshness import Freshness
from rclpy.node import Node
from sensor_msgs.msg import JointState

PARAMETERS = (
    Parameter('preset', 'calibrated', 'Which pendulum: ideal, calibrated, qube3, or a preset '
              'file (docs/identify.md).'),
    Parameter('command_timeout', 0.05, 'The motor gets zero volts when the last command is older '
              'than this [s].', 0.01, 1.0),
    Parameter('stand_up_after', 1.0, 'After so long at zero volts the pendulum is set upright and '
              'held until the first voltage [s].', 0.05, 3600.0),
    Parameter('hanging', False, 'Start hanging at rest and set nothing upright, for a controller '
              'with start: swing_up.'),
    Parameter('seed', 0, 'Seed of the start angles.', 0, 2 ** 31 - 1),
    Parameter('log', '', 'File to which every change of the motor voltage is appended: time of '
              'the steady clock [s], volts, theta, alpha [rad]; empty for none.'),
)


class SimulatedPlant(Node):
    """Wire an AssistedPlant to ROS."""

    punctual = True

    def __init__(self, **options) -> None:
        """Declare everything, then move."""
        super().__init__('simulated_plant', **options)
        p = declare(self, PARAMETERS)
        try:
            plant = preset(p.preset)
        except ValueError as error:
            raise StartError(error) from error
        self._plant = AssistedPlant(plant, p.command_timeout, p.stand_up_after,
                                    np.random.default_rng(p.seed), hanging=p.hanging)
        self._log = Path(p.log) if p.log else None
        self._logged = math.nan
        self._freshness = Freshness(offset=clock_offset)
        try:
            self._note(steady_now(), self._plant.step(steady_now()))
        except OSError as error:
            raise StartError(f'parameter log is {p.log!r}: {error.strerror}') from error
        self._states = self.create_publisher(JointState, 'plant/joint_states', STATES)
        self.create_subscription(
            Command, 'plant/command', self._on_command, HEARTBEAT)
        steady_timer(self, SAMPLE_PERIOD, self._tick)
        self.get_logger().info(f'a simulated pendulum ({p.preset}) listens to plant/command')

    def _on_command(self, message: Command) -> None:
        """Take a command that is fresh, of one sender, and whole."""
        now = steady_now()
        volts = dict(zip(message.names, message.values, strict=False)).get('voltage', math.nan)
        if self._freshness.accept(now, stamp_seconds(message.stamp), message.sequence,
                                  message.source):
            rivals = self._freshness.rivals(now)
            age = self._freshness.age(now)
            if age <= message.period:
                self._plant.command(now - age, 0.0 if rivals else volts)

    def _tick(self) -> None:
        now = steady_now()
        state = self._plant.step(now)
        self._note(now, state)
        message = JointState(name=['theta', 'alpha'], position=list(state[:2]),
                             velocity=list(state[2:]))
        message.header.stamp = system_stamp()
        self._states.publish(message)

    def _note(self, now: float, state: Measurement) -> None:
        """Append the motor voltage to the log if it has changed."""
        applied = self._plant.applied
        if self._log is not None and applied != self._logged:
            self._logged = applied
            with self._log.open('a', encoding='utf-8') as log:
                log.write(f'{now:.6f},{applied:.4f},{state.theta:.5f},{state.alpha:.5f}\n')


def main() -> int:
    """Run the plant."""
    raise_priority()
    return spin(SimulatedPlant)


if __name__ == '__main__':
    raise SystemExit(main())
