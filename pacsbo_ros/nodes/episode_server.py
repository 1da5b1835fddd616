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
What every robot's node shares: episodes by action, with the safety monitor's consent.

The actuators are off unless an episode runs, and an episode runs only while the monitor's verdict
is fresh and good. One timer does everything: stop, tick, report. A node makes its robot and calls
serve(); `show` is its place for what only this robot publishes.
"""
from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import math
import traceback

from pacsbo_ros.action import RunEpisode
from pacsbo_ros.msg import ControllerState, EpisodeResult, SafetyStatus
from pacsbo_ros.msg import Robot as RobotMessage
from pacsbo_ros.nodes.diagnostics import Health, OK, report_health, WARN
from pacsbo_ros.nodes.loop_timing import LoopTiming
from pacsbo_ros.nodes.parameters import Parameter
from pacsbo_ros.nodes.robot_messages import answer, goal_values, result_message, robot_message
from pacsbo_ros.nodes.spinning import (
    clock_offset,
    HEARTBEAT,
    LATCHED,
    process_number,
    RECORDS,
    stamp_seconds,
    steady_now,
    steady_timer,
    system_stamp,
)
from pacsbo_ros.robots.contract import Outcome, Refusal, Robot, RobotError, Sample
from pacsbo_ros.safety.freshness import Freshness, LATE
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

HELD_UP = 0.06  # s after which a robot that does not wait has had no loop
BLAME = 0.5  # s for which a fall may be the fault of a late turn or a late state
REPORT_PERIOD = 0.02  # s between heartbeats
FAILURES = (RobotError, ValueError, OSError)  # of a robot or of what drives it
VERDICT_TIMEOUT = Parameter('verdict_timeout', 0.07, 'Oldest verdict of the monitor that counts '
                            '[s].', 0.01, 1.0)


class EpisodeServer(Node):
    """Run one episode at a time on a robot."""

    def serve(self, robot: Robot, verdict_timeout: float, speed: float = 1.0) -> None:
        """Offer the robot to the graph; speed 0 ticks as often as there is time."""
        self.robot, self.description = robot, robot.description
        self.values = self.description.complete({})  # in force where no goal sets them
        self._verdict_timeout, self._speed = verdict_timeout, speed
        self._verdict = Freshness(offset=clock_offset)
        self._status: SafetyStatus | None = None
        self._latch: tuple[tuple[int, int], str] | None = None  # arming that is used up, and why
        self._asked: tuple[int, int, int] | None = None  # how often a person asked the monitor
        self._turn = self._late = -math.inf  # when this turn began, and the last late one
        self._goal = None  # handle of the goal that the episode belongs to; None if manual
        self._in_force: Mapping[str, float] | None = None  # values of what runs; None: nothing
        self._finished: Future | None = None
        self._sample = Sample(0.0, (math.nan,) * len(self.description.signals),
                              (0.0,) * len(self.description.commands))
        self._peaks = [0.0] * len(self.description.signals)
        self._note = self._refused = ''
        self._due = 0.0  # ticks
        self._stopping = False  # what runs was stopped, and is not over yet
        self._source, self._sequence = process_number(), 0
        self._state = ControllerState.DISARMED
        self._every = max(1, round(REPORT_PERIOD / robot.period))
        self._timing = LoopTiming(robot.period)
        self._names = {'names': list(self.values),
                       'commands': [c.name for c in self.description.commands],
                       'signals': [s.name for s in self.description.signals]}

        self._heartbeat = self.create_publisher(ControllerState, 'controller_state', HEARTBEAT)
        self._results = self.create_publisher(EpisodeResult, 'episode_result', RECORDS)
        self._described = self.create_publisher(RobotMessage, 'robot', LATCHED)
        self._described.publish(robot_message(self.description))
        self.create_subscription(SafetyStatus, 'safety_status', self._on_status, HEARTBEAT)
        ActionServer(self, RunEpisode, 'run_episode', execute_callback=self._execute,
                     goal_callback=self._on_goal,
                     cancel_callback=lambda _: CancelResponse.ACCEPT)
        steady_timer(self, robot.period, self._tick)
        report_health(self, 'control loop', self._health)
        self.punctual = not robot.waits
        if hasattr(robot, 'consent'):
            robot.consent = self._consent

    # Consent of the monitor.

    def _on_status(self, status: SafetyStatus) -> None:
        if self._verdict.accept(steady_now(), stamp_seconds(status.stamp), status.sequence,
                                status.source):
            self._status = status
            asked = (status.source, status.armings, status.resets)
            if self._asked not in (None, asked):
                self.person_asked()
            self._asked = asked
        elif not status.ok:
            self._status = status  # a late or doubled stop is still a stop
        if status.state == SafetyStatus.STOPPED:
            self._want_person(status.reason)

    def _want_person(self, why: str) -> None:
        """Latch: whatever the monitor says, nothing moves until a person arms once more."""
        if self._latch is None and self._status is not None:
            self._latch = (self._status.source, self._status.armings), why

    def person_asked(self) -> None:
        """Hear that a person has armed or reset; nothing to do where no clock is learnt."""

    def objection(self) -> tuple[Outcome, str, bool] | None:
        """Say why nothing may move (outcome, reason, whether a limit was measured)."""
        now = steady_now()
        if self._verdict.rivals(now):
            return (Outcome.INFRASTRUCTURE, 'two safety monitors publish verdicts; end one of '
                    'them', False)
        age = self._verdict.age(now)
        if not age <= self._verdict_timeout:
            since = f'for {age:.3f} s' if math.isfinite(age) else 'yet'
            return Outcome.INFRASTRUCTURE, f'no verdict of the safety monitor {since}', False
        if not (self._status.ok and self._status.state == SafetyStatus.ARMED):
            return (Outcome.ABORTED_BY_MONITOR, self._status.reason, self._status.limit_exceeded)
        if self._latch is not None:
            arming, why = self._latch
            if arming == (self._status.source, self._status.armings):
                return (Outcome.INFRASTRUCTURE, f'stopped before ({why}); a person has to '
                        'call arm again', False)
            self._latch = None
        return None

    def _consent(self) -> tuple[Outcome, str, bool] | None:
        """Judge once more when the robot has been read: that may have taken its time."""
        held_up = steady_now() - self._turn
        if held_up > HELD_UP and not self.robot.waits:
            return Outcome.INFRASTRUCTURE, f'the robot was read for {held_up:.3f} s', False
        return self.objection()

    # Goals.

    @property
    def running(self) -> bool:
        """Tell whether an episode, or manual driving, is on the robot."""
        return self._in_force is not None

    @property
    def has_goal(self) -> bool:
        """Tell whether what runs belongs to a goal."""
        return self._goal is not None

    def _on_goal(self, goal: RunEpisode.Goal) -> GoalResponse:
        try:
            self._check(goal)
        except Refusal as error:
            self._refused = f'goal refused: {error}'
            self.get_logger().warning(self._refused)
            return GoalResponse.REJECT
        self._refused = ''
        return GoalResponse.ACCEPT

    def _check(self, goal: RunEpisode.Goal) -> dict[str, float]:
        """Return all values of a goal's episode; Refusal with the reason not to begin it."""
        if self.running:
            raise Refusal('busy with another episode' if self.has_goal else
                          f'manual driving is on; set manual of {self.get_name()} to false')
        objection = self.objection()
        if objection is not None:
            raise Refusal(f'disarmed: {objection[1]}')
        if self._note:
            raise Refusal(self._note)
        given = goal_values(self.description, goal)
        self.description.complete(given)
        return self.description.complete({**self.values, **given})

    async def _execute(self, handle) -> RunEpisode.Result:
        """Start the episode; the timer runs it and completes the future."""
        goal = handle.request
        try:
            values = self._check(goal)
            self._goal, self._finished = handle, Future()
            self.start(values, lambda: self.robot.begin(values, goal.seed, goal.duration))
        except Refusal as error:  # the world changed since it was accepted
            self._goal = None
            handle.abort()
            return RunEpisode.Result(result=EpisodeResult(
                run_id=goal.run_id, iteration=goal.iteration, names=goal.names,
                values=goal.values, outcome=int(Outcome.INFRASTRUCTURE), reason=str(error)))
        result, trace = await self._finished  # type: ignore[misc]
        if result.outcome == Outcome.CANCELLED and handle.is_cancel_requested:
            handle.canceled()
        elif result.is_datum:
            handle.succeed()
        else:
            handle.abort()
        # Only a run keeps traces; a person who sends a goal wants to read the answer.
        return answer(self.description, result, trace if goal.run_id else None)

    def start(self, values: Mapping[str, float], begin) -> None:
        """Have the robot begin something with these values."""
        try:
            begin()
        except FAILURES as error:
            self._quietly_stop(Outcome.INFRASTRUCTURE, str(error))
            raise Refusal(error) from error
        self._in_force = values
        self._due = 0.0
        self._peaks = [0.0] * len(self._peaks)

    def now_in_force(self, values: Mapping[str, float]) -> None:
        """Hear that what runs goes on with other values."""
        self._in_force = values

    # The loop.

    def _tick(self) -> None:
        """Do one turn of the loop."""
        now = steady_now()
        held_up = self._timing.note(now)
        self._turn = now
        if held_up > LATE:
            self._late = now
        objection = self.objection()
        if not self.running:
            self._idle()
        elif self._stopping:
            self._advance(now)
        elif objection is not None:
            if not self.robot.waits:
                self._want_person(objection[1])
            self.stop(*objection)
        elif held_up > HELD_UP and not self.robot.waits:
            # The robot did not wait: what it did meanwhile says nothing about the values.
            self.stop(Outcome.INFRASTRUCTURE, f'the loop was held up for {held_up:.3f} s')
        elif self._goal is not None and self._goal.is_cancel_requested:
            self.stop(Outcome.CANCELLED, 'cancelled by the client')
        else:
            self._advance(now)
        self._report(objection)

    def _advance(self, now: float) -> None:
        """Do the ticks that are due."""
        self._due = math.inf if self._speed == 0 else self._due + self._speed
        try:
            while self._due >= 1:
                sample = self._sample = self.robot.tick()
                self._due -= 1
                if sample.age > LATE:
                    self._late = now
                if not (sample.starting or self._stopping):
                    self._peaks = [max(peak, abs(value)) for peak, value in
                                   zip(self._peaks, sample.signals, strict=True)]
                if sample.over:
                    return self._finish()
                # Leave time for the callbacks: they bring the monitor's verdict.
                if steady_now() - now > 0.8 * self.robot.period:
                    self._due = min(self._due, self._speed)
                    break
        except Exception as error:  # a bug, too: the node must live to switch off and to say so
            self._quietly_stop(Outcome.INFRASTRUCTURE, self._failure(error))
            self._finish()

    def _idle(self) -> None:
        try:
            self._sample, self._note = self.robot.idle(), ''
        except Exception as error:
            self._sample = Sample(0.0, (math.nan,) * len(self.description.signals),
                                  (0.0,) * len(self.description.commands))
            self._note = self._failure(error)

    def _failure(self, error: Exception) -> str:
        """Say how the robot failed; one that nobody foresaw is logged with its place, once."""
        if isinstance(error, FAILURES):
            return f'{self.description.name}: {error}'
        self.get_logger().fatal(''.join(traceback.format_exception(error)), once=True)
        return f'{self.description.name}: {type(error).__name__}: {error}'

    def stop(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        """Switch the actuators off and end what runs, which may take the robot some ticks."""
        self._quietly_stop(outcome, reason, limit_violated)
        if self.running:
            self._stopping = True
            self._advance(steady_now())

    def _quietly_stop(self, *why) -> None:
        try:
            self.robot.stop(*why)
        except Exception as error:  # whatever it is, the node must go on to say so
            self.get_logger().fatal(f'the actuators could not be switched off: {error}')

    def _finish(self) -> None:
        """Report a finished episode and be ready for the next one."""
        outcome = self.robot.result()
        if (outcome.is_datum and outcome.outcome is Outcome.TRIPPED and not self.robot.waits
                and steady_now() - self._late < BLAME):
            outcome = dataclasses.replace(
                outcome, is_datum=False, outcome=Outcome.INFRASTRUCTURE,
                reason=f'the loop or a state was late shortly before: {outcome.reason}')
        if outcome.wants_person and not self.robot.waits:
            self._want_person(outcome.reason)
        values, goal = self._in_force, self._goal
        self._in_force = self._goal = None
        self._stopping = False
        self._sample = Sample(0.0, self._sample.signals,
                              (0.0,) * len(self.description.commands))
        if goal is None:
            self.get_logger().info(f'manual driving ended: {outcome.reason}')
            return self.manual_ended()
        result = result_message(self.description, goal.request, values, outcome)
        result.stamp = system_stamp()
        self._results.publish(result)
        self._finished.set_result((result, outcome.trace))

    def manual_ended(self) -> None:
        """Hear that manual driving is over; nothing to do where there is none."""

    # What the others see.

    def show(self, stamp) -> None:
        """Publish, every tick, what only this robot has."""

    def _report(self, objection) -> None:
        """Publish heartbeat and feedback at 50 Hz and on a change."""
        stamp = system_stamp()
        self.show(stamp)
        sample, goal = self._sample, self._goal
        if not self.running:
            able = objection is None and not self._note
            state = ControllerState.READY if able else ControllerState.DISARMED
        elif sample.ended and objection is not None:
            state = ControllerState.DISARMED  # a stop that came is obeyed
        elif sample.starting:
            state = ControllerState.STARTING
        else:
            state = ControllerState.MANUAL if goal is None else ControllerState.RUNNING
        self._sequence += 1
        if state == self._state and self._sequence % self._every:
            return
        self._state = state
        request = goal.request if goal else RunEpisode.Goal()
        values = self._in_force if self._in_force is not None else self.values
        peaks = self._peaks if self.running else [0.0] * len(self._peaks)
        self._heartbeat.publish(ControllerState(
            stamp=stamp, source=self._source, sequence=self._sequence, state=state,
            note=self._note or (objection[1] if objection else self._refused),
            run_id=request.run_id, iteration=request.iteration, values=list(values.values()),
            command=list(sample.commands), peaks=peaks, episode_time=sample.time, **self._names))
        if goal is not None:
            goal.publish_feedback(RunEpisode.Feedback(
                time=sample.time, signals=list(sample.signals), peaks=peaks,
                command=list(sample.commands)))

    def _health(self) -> Health:
        timing = self._timing.report()
        late = timing.p99 > 1.5e3 * self.robot.period
        return Health(WARN if late else OK, 'late' if late else 'on time', {
            key: f'{value:.3f}' for key, value in (
                ('period p50 [ms]', timing.p50), ('period p99 [ms]', timing.p99),
                ('period max [ms]', timing.worst), ('overruns', timing.overruns))},
            self.description.plant)

    def destroy_node(self) -> None:
        """Leave with the actuators off, and say what became of the episode."""
        self.stop(Outcome.INFRASTRUCTURE, f'{self.get_name()} was shut down')
        if self.running:
            self._finish()
        self.robot.close()
        super().destroy_node()
