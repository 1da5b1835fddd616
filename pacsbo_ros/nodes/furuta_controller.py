# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Run episodes on the pendulum: the last element before the motor, so the stop lives here.

Zero volts unless an episode runs, and an episode runs only while the safety monitor's verdict is
fresh and good. One timer does everything at 200 Hz: read, decide, write, report.
"""
from __future__ import annotations

from array import array
import dataclasses
import math

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.task import Future
from sensor_msgs.msg import JointState

from pacsbo_ros.action import RunEpisode
from pacsbo_ros.furuta.driver import Driver, DriverError
from pacsbo_ros.furuta.episode import Episode, EpisodeSettings, Limits, Phase, Push, Start, tick
from pacsbo_ros.furuta.gains import GAIN_NAMES, PAPER_GAINS, Gains
from pacsbo_ros.furuta.outcome import Outcome
from pacsbo_ros.furuta.plant import NO_STATE, SAMPLE_PERIOD, Measurement
from pacsbo_ros.furuta.presets import preset
from pacsbo_ros.furuta.swing_up import SwingUp
from pacsbo_ros.msg import ControllerState, EpisodeResult, SafetyStatus
from pacsbo_ros.nodes.loop_timing import LoopTiming
from pacsbo_ros.nodes.parameters import Parameter, StartError, declare
from pacsbo_ros.nodes.plants import PLANTS, PRESETS, STATE_TIMEOUT, make_driver
from pacsbo_ros.nodes.spinning import (
    EVENTS,
    HEARTBEAT,
    RECORDS,
    STATES,
    process_number,
    raise_priority,
    spin,
    stamp_seconds,
    steady_now,
    steady_timer,
)
from pacsbo_ros.safety import Freshness

GAIN_RANGES = {'k_theta': (-10.0, 0.0), 'k_alpha': (0.0, 100.0),
               'k_theta_dot': (-5.0, 0.0), 'k_alpha_dot': (0.0, 10.0)}
LIMITS = Limits()
SETTINGS = EpisodeSettings()
LONGEST_TRACE = 2000  # samples of an episode that its result carries
PARAMETERS = (
    Parameter('plant', 'simulated', 'What is driven.', choices=PLANTS),
    Parameter('preset', 'calibrated', 'Which simulated plant; with plant qube, which model: '
              'qube3, or another for Qube-Servo 2.', choices=PRESETS),
    Parameter('speed', 1.0, 'Simulated time per real time; 1 is real time, 0 as fast as '
              'possible. Hardware needs 1.', 0.0, 1000.0),
    Parameter('start', SETTINGS.start.value, 'How the pendulum gets upright.',
              choices=tuple(s.value for s in Start)),
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
    Parameter('verdict_timeout', 0.07, 'Oldest verdict of the monitor that counts [s].',
              0.01, 1.0),
    *(Parameter(name, getattr(PAPER_GAINS, name),
                'Gain where no goal sets it, and for manual driving '
                f'[{"V s/rad" if "dot" in name else "V/rad"}].', *GAIN_RANGES[name], live=True)
      for name in GAIN_NAMES),
    Parameter('manual', False, 'Drive with the gain parameters until set to false; refused while '
              'an episode runs.', live=True),
)


class Refusal(Exception):
    """A goal or a wish that is not granted, and why."""


class FurutaController(Node):
    """Wire one Episode at a time between a driver and an action client."""

    def __init__(self, **options) -> None:
        """Declare everything, open the plant with zero volts, then listen."""
        super().__init__('furuta_controller', **options)
        p = self._p = declare(self, PARAMETERS)
        if p.plant != 'simulated' and p.speed != 1.0:
            raise StartError(f'parameter speed is {p.speed:g} but plant {p.plant} runs in real '
                             'time; set speed to 1')
        try:
            self._limits = Limits(alpha=p.alpha_limit, theta=p.theta_limit, speed=p.speed_limit,
                                  voltage=p.voltage_limit)
            push = Push(p.push_time, p.push_speed) if p.push_speed else None
            self._settings = EpisodeSettings(
                duration=p.episode_duration, push=push, start=Start(p.start),
                swing_up=SwingUp(parameters=preset(p.preset).parameters))
            self._gains = Gains(*(getattr(p, name) for name in GAIN_NAMES))
            self._driver: Driver = make_driver(self, p.plant, p.preset, self._settings)
        except (ValueError, DriverError) as error:
            raise StartError(error) from error

        self._verdict = Freshness()
        self._status: SafetyStatus | None = None
        self._episode: Episode | None = None
        self._goal = None  # handle of the goal that the episode belongs to; None if manual
        self._finished: Future | None = None
        self._measurement: Measurement = NO_STATE
        self._driver_note = ''
        self._refused = ''
        self._samples_due = 0.0
        self._source, self._sequence = process_number(), 0
        self._state = ControllerState.DISARMED
        self._timing = LoopTiming(SAMPLE_PERIOD)

        self._joints = self.create_publisher(JointState, 'joint_states', STATES)
        self._heartbeat = self.create_publisher(ControllerState, 'controller_state', HEARTBEAT)
        self._results = self.create_publisher(EpisodeResult, 'episode_result', RECORDS)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', EVENTS)
        self.create_subscription(SafetyStatus, 'safety_status', self._on_status, HEARTBEAT)
        self.add_on_set_parameters_callback(self._may_set)
        self.add_post_set_parameters_callback(self._was_set)
        ActionServer(self, RunEpisode, 'run_episode', execute_callback=self._execute,
                     goal_callback=self._on_goal, cancel_callback=self._on_cancel)
        steady_timer(self, SAMPLE_PERIOD, self._tick)
        steady_timer(self, 1.0, self._diagnose)
        self.punctual = p.plant != 'simulated'  # a simulated plant waits
        self.get_logger().info(f'zero volts on the plant ({p.plant}) until the monitor consents '
                               'and a goal comes')

    # Consent of the monitor.

    def _on_status(self, status: SafetyStatus) -> None:
        if self._verdict.accept(steady_now(), stamp_seconds(status.stamp), status.sequence,
                                status.source):
            self._status = status
        elif not status.ok:
            self._status = status  # a late or doubled stop is still a stop

    def _objection(self) -> tuple[Outcome, str, bool] | None:
        """Say why the motor may not move (outcome, reason, whether a limit was measured)."""
        now = steady_now()
        if self._verdict.rivals(now):
            return (Outcome.INFRASTRUCTURE, 'two safety monitors publish verdicts; end one of '
                    'them', False)
        age = self._verdict.age(now)
        if not age <= self._p.verdict_timeout:
            since = f'for {age:.3f} s' if math.isfinite(age) else 'yet'
            return Outcome.INFRASTRUCTURE, f'no verdict of the safety monitor {since}', False
        if not (self._status.ok and self._status.state == SafetyStatus.ARMED):
            return (Outcome.ABORTED_BY_MONITOR, self._status.reason, self._status.limit_exceeded)
        return None

    # Goals.

    def _on_goal(self, goal: RunEpisode.Goal) -> GoalResponse:
        try:
            self._prepare(goal)
        except (Refusal, ValueError) as error:
            self._refused = f'goal refused: {error}'
            self.get_logger().warning(self._refused)
            return GoalResponse.REJECT
        self._refused = ''
        return GoalResponse.ACCEPT

    def _prepare(self, goal: RunEpisode.Goal) -> Episode:
        """Make an episode of a goal, or raise with the reason not to."""
        if self._episode is not None:
            raise Refusal('busy with another episode' if self._goal is not None else
                          'manual driving is on; set manual of furuta_controller to false')
        objection = self._objection()
        if objection is not None:
            raise Refusal(f'disarmed: {objection[1]}')
        if len(goal.gains) == 0:
            raise Refusal('no gains given')
        names = list(goal.names) or list(GAIN_NAMES[:len(goal.gains)])
        gains = self._gains.with_tuned(goal.gains, names)
        for name, value in zip(names, goal.gains, strict=True):
            low, high = GAIN_RANGES[name]
            if not low <= value <= high:
                raise Refusal(f'{name} is {value:.4g}, outside [{low:g}, {high:g}]')
        # Only a run keeps traces; a person who sends a goal wants to read the answer.
        settings = dataclasses.replace(self._settings, trace=bool(goal.run_id))
        if goal.duration != 0.0:
            settings = dataclasses.replace(settings, duration=goal.duration)
        return Episode(gains, self._limits, settings, goal.seed)

    def _on_cancel(self, _) -> CancelResponse:
        return CancelResponse.ACCEPT

    async def _execute(self, handle) -> RunEpisode.Result:
        """Start the episode; the timer runs it and completes the future."""
        goal = handle.request
        try:
            episode = self._episode = self._prepare(goal)
        except (Refusal, ValueError) as error:  # the world changed since it was accepted
            handle.abort()
            return RunEpisode.Result(result=EpisodeResult(
                run_id=goal.run_id, iteration=goal.iteration, names=goal.names,
                gains=goal.gains, outcome=int(Outcome.INFRASTRUCTURE), reason=str(error)))
        self._goal, self._finished = handle, Future()
        self._begin(goal.seed)
        result = await self._finished
        if result.outcome == Outcome.CANCELLED and handle.is_cancel_requested:
            handle.canceled()
        elif result.is_datum:
            handle.succeed()
        else:
            handle.abort()
        return RunEpisode.Result(
            result=result, alpha_limit=self._limits.alpha, theta_limit=self._limits.theta,
            trace=_packed(episode.result().trace) if goal.run_id else [])

    def _begin(self, seed: int) -> None:
        self._samples_due = 0.0
        try:
            self._driver.reset(np.random.default_rng(seed))
        except DriverError as error:
            self._episode.abort(Outcome.INFRASTRUCTURE, str(error))

    # The loop.

    def _tick(self) -> None:
        """Do one turn of the loop."""
        now = steady_now()
        held_up = self._timing.note(now)
        episode = self._episode
        objection = self._objection()
        if episode is None:
            self._read_idle()
        else:
            if objection is not None:
                episode.abort(*objection)
            elif held_up > STATE_TIMEOUT and self._p.plant != 'simulated':
                # The plant did not wait: what it did meanwhile says nothing about the gains.
                episode.abort(Outcome.INFRASTRUCTURE,
                              f'the control loop was held up for {held_up:.3f} s')
            elif self._goal is not None and self._goal.is_cancel_requested:
                episode.abort(Outcome.CANCELLED, 'cancelled by the client')
            self._advance(episode, now)
            if episode.done:
                self._finish(episode)
        self._report(objection)

    def _advance(self, episode: Episode, now: float) -> None:
        """Run the samples that are due; a finished episode gets its zero volts here."""
        speed = self._p.speed
        self._samples_due = math.inf if speed == 0 else self._samples_due + speed
        try:
            if episode.done:
                self._driver.write(0.0)
            while not episode.done and self._samples_due >= 1:
                self._measurement = tick(self._driver, episode)
                self._samples_due -= 1
                # Leave time for the callbacks: they bring the monitor's verdict.
                if steady_now() - now > 0.8 * SAMPLE_PERIOD:
                    self._samples_due = min(self._samples_due, speed)
                    break
        except (DriverError, ValueError, OSError) as error:
            episode.abort(Outcome.INFRASTRUCTURE, f'plant driver: {error}')
            self._safe_write()

    def _safe_write(self) -> None:
        """Try to set zero volts on a driver that has just failed."""
        try:
            self._driver.write(0.0)
        except Exception as error:
            self.get_logger().fatal(f'zero volts could not be written: {error}')

    def _read_idle(self) -> None:
        try:
            self._measurement = self._driver.read()
            self._driver_note = ''
        except (DriverError, OSError) as error:
            self._measurement = NO_STATE
            self._driver_note = f'plant driver: {error}'

    def _finish(self, episode: Episode) -> None:
        """Report a finished episode and be ready for the next one."""
        self._episode = None
        result = self._message(episode)
        if self._goal is None:
            self.get_logger().info(f'manual driving ended: {result.reason}')
            self.set_parameters([RosParameter('manual', value=False)])  # it was perhaps a stop
        else:
            self._results.publish(result)
            self._finished.set_result(result)
            self._goal = self._finished = None

    def _message(self, episode: Episode) -> EpisodeResult:
        result = episode.result()
        goal = self._goal.request if self._goal is not None else RunEpisode.Goal()
        names = list(goal.names) or list(GAIN_NAMES[:len(goal.gains)])
        return EpisodeResult(
            stamp=self.get_clock().now().to_msg(), run_id=goal.run_id, iteration=goal.iteration,
            names=names, gains=goal.gains, reward=result.reward, max_alpha=result.max_abs_alpha,
            max_theta=result.max_abs_theta, scaled_reward=result.values[0],
            constraints=list(result.values[1:]), is_datum=result.is_datum,
            outcome=int(result.outcome), reason=result.reason, duration=result.duration,
            seed=goal.seed)

    # What the others see.

    def _report(self, objection) -> None:
        """Publish joint states at 200 Hz, heartbeat and feedback at 50 Hz and on a change."""
        stamp = self.get_clock().now().to_msg()
        measurement = self._measurement
        if all(map(math.isfinite, measurement)):
            message = JointState(name=['theta', 'alpha'], position=list(measurement[:2]),
                                 velocity=list(measurement[2:]))
            message.header.stamp = stamp
            self._joints.publish(message)
        episode = self._episode
        if episode is None:
            state = ControllerState.READY if objection is None else ControllerState.DISARMED
        elif episode.phase is not Phase.RUNNING:
            state = ControllerState.STARTING
        else:
            state = ControllerState.MANUAL if self._goal is None else ControllerState.RUNNING
        self._sequence += 1
        if state == self._state and self._sequence % 4:
            return
        self._state = state
        goal = self._goal.request if self._goal is not None else None
        heartbeat = ControllerState(
            stamp=stamp, source=self._source, sequence=self._sequence, state=state,
            note=self._driver_note or (objection[1] if objection else self._refused),
            gains=list((episode.gains if episode else self._gains).as_tuple()),
            run_id=goal.run_id if goal else '', iteration=goal.iteration if goal else 0,
            voltage=episode.volts if episode else 0.0,
            max_alpha=episode.max_abs_alpha if episode else 0.0,
            episode_time=episode.elapsed if episode else 0.0)
        self._heartbeat.publish(heartbeat)
        if goal is not None:
            self._goal.publish_feedback(RunEpisode.Feedback(
                time=heartbeat.episode_time, theta=measurement.theta, alpha=measurement.alpha,
                max_alpha=heartbeat.max_alpha, voltage=heartbeat.voltage))

    def _diagnose(self) -> None:
        timing = self._timing.report()
        late = timing.p99 > 1.5e3 * SAMPLE_PERIOD
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if late else DiagnosticStatus.OK,
            name=f'{self.get_fully_qualified_name()}: control loop',
            message='late' if late else 'on time', hardware_id=self._p.plant,
            values=[KeyValue(key=key, value=f'{value:.3f}') for key, value in (
                ('period p50 [ms]', timing.p50), ('period p99 [ms]', timing.p99),
                ('period max [ms]', timing.worst), ('overruns', timing.overruns))])
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    # Manual driving.

    def _may_set(self, parameters) -> SetParametersResult:
        """Refuse a change that would touch a running episode."""
        for parameter in parameters:
            if self._goal is not None:
                return SetParametersResult(
                    successful=False, reason='an episode runs; pause the run and wait for its end')
            if parameter.name == 'manual' and parameter.value and self._episode is None:
                objection = self._objection()
                if objection is not None:
                    return SetParametersResult(successful=False,
                                               reason=f'disarmed: {objection[1]}')
        return SetParametersResult(successful=True)

    def _was_set(self, parameters) -> None:
        """Act on accepted changes."""
        for parameter in parameters:
            if parameter.name in GAIN_NAMES:
                self._gains = self._gains.with_tuned([parameter.value], [parameter.name])
                if self._episode is not None:
                    self._episode.change_gains(self._gains)
            elif parameter.name == 'manual':
                if parameter.value and self._episode is None:
                    settings = dataclasses.replace(self._settings, duration=3600.0, push=None)
                    self._episode = Episode(self._gains, self._limits, settings)
                    self._begin(0)
                elif not parameter.value and self._episode is not None:
                    self._episode.abort(Outcome.CANCELLED, 'manual driving switched off')

    def destroy_node(self) -> None:
        """Leave with zero volts, and say what became of the episode."""
        self._safe_write()
        if self._episode is not None:
            self._episode.abort(Outcome.INFRASTRUCTURE, 'the controller was shut down')
            self._finish(self._episode)
        self._driver.close()
        super().destroy_node()


def _packed(trace: np.ndarray) -> array:
    """Return every n-th sample of a trace as the message wants it."""
    stride = -(-len(trace) // LONGEST_TRACE) or 1
    return array('f', trace[::stride].astype(np.float32).tobytes())


def main() -> int:
    """Run the controller."""
    raise_priority()
    return spin(FurutaController)


if __name__ == '__main__':
    raise SystemExit(main())
