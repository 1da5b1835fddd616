# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Lead the tuning run: propose values, have the robot try them, learn, and say how it goes.

The run itself is sequential code in a worker thread (`_work`); the executor thread only carries
messages. An episode that says something about the values is told to the optimiser; one that failed
for other reasons is not, and the same candidate is tried again once the graph has recovered.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
import threading

from action_msgs.msg import GoalStatus
from pacsbo_ros.action import RunEpisode
from pacsbo_ros.core import REPEAT
from pacsbo_ros.msg import (
    Candidate,
    ControllerState,
    EpisodeResult,
    GainMap,
    OptimizerState,
    Robot,
)
from pacsbo_ros.nodes import progress, terminal
from pacsbo_ros.nodes.diagnostics import ERROR, Health, OK, report_health, WARN
from pacsbo_ros.nodes.parameters import declare, StartError
from pacsbo_ros.nodes.robot_messages import description
from pacsbo_ros.nodes.spinning import (
    HEARTBEAT,
    LATCHED,
    RECORDS,
    spin,
    steady_now,
    wait_for_message,
)
from pacsbo_ros.nodes.tuning_parameters import check, make_predictor, make_problem, PARAMETERS
from pacsbo_ros.robots.contract import Description, Outcome
from pacsbo_ros.tuning.journal import Journal, JournalError, planned_budget
from pacsbo_ros.tuning.keepsakes import Keepsakes
from pacsbo_ros.tuning.report import write_report
from pacsbo_ros.tuning.run_folder import RunFolder
from pacsbo_ros.tuning.trial import START, Trial
from pacsbo_ros.tuning.tuning import Tuning
from pacsbo_ros.view.slices import Slices
from rclpy.action import ActionClient
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

QUIET = 10.0  # s between lines about one wait
RETRY = 0.2  # s between looks at a controller that is not ready
LOST = 2.0  # s without a sign that the controller works at a goal
LAST_WORDS = Duration(seconds=5)  # at most, until everybody has heard how the run ended


class Closed(Exception):
    """The node is being shut down."""


class PacsboOptimizer(Node):
    """Wire a Tuning to the controller's action, the operator's services and the views."""

    def __init__(self, **options) -> None:
        """Check everything before the first message goes out, then start the run."""
        super().__init__('pacsbo_optimizer', **options)
        p = self._p = declare(self, PARAMETERS)
        try:
            check(p)
            given = self._given_folder()
            self._robot = self._meet_robot(p.robot_timeout)
            problem = make_problem(p, self._robot)
            if p.resume:
                planned = planned_budget(given.journal) or p.iterations
                problem = replace(problem, settings=problem.settings.replace(budget=planned))
            predictor, predictor_hash, why_none = make_predictor(p, problem.settings)
            self.folder = given or RunFolder.new()
            journal = Journal(self.folder.journal, problem.identity(predictor_hash))
            self.tuning = Tuning(problem, p.iterations, journal, predictor)
        except (ValueError, JournalError, OSError) as error:
            raise StartError(error) from error
        self.get_logger().info(f'predictor {predictor.path}' if predictor else
                               f'no predictor: {why_none}')
        if journal.torn:
            self.get_logger().warning('the last line of the journal was torn; that episode will '
                                      'be repeated')
        self.folder.write_parameters({'/**/pacsbo_optimizer': {'ros__parameters': vars(p)}})
        self.exit_code = 1
        self.done = Future()
        self._keepsakes = Keepsakes(self.folder.path)
        self._outcomes = [0] * len(Outcome)
        for told in self.tuning.told:
            self._outcomes[told.measured.outcome] += 1
        self._state, self._reason = OptimizerState.STARTING, 'starting'
        self._logged = -math.inf  # when a wait was last logged
        self._started = steady_now()
        self._fresh = 0  # episodes of this process, for the time left
        self._unsafe = 0  # episodes in a row
        self._pause_reason = ''

        self._changed = threading.Condition()
        self._paused = self._approved = self._finishing = self._closing = False
        self._controller: ControllerState | None = None
        self._controller_seen = -math.inf
        self._changed_robot = ''  # how the robot differs from the one that the run began with
        self._goal = ('', 0)  # run and iteration of the newest goal
        self._goal_seen = -math.inf  # when the controller was last seen to work at it
        self._client = ActionClient(self, RunEpisode, 'run_episode')
        self.create_subscription(ControllerState, 'controller_state', self._on_controller,
                                 HEARTBEAT)
        self.create_subscription(Robot, 'robot', self._on_robot, LATCHED)
        self._candidates = self.create_publisher(Candidate, 'candidate', LATCHED)
        self._states = self.create_publisher(OptimizerState, 'optimizer_state', LATCHED)
        self._maps = self.create_publisher(GainMap, 'gain_map', LATCHED)
        self._told = self.create_publisher(EpisodeResult, 'told_result', RECORDS)
        for name, callback in (('pause', self._on_pause), ('resume', self._on_resume),
                               ('approve', self._on_approve), ('finish', self._on_finish)):
            self.create_service(Trigger, name, callback)
        report_health(self, 'tuning run', self._health)
        self._worker = threading.Thread(target=self._work, name='tuning', daemon=True)
        self._worker.start()

    def _given_folder(self) -> RunFolder | None:
        """Return the folder that the parameters name, if it can be used; None if they do not."""
        p = self._p
        if not p.resume and not p.run_dir:
            return None
        folder = RunFolder(p.resume or p.run_dir)
        if p.resume and not folder.journal.exists():
            raise ValueError(f'resume is {p.resume}, which has no {folder.journal.name}')
        if not p.resume and folder.journal.exists():
            raise ValueError(f'run folder {folder.path} already has a run; give resume:= to go on '
                             'with it, or another run_dir')
        return folder

    def _meet_robot(self, timeout: float) -> Description:
        """Wait until the robot says what it is."""
        self.get_logger().info('waiting for a robot to say what it is')
        message = wait_for_message(self, Robot, 'robot', LATCHED, timeout)
        if message is None:
            raise StartError(f'no robot said what it is on {self.resolve_topic_name("robot")} '
                             f"within {timeout:g} s; start the robot's node")
        try:
            return description(message)
        except ValueError as error:
            raise StartError(f'robot {message.name!r} is described wrongly: {error}') from error

    # The run, in the worker thread.

    def _work(self) -> None:
        """Lead the run to its end, whatever happens."""
        log = self.get_logger()
        try:
            log.info(f'run folder {self.folder.path}, {self.tuning.searched} of '
                     f'{self.tuning.budget} episodes done')
            while (trial := self._next()) is not None:
                result = self._try(trial)
                if result is None:
                    continue  # finished early: what is to be tried has changed
                self._learn(trial, result)
            self._close_run()
        except Closed:
            return
        except Exception as error:
            if not self.context.ok():
                return  # shut down under the worker's hands: what was told is in the journal
            self._say(OptimizerState.FAILED, f'{type(error).__name__}: {error}')
            log.fatal(f'the run ended: {error}')
        if self._p.stay:
            log.info('the run is over; the graph stays, Ctrl-C ends it')
        else:
            self._states.wait_for_all_acked(LAST_WORDS)  # a slow reader would miss how it ended
            self.done.set_result(None)

    def _next(self) -> Trial | None:
        self._hold_if_paused()
        if self._finishing:
            self.tuning.finish('finished by the operator')
        if self.tuning.searching:
            state = OptimizerState.ASKING if self.tuning.told else OptimizerState.STARTING
            self._say(state, 'computing the next candidate')
        return self.tuning.next()

    def _try(self, trial: Trial) -> EpisodeResult | None:
        """Have the robot try these values until there is a datum; None if the run moved on."""
        self._approved = (not self._p.require_approval or not trial.searches
                          or trial.role in (START, REPEAT))
        repeats = 0
        while not self._dropped(trial):
            self._candidates.publish(progress.candidate(
                self, self.folder.run_id, self.tuning.problem, trial, not self._approved))
            if self._paused:
                self._hold_if_paused()
            elif not self._approved:
                self.get_logger().warning(
                    f'candidate {trial.iteration} {terminal.values_text(trial.values)} waits for '
                    f'your approval: ros2 service call {self.resolve_service_name("approve")} '
                    'std_srvs/srv/Trigger')
                self._say(OptimizerState.AWAITING_APPROVAL, 'call approve to run the candidate',
                          trial)
                self._wait(lambda: self._approved or self._paused or self._dropped(trial))
            elif not self._ready():
                self._say(OptimizerState.WAITING, 'waiting for the controller: '
                          + self._controller_note(), trial)
                self._wait(lambda: False, RETRY)
            else:
                state = OptimizerState.RUNNING if trial.searches else OptimizerState.VERIFYING
                self._say(state, f'episode {trial.iteration} is on the robot', trial)
                result = self._run_episode(trial)
                if result is not None and result.is_datum:
                    return result
                why = result.reason if result else f'no result: {self._controller_note()}'
                self._say(OptimizerState.WAITING, f'episode {trial.iteration} is not a datum '
                          f'({why}); the same candidate will be tried again', trial)
                repeats += 1
                if repeats % self._p.retries == 0:
                    self._ask_person(f'episode {trial.iteration} gave no datum {repeats} times, '
                                     f'the last time because: {why}')
                self._wait(lambda: False, RETRY)
        return None

    def _dropped(self, trial: Trial) -> bool:
        """Tell whether the operator wants no more new values and this is one."""
        return self._finishing and trial.searches

    def _ready(self) -> bool:
        return (steady_now() - self._controller_seen < 0.5 and self._client.server_is_ready()
                and self._controller.state == ControllerState.READY
                and not self._changed_robot and self._monitor_listens())

    def _monitor_listens(self) -> bool:
        """Tell whether the monitor gets the candidates, to compare them with what runs."""
        listeners = self.get_subscriptions_info_by_topic(self._candidates.topic_name)
        return any(listener.node_name == 'safety_monitor' for listener in listeners)

    def _controller_note(self) -> str:
        if self._controller is None:
            return 'it has not started yet'
        if steady_now() - self._controller_seen > 0.5:
            return 'it is silent'
        if self._changed_robot:
            return self._changed_robot
        if not self._monitor_listens():
            return 'the safety monitor does not listen to candidates yet'
        return self._controller.note or 'it is busy'

    def _run_episode(self, trial: Trial) -> EpisodeResult | None:
        """Send the goal and wait for its result; None if it was refused or got lost."""
        values = self.tuning.problem.complete(trial.values)
        goal = RunEpisode.Goal(run_id=self.folder.run_id, iteration=trial.iteration,
                               names=list(values), values=list(values.values()), seed=trial.seed)
        handle = self._await(self._client.send_goal_async(goal))
        if handle is None or not handle.accepted:
            return None
        self._goal = (goal.run_id, goal.iteration)
        answer = self._await(handle.get_result_async())
        if answer is None or answer.status == GoalStatus.STATUS_UNKNOWN:
            return None
        result = answer.result.result
        wrong = progress.problem_with(result, goal, self._robot)
        if wrong:
            self.get_logger().error(f'a result {wrong} and is not used')
            return None
        self._outcomes[result.outcome] += 1
        self._keep(self._keep_trace, trial.iteration, answer.result)
        return result

    def _await(self, future):
        """Wait for a future while the controller works at our goal; None if it does not come."""
        future.add_done_callback(lambda _: self._notify())
        start = steady_now()
        while not future.done():
            # A controller that was restarted lives, but knows nothing of our goal.
            if steady_now() - max(self._goal_seen, start) > LOST:
                return None
            self._wait(future.done, timeout=0.1)
        return future.result()

    def _learn(self, trial: Trial, result: EpisodeResult) -> None:
        """Save and tell a datum, then publish and print what was learnt."""
        told = self.tuning.tell(progress.measured(result))
        self._told.publish(result)
        self._fresh += 1
        left = (self.tuning.budget - len(self.tuning.told)) * (
            steady_now() - self._started) / self._fresh
        self.get_logger().info(terminal.line(self.tuning, told, max(left, 0.0)))
        self._say(self._state, f'episode {trial.iteration} is told', trial)
        self._unsafe = 0 if told.measured.safe else self._unsafe + 1
        if self._unsafe >= self._p.unsafe_in_a_row:
            self._unsafe = 0
            self._ask_person(f'the last {self._p.unsafe_in_a_row} episodes were unsafe')
        picture = progress.gain_map(self, self.folder.run_id, self.tuning)
        if picture is not None:
            self._maps.publish(picture)
            self._keep(self._keepsakes.keep_slices, Slices.from_message(picture))
        self._keep(self._keepsakes.keep_progress, progress.known(self._published))

    def _keep(self, save: Callable[..., None], *items) -> None:
        """Keep something for the report; a run does not end because that failed."""
        try:
            save(*items)
        except Exception as error:  # pictures fail in many ways
            self.get_logger().warning(f'not kept for the report: {type(error).__name__}: {error}')

    def _keep_trace(self, iteration: int, result: RunEpisode.Result) -> None:
        self._keepsakes.keep_trace(iteration, progress.trace(result, self._robot))

    def _close_run(self) -> None:
        """Write the best values if they were verified; say how the run ended."""
        tuning = self.tuning
        best, verified = tuning.best, tuning.verified
        if best is None or verified is None:
            self._say(OptimizerState.FAILED, 'no verified safe values: '
                      + (tuning.reason or 'every verification was unsafe'))
        else:
            self.folder.write_best_gains(tuning.problem, best, verified, tuning.gain)
            self.exit_code = 0
            self._say(OptimizerState.FINISHED, tuning.reason)
        if self._p.report:
            self.get_logger().info('drawing the pictures and writing the report')
            self._keep(write_report, self.folder.path)
        self._keep(terminal.print_summary, self.folder, tuning, self._outcomes)

    # Waiting.

    def _wait(self, condition, timeout: float | None = None) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing or condition(), timeout)
        if self._closing:
            raise Closed

    def _hold_if_paused(self) -> None:
        if self._paused:
            self._say(OptimizerState.PAUSED, f'{self._pause_reason}; call resume')
            self._wait(lambda: not self._paused)

    def _ask_person(self, why: str) -> None:
        """Stop before the next episode until a person has looked and calls resume."""
        self._pause_reason, self._paused = f'{why}: look at the robot', True
        self.get_logger().error(f'{self._pause_reason}, then ros2 service call '
                                f'{self.resolve_service_name("resume")} std_srvs/srv/Trigger')

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # Messages, in the executor thread.

    def _on_controller(self, message: ControllerState) -> None:
        self._controller, self._controller_seen = message, steady_now()
        if (message.run_id, message.iteration) == self._goal:
            self._goal_seen = self._controller_seen

    def _on_robot(self, message: Robot) -> None:
        """Hold the run while the robot is not the one that it began with."""
        try:
            same = description(message) == self._robot
        except ValueError:
            same = False
        self._changed_robot = '' if same else (
            f'the robot ({message.name} on {message.plant}) is not what it was when the run '
            'began; start it as it was, or begin a new run')

    def _health(self) -> Health:
        level = (ERROR if self._state == OptimizerState.FAILED else WARN if self._state in (
            OptimizerState.WAITING, OptimizerState.PAUSED, OptimizerState.AWAITING_APPROVAL)
            else OK)
        return Health(level, self._reason)

    def _answer(self, response: Trigger.Response, words: str, ok: bool = True):
        response.success, response.message = ok, words
        self.get_logger().info(words)
        self._notify()
        return response

    def _on_pause(self, _, response):
        self._pause_reason, self._paused = 'paused by the operator', True
        return self._answer(response, 'pausing; a running episode ends first')

    def _on_resume(self, _, response):
        self._paused = False
        return self._answer(response, 'going on')

    def _on_approve(self, _, response):
        if self._state != OptimizerState.AWAITING_APPROVAL:
            return self._answer(response, 'no candidate waits for approval', False)
        self._approved = True
        return self._answer(response, 'approved')

    def _on_finish(self, _, response):
        if not self.tuning.searching:
            return self._answer(response, 'the search is over already', False)
        self._finishing = True
        return self._answer(response, 'finishing: the best values will be verified')

    def _say(self, state: int, reason: str, trial: Trial | None = None) -> None:
        """Publish the state; log a wait when it begins, then seldom."""
        # The reason of one wait may hold numbers that change all the time.
        new = self._state != OptimizerState.WAITING or steady_now() - self._logged > QUIET
        if state == OptimizerState.WAITING and reason != self._reason and new:
            self._logged = steady_now()
            if self._controller is None:
                self.get_logger().info(reason)  # the graph still comes up
            else:
                self.get_logger().warning(reason)
        self._state, self._reason = state, reason
        self._published = progress.state(self, self.folder.run_id, self.tuning, state, reason,
                                         trial, self._outcomes)
        self._states.publish(self._published)

    def destroy_node(self) -> None:
        """Stop the worker before the node goes."""
        self._closing = True
        self._notify()
        self._worker.join(timeout=5.0)
        over = self._state in (OptimizerState.FINISHED, OptimizerState.FAILED)
        if over and self._worker.is_alive():
            self.get_logger().warning('ended before the report was written; write it with ros2 '
                                      f'run pacsbo_ros report {self.folder.path}')
        elif not over:
            self.get_logger().info(f'ended after {self.tuning.searched} of {self.tuning.budget} '
                                   f'episodes; go on with resume:={self.folder.path}')
        super().destroy_node()


def main() -> int:
    """Run the optimiser."""
    return spin(PacsboOptimizer)


if __name__ == '__main__':
    raise SystemExit(main())
