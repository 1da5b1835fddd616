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
Watch a robot from a process of its own and withdraw consent when a limit is passed.

Its verdict goes out 50 times a second; the robot's node moves the robot only while that verdict
is fresh and good. A stop latches: a person resets it and arms the robot again. What is watched
comes from the parameters: signals with their topics, commands, ranges of values, ages.
"""
from __future__ import annotations

import math

from pacsbo_ros.msg import Candidate, ControllerState, Heartbeat, Robot, SafetyStatus
from pacsbo_ros.nodes.ctl import with_commands
from pacsbo_ros.nodes.diagnostics import ERROR, Health, OK, report_health, WARN
from pacsbo_ros.nodes.parameters import declare, Group, Parameter, StartError
from pacsbo_ros.nodes.signal_sources import SignalSource
from pacsbo_ros.nodes.spinning import (
    clock_offset,
    EVENTS,
    HEARTBEAT,
    LATCHED,
    process_number,
    raise_priority,
    spin,
    stamp_seconds,
    steady_now,
    steady_timer,
    system_stamp,
)
from pacsbo_ros.safety.limits import SafetyLimits, Watched
from pacsbo_ros.safety.watch import SafetyState, Verdict, Watch
from rclpy.node import Node
from std_srvs.srv import Trigger

PARAMETERS = (
    Parameter('auto_arm', False, 'Arm by itself once at start-up when all checks pass; for '
              'simulation only, on hardware a person calls arm.'),
    Parameter('state_timeout', 0.5, 'Oldest measurement before a stop [s].', 0.01, 60.0),
    Parameter('heartbeat_timeout', 0.5, "Oldest heartbeat of the robot's node before a stop "
              '[s].', 0.01, 60.0),
    Parameter('require_operator', False, 'Stop unless an operator publishes operator_heartbeat.'),
    Parameter('operator_timeout', 0.06, 'Oldest operator heartbeat before a stop [s].',
              0.01, 10.0),
)
UNIT = Parameter('unit', '', 'Its unit, for messages.')
SIGNALS = Group('signals', (
    Parameter('limit', math.inf, 'Largest |signal| while an episode runs.'), UNIT,
    Parameter('topic', '', 'Where it is measured.'),
    Parameter('type', '', 'Type of the topic; empty asks the graph.'),
    Parameter('field', '', 'Which number of the message, such as position[elbow].'),
    Parameter('mechanics', math.inf, 'Where the robot itself ends; the limit has to be less.'),
    Parameter('wrap', False, 'It is an angle that counts modulo a turn.'),
    Parameter('from_start', True, 'It is judged while the robot still gets to its start, too.')))
COMMANDS = Group('commands', (
    Parameter('limit', math.inf, "Largest |command| that the robot's node may report."), UNIT))
VALUES = Group('values', (
    Parameter('lower', -math.inf, 'Smallest allowed value.'),
    Parameter('upper', math.inf, 'Largest allowed value.')))
GROUPS = (SIGNALS, COMMANDS, VALUES)


class SafetyMonitor(Node):
    """Wire the Watch to ROS."""

    def __init__(self, **options) -> None:
        """Declare the limits, then listen."""
        super().__init__('safety_monitor', **options)
        p = declare(self, PARAMETERS, GROUPS)
        if not p.signals:
            raise StartError('no signals to watch; give signals.<name>.limit, topic and field '
                             'by a parameter file')
        try:
            self.watch = Watch(SafetyLimits(
                signals=tuple(Watched(name, s.limit, s.unit, s.wrap, s.from_start, s.topic,
                                      s.mechanics)
                              for name, s in p.signals.items()),
                commands=tuple(Watched(name, c.limit, c.unit) for name, c in p.commands.items()),
                values={name: (v.lower, v.upper) for name, v in p.values.items()},
                state_age=p.state_timeout, heartbeat_age=p.heartbeat_timeout,
                operator_age=p.operator_timeout if p.require_operator else None), clock_offset)
            self._signals = [SignalSource(self, topic, {
                name: s for name, s in p.signals.items() if s.topic == topic},
                self.watch.see_signals) for topic in self.watch.sources]
        except ValueError as error:
            raise StartError(error) from error
        self._auto_arm = p.auto_arm
        self._source, self._sequence = process_number(), 0
        self._said: tuple[SafetyState, str, bool] | None = None
        self._status = self.create_publisher(SafetyStatus, 'safety_status', HEARTBEAT)
        self._events = self.create_publisher(SafetyStatus, 'safety_event', EVENTS)
        self.create_subscription(ControllerState, 'controller_state', self._on_heartbeat,
                                 HEARTBEAT)
        self.create_subscription(Candidate, 'candidate', self._on_candidate, LATCHED)
        if p.require_operator:
            self.create_subscription(Heartbeat, 'operator_heartbeat', self._on_operator,
                                     HEARTBEAT)
        self.create_subscription(Robot, 'robot', self._on_robot, LATCHED)
        self.create_service(Trigger, '~/arm', self._on_arm)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_service(Trigger, '~/reset', self._on_reset)
        steady_timer(self, 0.01, self._tick)
        report_health(self, 'safety', self._health)
        self.punctual = not p.auto_arm  # a robot that a person arms does not wait

    def _on_heartbeat(self, message: ControllerState) -> None:
        judged = message.state in (ControllerState.RUNNING, ControllerState.MANUAL)
        commands, values = (_named(message.commands, message.command),
                            _named(message.names, message.values))
        if commands is None or values is None:
            return  # malformed: as good as none
        self.watch.see_heartbeat(
            steady_now(), stamp_seconds(message.stamp), message.sequence, commands, values,
            judged or message.state == ControllerState.STARTING, judged, message.run_id,
            message.iteration, message.source)

    def _on_operator(self, message: Heartbeat) -> None:
        self.watch.see_operator(steady_now(), stamp_seconds(message.stamp), message.sequence,
                                message.source)

    def _on_robot(self, message: Robot) -> None:
        """Compare the robot's own limits with ours."""
        ranges = _named(message.tunables, list(zip(message.tunable_lower, message.tunable_upper,
                                                   strict=False)))
        found = self.watch.see_robot(_named(message.signals, message.signal_limits) or {},
                                     _named(message.commands, message.command_limits) or {},
                                     ranges or {})
        if found:
            self.get_logger().error('limits contradict each other, so that nothing is armed:\n  '
                                    + '\n  '.join(found))

    def _on_candidate(self, message: Candidate) -> None:
        values = _named(message.names, message.values) or {}
        if not all(map(math.isfinite, values.values())):
            values = {}  # a malformed candidate allows nothing
        self.watch.see_candidate(steady_now(), message.run_id, message.iteration, values)

    def _tick(self) -> None:
        """Judge at 100 Hz; publish every second time, and at once when the verdict changed."""
        now = steady_now()
        if self._auto_arm and self.watch.arm(now)[0]:
            self._auto_arm = False
        verdict = self.watch.check(now)
        news = (verdict.state, verdict.cause, bool(verdict.ignored))
        changed = news != self._said
        self._sequence += 1
        if changed or self._sequence % 2 == 0:
            message = self._message(verdict, now)
            self._status.publish(message)
            if changed:
                self._said = news
                self._events.publish(message)
                log = self.get_logger()
                # One call site per severity: rclpy ties a severity to the line that logs.
                if verdict.ignored:
                    log.fatal(f'THE STOP IS NOT OBEYED: {verdict.ignored}; cut the power')
                elif verdict.state is SafetyState.STOPPED:
                    log.error(f'STOPPED: {with_commands(verdict.reason, self.get_namespace())}')
                else:
                    log.info(f'{verdict.state.name}: '
                             f'{with_commands(verdict.reason, self.get_namespace())}')

    def _health(self) -> Health:
        verdict = self.watch.check(steady_now())
        level = {SafetyState.STOPPED: ERROR, SafetyState.DISARMED: WARN}.get(verdict.state, OK)
        return Health(level, f'{verdict.state.name}: {_reason(verdict)}')

    def _message(self, verdict: Verdict, now: float) -> SafetyStatus:
        watch = self.watch
        return SafetyStatus(
            stamp=system_stamp(), source=self._source, sequence=self._sequence,
            state=int(verdict.state), ok=verdict.ok, armings=watch.armings, resets=watch.resets,
            cause=verdict.cause, reason=_reason(verdict), value=float(verdict.value),
            limit=float(verdict.limit), cause_persists=verdict.cause_persists,
            limit_exceeded=verdict.limit_exceeded, signals=list(watch.newest),
            newest=list(watch.newest.values()), state_age=watch.state_age(now),
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


def _reason(verdict: Verdict) -> str:
    return verdict.reason + (f'; the stop is not obeyed: {verdict.ignored}; cut the power'
                             if verdict.ignored else '')


def _named(names, values) -> dict | None:
    """Return values by name; None if they do not fit."""
    return (dict(zip(names, values, strict=True))
            if len(names) == len(values) == len(set(names)) else None)


def main() -> int:
    """Run the monitor."""
    raise_priority()
    return spin(SafetyMonitor)


if __name__ == '__main__':
    raise SystemExit(main())
