# Copyright the pacsbo_ros developers. Apache-2.0.
"""
A pendulum in a process of its own, to be driven by a controller with `plant:=topics`.

It stands for a robot: it publishes `plant/joint_states` at 200 Hz in real time and takes
`plant/voltage`. Whoever has no robot yet can try everything with it; the faults campaign reads in
its log which voltage the motor really got.
"""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from pacsbo_ros.furuta.assisted import AssistedPlant
from pacsbo_ros.furuta.plant import SAMPLE_PERIOD, Measurement
from pacsbo_ros.furuta.presets import preset
from pacsbo_ros.nodes.parameters import Parameter, StartError, declare
from pacsbo_ros.nodes.plants import PRESETS
from pacsbo_ros.nodes.spinning import (
    HEARTBEAT,
    STATES,
    raise_priority,
    spin,
    steady_now,
    steady_timer,
)

PARAMETERS = (
    Parameter('preset', 'calibrated', 'Which pendulum.', choices=PRESETS),
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
        self._plant = AssistedPlant(preset(p.preset), p.command_timeout, p.stand_up_after,
                                    np.random.default_rng(p.seed), hanging=p.hanging)
        self._log = Path(p.log) if p.log else None
        self._logged = math.nan
        try:
            self._note(steady_now(), self._plant.step(steady_now()))
        except OSError as error:
            raise StartError(f'parameter log is {p.log!r}: {error.strerror}') from error
        self._states = self.create_publisher(JointState, 'plant/joint_states', STATES)
        self.create_subscription(
            Float64, 'plant/voltage',
            lambda message: self._plant.command(steady_now(), message.data), HEARTBEAT)
        steady_timer(self, SAMPLE_PERIOD, self._tick)
        self.get_logger().info(f'a simulated pendulum ({p.preset}) listens to plant/voltage')

    def _tick(self) -> None:
        now = steady_now()
        state = self._plant.step(now)
        self._note(now, state)
        message = JointState(name=['theta', 'alpha'], position=list(state[:2]),
                             velocity=list(state[2:]))
        message.header.stamp = self.get_clock().now().to_msg()
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
