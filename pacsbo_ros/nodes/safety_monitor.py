# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Watch the plant from a process of its own and withdraw consent when a limit is passed.

Its verdict goes out 50 times a second; the controller moves the motor only while that verdict is
fresh and good. A stop latches: a person resets it and arms the plant again.
"""
from __future__ import annotations

import math

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from pacsbo_ros.furuta.gains import GAIN_NAMES, check_names
from pacsbo_ros.msg import Candidate, ControllerState, SafetyStatus
from pacsbo_ros.nodes.parameters import Parameter, StartError, declare
from pacsbo_ros.nodes.spinning import (
    EVENTS,
    HEARTBEAT,
    LATCHED,
    STATES,
    process_number,
    raise_priority,
    spin,
    stamp_seconds,
    steady_now,
    steady_timer,
)
from pacsbo_ros.safety import SafetyLimits, SafetyState, Verdict, Watch

LIMITS = SafetyLimits()
PARAMETERS = (
    Parameter('auto_arm', False, 'Arm by itself once at start-up when all checks pass; for '
              'simulation only, on hardware a person calls arm.'),
    Parameter('alpha_limit', LIMITS.alpha, 'Largest pendulum angle while an episode runs [rad].',
              0.01, math.pi),
    Parameter('theta_limit', LIMITS.theta, 'Largest arm angle while an episode runs [rad].',
              0.01, 10.0),
    Parameter('speed_limit', LIMITS.speed, 'Largest joint speed while an episode runs [rad/s].',
              0.1, 1000.0),
    Parameter('voltage_limit', LIMITS.voltage, 'Largest voltage that the controller may report '
              '[V].', 0.1, 60.0),
    Parameter('state_timeout', LIMITS.state_age, 'Oldest joint state before a stop [s].',
              0.01, 1.0),
    Parameter('heartbeat_timeout', LIMITS.heartbeat_age, 'Oldest controller heartbeat before a '
              'stop [s].', 0.01, 1.0),
    Parameter('require_operator', False, 'Stop unless an operator publishes operator_heartbeat.'),
    Parameter('operator_timeout', 0.06, 'Oldest operator heartbeat before a stop [s].',
              0.01, 10.0),
    Parameter('gains_lower', list(LIMITS.gains_lower), 'Smallest allowed gains: k_theta, k_alpha, '
              'k_theta_dot, k_alpha_dot [V/rad, V s/rad].'),
    Parameter('gains_upper', list(LIMITS.gains_upper), 'Largest allowed gains, same order.'),
)


class SafetyMonitor(Node):
    """Wire the Watch to ROS."""

    def __init__(self, **options) -> None:
        """Declare the limits, then listen."""
        super().__init__('safety_monitor', **options)
        p = declare(self, PARAMETERS)
        try:
            self.watch = Watch(SafetyLimits(
                alpha=p.alpha_limit, theta=p.theta_limit, speed=p.speed_limit,
                voltage=p.voltage_limit, state_age=p.state_timeout,
                heartbeat_age=p.heartbeat_timeout,
                operator_age=p.operator_timeout if p.require_operator else None,
                gains_lower=tuple(p.gains_lower), gains_upper=tuple(p.gains_upper)))
        except ValueError as error:
            raise StartError(error) from error
        self._auto_arm = p.auto_arm
        self._source, self._sequence = process_number(), 0
        self._said = None
        self._status = self.create_publisher(SafetyStatus, 'safety_status', HEARTBEAT)
        self._events = self.create_publisher(SafetyStatus, 'safety_event', EVENTS)
        self.create_subscription(JointState, 'joint_states', self._on_joints, STATES)
        self.create_subscription(ControllerState, 'controller_state', self._on_heartbeat,
                                 HEARTBEAT)
        self.create_subscription(Candidate, 'candidate', self._on_candidate, LATCHED)
        if p.require_operator:
            self.create_subscription(Empty, 'operator_heartbeat',
                                     lambda _: self.watch.see_operator(steady_now()), HEARTBEAT)
        self.create_service(Trigger, 'arm', self._on_arm)
        self.create_service(Trigger, 'stop', self._on_stop)
        self.create_service(Trigger, 'reset', self._on_reset)
        steady_timer(self, 0.01, self._tick)
        self.punctual = not p.auto_arm  # a plant that a person arms does not wait

    def _on_joints(self, message: JointState) -> None:
        try:
            i, j = message.name.index('theta'), message.name.index('alpha')
            state = (message.position[i], message.position[j],
                     message.velocity[i], message.velocity[j])
        except (ValueError, IndexError):
            return  # a state that lacks a joint is as good as none: its age goes on growing
        self.watch.see_joints(steady_now(), stamp_seconds(message.header.stamp), *state)

    def _on_heartbeat(self, message: ControllerState) -> None:
        upright = message.state in (message.RUNNING, message.MANUAL)
        self.watch.see_heartbeat(
            steady_now(), stamp_seconds(message.stamp), message.sequence, message.voltage,
            message.gains, upright or message.state == message.STARTING, upright,
            message.run_id, message.iteration, message.source)

    def _on_candidate(self, message: Candidate) -> None:
        try:
            check_names(message.names)
            gains = {GAIN_NAMES.index(name): gain
                     for name, gain in zip(message.names, message.gains, strict=True)}
        except ValueError:
            gains = {}
        if not all(map(math.isfinite, gains.values())):
            gains = {}  # a malformed candidate allows nothing
        self.watch.see_candidate(steady_now(), message.run_id, message.iteration, gains)

    def _tick(self) -> None:
        """Judge at 100 Hz; publish every second time, and at once when the verdict changed."""
        now = steady_now()
        if self._auto_arm and self.watch.arm(now)[0]:
            self._auto_arm = False
        verdict = self.watch.check(now)
        changed = (verdict.state, verdict.cause) != self._said
        self._sequence += 1
        if changed or self._sequence % 2 == 0:
            message = self._message(verdict, now)
            self._status.publish(message)
            if changed:
                self._said = (verdict.state, verdict.cause)
                self._events.publish(message)
                log = self.get_logger()
                # One call site per severity: rclpy ties a severity to the line that logs.
                if verdict.state is SafetyState.STOPPED:
                    log.error(f'STOPPED: {verdict.reason}')
                else:
                    log.info(f'{verdict.state.name}: {verdict.reason}')

    def _message(self, verdict: Verdict, now: float) -> SafetyStatus:
        watch = self.watch
        return SafetyStatus(
            stamp=self.get_clock().now().to_msg(), source=self._source,
            sequence=self._sequence, state=int(verdict.state), ok=verdict.ok,
            cause=verdict.cause, reason=verdict.reason,
            value=float(verdict.value), limit=float(verdict.limit),
            cause_persists=verdict.cause_persists, limit_exceeded=verdict.limit_exceeded,
            alpha=watch.alpha, theta=watch.theta, state_age=watch.joints.age(now),
            heartbeat_age=watch.heartbeat.age(now))

    def _on_arm(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self.watch.arm(steady_now())
        self.get_logger().info(f'arm requested: {response.message}')
        return response

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._auto_arm = False
        self.watch.stop('stopped by the operator')
        response.success, response.message = True, 'stopped; call reset, then arm, to go on'
        self._tick()
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self.watch.reset(steady_now())
        self.get_logger().info(f'reset requested: {response.message}')
        return response


def main() -> int:
    """Run the monitor."""
    raise_priority()
    return spin(SafetyMonitor)


if __name__ == '__main__':
    raise SystemExit(main())
