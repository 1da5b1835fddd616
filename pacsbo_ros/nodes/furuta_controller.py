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
Run episodes on the pendulum: the last element before the motor, so the stop lives here.

What it shares with every robot is in episode_server.py. Its own are the drivers, joint_states,
and manual driving with the gains of its live parameters.
"""
from __future__ import annotations

import math
from types import SimpleNamespace

from pacsbo_ros.nodes.episode_server import EpisodeServer, VERDICT_TIMEOUT
from pacsbo_ros.nodes.parameters import declare, Parameter, StartError
from pacsbo_ros.nodes.plants import make_driver, TopicsDriver
from pacsbo_ros.nodes.spinning import raise_priority, spin, STATES
from pacsbo_ros.robots.contract import Description, Outcome, Refusal
from pacsbo_ros.robots.furuta.backup import Backup
from pacsbo_ros.robots.furuta.driver import DriverError
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits, Push, Start
from pacsbo_ros.robots.furuta.gains import GAIN_NAMES, Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import preset
from pacsbo_ros.robots.furuta.robot import (
    describe,
    Furuta,
    GAIN_RANGES,
    NODE,
    PLANTS,
    SIMULATED,
    unit,
)
from pacsbo_ros.robots.furuta.swing_up import SwingUp
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState

LIMITS = Limits()
SETTINGS = EpisodeSettings()
PARAMETERS = (
    Parameter('plant', 'simulated', "What is driven: a simulation by the package's equations or "
              'by MuJoCo, a robot with topics, a Qube-Servo.', choices=PLANTS),
    Parameter('preset', 'calibrated', 'Which simulated plant: ideal, calibrated, qube3, or a '
              'preset file (docs/identify.md); with plant qube, qube3 or another for '
              'Qube-Servo 2.'),
    Parameter('speed', 1.0, 'Simulated time per real time; 1 is real time, 0 as fast as '
              'possible. Hardware needs 1.', 0.0, 1000.0),
    Parameter('start', SETTINGS.start.value, 'How the pendulum gets upright.',
              choices=tuple(s.value for s in Start)),
    Parameter('self_test', True, 'Before the first episode on a real pendulum that hangs: ask the '
              'motor by a small voltage and refuse a wrong answer.'),
    Parameter('episode_duration', SETTINGS.duration, 'Length of an episode [s].', 0.1, 600.0),
    Parameter('push_speed', SETTINGS.push.alpha_dot, 'Kick given to the simulated pendulum in '
              'every episode [rad/s]; 0 means none.', -10.0, 10.0),
    Parameter('push_time', SETTINGS.push.time, 'When the kick comes [s].', 0.0, 600.0),
    Parameter('alpha_limit', LIMITS.alpha, 'Constraint on the pendulum angle [rad].',
              0.01, math.pi),
    Parameter('theta_limit', LIMITS.theta, 'Constraint on the arm angle [rad].', 0.01, 10.0),
    Parameter('speed_limit', LIMITS.speed, 'Joint speed that ends an episode [rad/s].',
              0.1, 1000.0),
    Parameter('voltage_limit', LIMITS.voltage, 'Commands are clamped to this [V].', 0.1, 60.0),
    Parameter('backup', True, 'Catch the pendulum with known-safe gains when the gains that are '
              'tried lose it.'),
    VERDICT_TIMEOUT,
    *(Parameter(name, getattr(PAPER_GAINS, name),
                f'Gain where no goal sets it, and for manual driving [{unit(name)}].',
                *GAIN_RANGES[name], live=True)
      for name in GAIN_NAMES),
    Parameter('manual', False, 'Drive with the gain parameters until set to false; refused while '
              'an episode runs.', live=True),
)


def experiment(p: SimpleNamespace) -> tuple[Gains, Limits, EpisodeSettings]:
    """Return gains, limits and episodes that the parameters describe; ValueError if none."""
    limits = Limits(alpha=p.alpha_limit, theta=p.theta_limit, speed=p.speed_limit,
                    voltage=p.voltage_limit)
    push = Push(p.push_time, p.push_speed) if p.push_speed else None
    model = preset(p.preset).parameters
    settings = EpisodeSettings(
        duration=p.episode_duration, push=push, start=Start(p.start), check_sensors=True,
        self_test=p.self_test and p.plant not in SIMULATED and p.start != Start.UPRIGHT.value,
        swing_up=SwingUp(parameters=model),
        backup=Backup(parameters=model) if p.backup else None)
    return Gains(*(getattr(p, name) for name in GAIN_NAMES)), limits, settings


def description(p: SimpleNamespace) -> Description:
    """Return the pendulum that the parameters describe."""
    return describe(*experiment(p), p.plant)


class FurutaController(EpisodeServer):
    """Serve a Furuta, and let a person drive it."""

    robot: Furuta

    def __init__(self, **options) -> None:
        """Declare everything, open the plant with zero volts, then listen."""
        super().__init__(NODE, **options)
        p = declare(self, PARAMETERS)
        if p.plant not in SIMULATED and p.speed != 1.0:
            raise StartError(f'parameter speed is {p.speed:g} but plant {p.plant} runs in real '
                             'time; set speed to 1')
        try:
            gains, limits, settings = experiment(p)
            self._driver = make_driver(self, p.plant, p.preset, settings)
        except (ValueError, DriverError) as error:
            raise StartError(error) from error
        self._joints = self.create_publisher(JointState, 'joint_states', STATES)
        self.serve(Furuta(self._driver, gains, limits, settings, p.plant, p.backup),
                   p.verdict_timeout, p.speed)
        self.add_on_set_parameters_callback(self._may_set)
        self.add_post_set_parameters_callback(self._was_set)
        self.get_logger().info(f'zero volts on the plant ({p.plant}) until the monitor consents '
                               'and a goal comes')

    def show(self, stamp) -> None:
        """Publish the joints as they were measured."""
        measurement = self.robot.measurement
        if all(map(math.isfinite, measurement)):
            message = JointState(name=['theta', 'alpha'], position=list(measurement[:2]),
                                 velocity=list(measurement[2:]))
            message.header.stamp = stamp
            self._joints.publish(message)

    def person_asked(self) -> None:
        """Let the plant's clock be learnt anew: a person vouches for it."""
        if isinstance(self._driver, TopicsDriver):
            self._driver.renew()

    # Manual driving.

    def _may_set(self, parameters) -> SetParametersResult:
        """Refuse a change that would touch a running episode."""
        for parameter in parameters:
            if self.has_goal:
                return SetParametersResult(
                    successful=False, reason='an episode runs; pause the run and wait for its end')
            if parameter.name == 'manual' and parameter.value and not self.running:
                objection = self.objection()
                if objection is not None:
                    return SetParametersResult(successful=False,
                                               reason=f'disarmed: {objection[1]}')
        return SetParametersResult(successful=True)

    def _was_set(self, parameters) -> None:
        """Act on accepted changes."""
        for parameter in parameters:
            if parameter.name in GAIN_NAMES:
                self.values = {**self.values, parameter.name: parameter.value}
                if self.running:
                    self.robot.change(self.values)
                    self.now_in_force(self.values)
            elif parameter.name == 'manual':
                if parameter.value and not self.running:
                    self._drive()
                elif not parameter.value and self.running:
                    self.stop(Outcome.CANCELLED, 'manual driving switched off')

    def _drive(self) -> None:
        try:
            self.start(self.values, lambda: self.robot.drive(self.values))
        except Refusal as error:
            self.get_logger().error(f'manual driving is not possible: {error}')
            self.manual_ended()

    def manual_ended(self) -> None:
        """Have the parameter say so: it was perhaps a stop."""
        self.set_parameters([RosParameter('manual', value=False)])


def main() -> int:
    """Run the controller."""
    raise_priority()
    return spin(FurutaController)


if __name__ == '__main__':
    raise SystemExit(main())
