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
Lead the tuning run: propose values, have the robot try them, learn, and say how it goes.

The run itself is sequential code in a worker thread (`_work`); the executor thread only carries
messages. An episode that says something about the values is told to the optimiser; one that failed
for other reasons is not, and the same candidate is tried again once the graph has recovered.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
import re
import threading

from pacsbo_ros.action import RunEpisode
from pacsbo_ros.core import REPEAT
from pacsbo_ros.msg import Candidate, EpisodeResult, GainMap, OptimizerState
from pacsbo_ros.nodes import progress, terminal
from pacsbo_ros.nodes.ctl import line, with_commands
from pacsbo_ros.nodes.diagnostics import ERROR, Health, OK, report_health, WARN
from pacsbo_ros.nodes.parameters import declare, StartError
from pacsbo_ros.nodes.robot_link import meet_robot, RobotLink
from pacsbo_ros.nodes.spinning import LATCHED, RECORDS, spin, steady_now
from pacsbo_ros.nodes.tuning_parameters import check, make_predictor, make_problem, PARAMETERS
from pacsbo_ros.nodes.waiting import Closed, Waiting
from pacsbo_ros.nodes.wishes import Wishes
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.tuning.journal import Journal, JournalError, planned_budget
from pacsbo_ros.tuning.report import write_report
from pacsbo_ros.tuning.report_files import ReportFiles
from pacsbo_ros.tuning.run_folder import RunFolder
from pacsbo_ros.tuning.trial import START, Trial
from pacsbo_ros.tuning.tuning import Tuning
from pacsbo_ros.view.slices import Slices
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.task import Future

QUIET = 10.0  # s between lines about one wait
RETRY = 0.2  # s between looks at a controller that is not ready
LAST_WORDS = Duration(seconds=5)  # at most, until everybody has heard how the run ended


class PacsboOptimizer(Node):
    """Wire a Tuning to the controller's action, the operator's services and the views."""

    def __init__(self, **options) -> None:
        """Check everything before the first message goes out, then start the run."""
        super().__init__('pacsbo_optimizer', **options)
        p = self._p = declare(self, PARAMETERS)
        try:
            check(p)
            given = self._given_folder()
            self._robot = meet_robot(self, p.robot_timeout)
            problem = make_problem(p, self._robot)
            if p.resume:
                planned = planned_budget(given.journal) or p.iterations
                problem = replace(problem, settings=problem.settings.replace(budget=planned))
            predictor, predictor_hash = make_predictor(p, problem.settings)
            self.folder = given or RunFolder.new()
            journal = Journal(self.folder.journal, problem.identity(predictor_hash))
            self.tuning = Tuning(problem, p.iterations, journal, predictor)
        except (ValueError, JournalError, OSError) as error:
            raise StartError(error) from error
        if predictor is not None:
            self.get_logger().info(f'predictor {predictor.path}')
        if journal.torn:
            self.get_logger().warning('the last line of the journal was torn; that episode will '
                                      'be repeated')
        self.folder.write_parameters({'/**/pacsbo_optimizer': {'ros__parameters': vars(p)}})
        self.exit_code = 1
        self.done: Future = Future()
        self._report_files = ReportFiles(self.folder.path)
        self._outcomes = [0] * len(Outcome)
        for told in self.tuning.told:
            self._outcomes[told.measured.outcome] += 1
        self._state, self._reason = OptimizerState.STARTING, 'starting'
        self._logged = -math.inf  # when a wait was last logged
        self._started = steady_now()
        self._fresh = 0  # episodes of this process, for the time left
        self._unsafe = 0  # episodes in a row
        self._noticed: set[str] = set()  # kinds of notices that were said already
        self._waiting = Waiting()
        self._link = RobotLink(self, self._waiting, self._robot)
        self._wishes = Wishes(self, self._waiting, lambda: self.tuning.searching)
        self._candidates = self.create_publisher(Candidate, 'candidate', LATCHED)
        self._states = self.create_publisher(OptimizerState, 'optimizer_state', LATCHED)
        self._maps = self.create_publisher(GainMap, 'gain_map', LATCHED)
        self._told = self.create_publisher(EpisodeResult, 'told_result', RECORDS)
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
        if self._wishes.finishing:
            self.tuning.finish('finished by the operator')
        if self.tuning.searching:
            state = OptimizerState.ASKING if self.tuning.told else OptimizerState.STARTING
            self._say(state, 'computing the next candidate')
        return self.tuning.next()

    def _try(self, trial: Trial) -> EpisodeResult | None:
        """Have the robot try these values until there is a datum; None if the run moved on."""
        wishes, waiting = self._wishes, self._waiting
        wishes.approved = (not self._p.require_approval or not trial.searches
                           or trial.role in (START, REPEAT))
        repeats = 0
        while not self._dropped(trial):
            self._candidates.publish(progress.candidate(
                self, self.folder.run_id, self.tuning.problem, trial, not wishes.approved))
            if wishes.paused:
                self._hold_if_paused()
            elif not wishes.approved:
                self.get_logger().warning(
                    f'candidate {trial.iteration} '
                    f'({terminal.values_text(self.tuning.problem.box, trial.values)}) waits for '
                    f'your approval: {line("approve", self.get_namespace())}')
                self._say(OptimizerState.AWAITING_APPROVAL, 'call approve to run the candidate',
                          trial)
                waiting.wait(lambda: wishes.approved or wishes.paused or self._dropped(trial))
            elif not self._link.ready():
                self._say(OptimizerState.WAITING, 'waiting for the controller: '
                          + self._link.note(), trial)
                waiting.wait(lambda: False, RETRY)
            else:
                state = OptimizerState.RUNNING if trial.searches else OptimizerState.VERIFYING
                self._say(state, f'episode {trial.iteration} is on the robot', trial)
                result = self._run_episode(trial)
                if result is not None and result.is_datum:
                    return result
                why = result.reason if result else f'no result: {self._link.note()}'
                self._say(OptimizerState.WAITING, f'episode {trial.iteration} says nothing '
                          f'about the values ({why}); it will be repeated', trial)
                repeats += 1
                if repeats % self._p.retries == 0:
                    wishes.ask_person(f'episode {trial.iteration} had to be repeated {repeats} '
                                      f'times, the last time because: {why}')
                waiting.wait(lambda: False, RETRY)
        return None

    def _dropped(self, trial: Trial) -> bool:
        """Tell whether the operator wants no more new values and this is one."""
        return self._wishes.finishing and trial.searches

    def _run_episode(self, trial: Trial) -> EpisodeResult | None:
        """Have the robot run an episode of a trial; None if that gave no result."""
        values = self.tuning.problem.complete(trial.values)
        answer = self._link.run(RunEpisode.Goal(
            run_id=self.folder.run_id, iteration=trial.iteration, names=list(values),
            values=list(values.values()), seed=trial.seed))
        if answer is None:
            return None
        self._outcomes[answer.result.outcome] += 1
        self._keep(self._keep_trace, trial.iteration, answer)
        return answer.result

    def _learn(self, trial: Trial, result: EpisodeResult) -> None:
        """Save and tell a datum, then publish and print what was learnt."""
        told = self.tuning.tell(progress.measured(result))
        self._told.publish(result)
        self._fresh += 1
        left = (self.tuning.budget - len(self.tuning.told)) * (
            steady_now() - self._started) / self._fresh
        self.get_logger().info(terminal.line(self.tuning, told, max(left, 0.0)))
        self._say(self._state, f'episode {trial.iteration} is told', trial)
        for words in self.tuning.notices:
            kind = re.sub(r'[\d.]+', '', words)  # its numbers change with every episode
            if kind not in self._noticed:
                self._noticed.add(kind)
                self.get_logger().warning(words)
        self._unsafe = 0 if told.measured.safe else self._unsafe + 1
        if self._unsafe >= self._p.unsafe_in_a_row:
            self._unsafe = 0
            self._wishes.ask_person(f'the last {self._p.unsafe_in_a_row} episodes were unsafe')
        picture = progress.gain_map(self, self.folder.run_id, self.tuning)
        if picture is not None:
            self._maps.publish(picture)
            self._keep(self._report_files.keep_slices, Slices.from_message(picture))
        self._keep(self._report_files.keep_progress, progress.known(self._published))

    def _keep(self, save: Callable[..., object], *items) -> None:
        """Keep something for the report; a run does not end because that failed."""
        try:
            save(*items)
        except Exception as error:  # pictures fail in many ways
            self.get_logger().warning(f'not kept for the report: {type(error).__name__}: {error}')

    def _keep_trace(self, iteration: int, result: RunEpisode.Result) -> None:
        if result.trace_columns:  # an episode that never began has none
            self._report_files.keep_trace(iteration, progress.trace(result, self._robot))

    def _close_run(self) -> None:
        """Write the best values if they were verified; say how the run ended."""
        tuning, self._wishes.over = self.tuning, True
        best, verified, gain = tuning.best, tuning.verified, tuning.gain
        if best is None or verified is None or gain is None:
            self._say(OptimizerState.FAILED, 'no verified safe values: '
                      + (tuning.reason or 'every verification was unsafe'))
        else:
            self.folder.write_best_gains(tuning.problem, best, verified, gain)
            self.exit_code = 0
            self._say(OptimizerState.FINISHED, tuning.reason)
        if self._p.report:
            self.get_logger().info('drawing the pictures and writing the report')
            self._keep(write_report, self.folder.path)
        self._keep(terminal.print_summary, self.folder, tuning, self._outcomes)

    def _hold_if_paused(self) -> None:
        wishes = self._wishes
        if wishes.paused:
            self._say(OptimizerState.PAUSED, f'{wishes.pause_reason}; call resume')
            self._waiting.wait(lambda: not wishes.paused)

    def _health(self) -> Health:
        level = (ERROR if self._state == OptimizerState.FAILED else WARN if self._state in (
            OptimizerState.WAITING, OptimizerState.PAUSED, OptimizerState.AWAITING_APPROVAL)
            else OK)
        return Health(level, self._reason)

    def _say(self, state: int, reason: str, trial: Trial | None = None) -> None:
        """Publish the state; log a wait when it begins, then seldom."""
        # The reason of one wait may hold numbers that change all the time.
        new = self._state != OptimizerState.WAITING or steady_now() - self._logged > QUIET
        if state == OptimizerState.WAITING and reason != self._reason and new:
            self._logged = steady_now()
            words = with_commands(reason, self.get_namespace())
            if not self._link.known:
                self.get_logger().info(words)  # the graph still comes up
            else:
                self.get_logger().warning(words)
        self._state, self._reason = state, reason
        self._wishes.asking = state == OptimizerState.AWAITING_APPROVAL
        self._published = progress.state(self, self.folder.run_id, self.tuning, state, reason,
                                         trial, self._outcomes)
        self._states.publish(self._published)

    def destroy_node(self) -> None:
        """Stop the worker before the node goes."""
        self._waiting.close()
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
