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
Run episodes on any nodes: set their parameters, watch their topics, put the originals back.

What an episode is, a task file says (docs/your_robot.md). Before it serves, everything that the
task names was found in the graph; before the first value is changed, the originals are on disk and
a guardian process watches over this one.
"""
from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import select

from pacsbo_ros.msg import SafetyStatus
from pacsbo_ros.nodes.episode_server import EpisodeServer, VERDICT_TIMEOUT
from pacsbo_ros.nodes.guardian import Guardian, put_back
from pacsbo_ros.nodes.live_checks import check_parameters, second_publisher, subscribe
from pacsbo_ros.nodes.parameter_calls import number, ParameterCalls, spin_until
from pacsbo_ros.nodes.parameter_target import ParameterTarget
from pacsbo_ros.nodes.parameters import declare, Parameter, StartError
from pacsbo_ros.nodes.spinning import spin, steady_now, steady_timer
from pacsbo_ros.robots.contract import EpisodeResult, Outcome, RobotError
from pacsbo_ros.robots.parameters import task as tasks
from pacsbo_ros.robots.parameters.custody import Custody, home, Locks, read_originals
from pacsbo_ros.robots.parameters.robot import ParameterRobot, Phase
from pacsbo_ros.robots.parameters.words import TaskError
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events
from rclpy.task import Future

BEAT_PERIOD = 0.2  # s, well below the guardian's patience
LAST_CARE = 3.0  # s that the originals get to come back before the guardian is left alone
REFUSALS = 3  # values refused in a row by the target, after which trying again is no use
PARAMETERS = (
    Parameter('task_file', '', 'Task file: what is tuned and what an episode is.'),
    Parameter('run_dir', '', 'Folder in which the original values are kept; empty takes one '
              "below ROS_HOME with the task's name."),
    Parameter('patience', 10.0, 'Time that nodes, topics and services of the task get to appear '
              '[s].', 0.1, 600.0),
    Parameter('predecessor', 20.0, 'Time that the guardian of an earlier run on the same nodes '
              'gets to finish [s].', 0.0, 600.0),
    Parameter('launcher', 0, 'Process whose end also ends this one, values put back; 0: none.',
              0, 2 ** 31 - 1),
    replace(VERDICT_TIMEOUT, default=0.5),  # no loop is closed here
)


class EpisodeRunner(EpisodeServer):
    """Serve a ParameterRobot."""

    def __init__(self, **options) -> None:
        """Check everything against the live graph, then offer episodes."""
        super().__init__('episode_runner', **options)
        self._guardian: Guardian | None = None  # until everything is checked
        p = declare(self, PARAMETERS)
        self.done: Future = Future()
        self._launcher = _process(p.launcher)
        try:
            task = self._task = self._load(p.task_file)
            folder = Path(p.run_dir).expanduser() if p.run_dir else home() / f'run-{task.name}'
            self._custody = Custody(folder)
            self._calls = ParameterCalls(self, list(task.nodes))
            self._locks = Locks(task.nodes, folder)
            self._put_back_what_was_left(self._locks.acquire(p.predecessor), p.patience)
            originals = check_parameters(self, task, self._calls, p.patience)
            target = ParameterTarget(self, task, self._calls, p.patience)
            self._robot = ParameterRobot(task, target, self._custody, steady_now)
            self._judges = subscribe(self, task, self._robot.hear, p.patience)
            self._tuned = {(t.node, t.parameter): t.name for t in task.tuned}
            self.create_subscription(ParameterEvent, '/parameter_events', self._on_parameters,
                                     qos_profile_parameter_events)
            target.originals = originals
            self._custody.keep(originals)
            self._locks.claim()
        except (TaskError, RobotError, OSError) as error:
            raise StartError(error) from error
        self._watch_over()
        self._refusals, self._troubled, self._stopped = 0, False, False
        self._judged: EpisodeResult | None = None
        self.exit_code = 0
        self.serve(self._robot, p.verdict_timeout)
        steady_timer(self, BEAT_PERIOD, self._beat)
        self.get_logger().info(
            f'{task.name}: ' + ', '.join(f'{t.parameter} of {t.node}' for t in task.tuned)
            + f'; originals are in {folder}')

    @staticmethod
    def _load(path: str) -> tasks.Task:
        if not path:
            raise TaskError('no task_file given; see docs/your_robot.md')
        return tasks.load(path)

    def _put_back_what_was_left(self, folders: list[Path], patience: float) -> None:
        """Restore, before anything else, what an earlier run that was killed left changed."""
        if self._custody.changed and self._custody.folder not in folders:
            folders.append(self._custody.folder)
        for folder in dict.fromkeys(folders):
            originals = read_originals(folder)
            calls = ParameterCalls(self, list(originals))
            if not spin_until(self, lambda: not calls.ready(), patience):  # noqa: B023
                raise TaskError(f'{calls.ready()[0]} is not there; values of the run in {folder} '
                                'have to be put back first')
            failure = put_back(self, calls, originals, patience)
            if failure:
                raise TaskError(f'values of the run in {folder} could not be put back: {failure}')
            Custody(folder).end()
            self.get_logger().warning(f'a run that was killed had left values changed; they are '
                                      f'as in {folder}/originals.yaml again')

    def _on_parameters(self, event: ParameterEvent) -> None:
        for parameter in (*event.new_parameters, *event.changed_parameters):
            name = self._tuned.get((event.node, parameter.name))
            if name is not None:
                self._robot.changed(name, number(parameter.value))

    def person_asked(self) -> None:
        """Let a person who armed or reset vouch for clocks that were set."""
        for judge in self._judges:
            judge.renew()

    def _on_status(self, status: SafetyStatus) -> None:
        """Hear the verdict; a stop is for the robot, too, when it comes between two episodes."""
        super()._on_status(status)
        stopped = status.state == SafetyStatus.STOPPED
        if stopped and not self._stopped:
            self._robot.halt()
        self._stopped = stopped

    # The guardian.

    def _watch_over(self) -> None:
        self._guardian = Guardian(self._custody.folder)
        self._robot.must_not = 'the guardian is not ready yet'

    def _beat(self) -> None:
        """Keep the guardian informed; without one nothing is changed."""
        if not self._guardian.alive:
            self.get_logger().error('the guardian is gone; starting another one')
            if self._robot.phase is not Phase.IDLE:
                self.stop(Outcome.INFRASTRUCTURE, 'the guardian of the original values is gone')
            self._watch_over()
        self._guardian.beat()
        rival = second_publisher(self, self._task)
        if rival and self._robot.phase is not Phase.IDLE:
            self.stop(Outcome.INFRASTRUCTURE, rival)
        if self._guardian.ready:
            self._robot.must_not = rival
        self._look_at_last()
        self._say_trouble()
        if self._launcher is not None and _ended(self._launcher):
            self.get_logger().error('the launcher has ended; putting the original values back')
            self._leave(1)

    def _say_trouble(self) -> None:
        """Say once that the originals are not back, and once that they are."""
        trouble, said = self._robot.trouble, self._troubled
        self._troubled = bool(trouble)
        if trouble and not said:
            self.get_logger().error(f'{trouble}; it is tried until they are, but if the robot '
                                    'still moves switch it off by hand')
        elif said and not trouble:
            self.get_logger().info('the original values are back')

    def _look_at_last(self) -> None:
        """Warn of a late start; end when the target refuses values again and again."""
        result = self._robot.last
        if result is None or result is self._judged:
            return
        self._judged = result
        if result.outcome is Outcome.COMPLETED and self._robot.slow:
            self.get_logger().warning(
                f'the start was answered only after {self._robot.slow:.2f} s; what moved until '
                'then is in no reward and in no margin', once=True)
        failed = result.outcome is Outcome.START_FAILED
        self._refusals = self._refusals + 1 if failed and 'refuses' in result.reason else 0
        if self._refusals >= REFUSALS:
            self.get_logger().fatal(f'{result.reason}; narrow the box in the task file')
            self._leave(1)
        elif failed and self._robot.slow:  # it would answer as late the next time
            self.get_logger().fatal(result.reason)
            self._leave(1)

    def _leave(self, code: int) -> None:
        self.exit_code = code
        if not self.done.done():
            self.done.set_result(None)

    def destroy_node(self) -> None:
        """Leave with the originals in force: put back here, or by the guardian if that fails."""
        if self._guardian is None:  # it never served; only the node itself is there
            Node.destroy_node(self)
            return
        self.stop(Outcome.INFRASTRUCTURE, f'{self.get_name()} was shut down')
        spin_until(self, lambda: self._robot.phase is Phase.IDLE, LAST_CARE)
        super().destroy_node()
        self._locks.release()
        if not self._guardian.farewell(not self._custody.changed):
            print('the guardian is still putting the original values back', flush=True)


def _process(number: int) -> int | None:
    """Return a handle of a process; None for none."""
    if not number:
        return None
    try:
        return os.pidfd_open(number)
    except OSError as error:
        raise StartError(f'launcher is {number}, which is no process') from error


def _ended(process: int) -> bool:
    return bool(select.select([process], [], [], 0.0)[0])


def main() -> int:
    """Run the episode runner."""
    return spin(EpisodeRunner)


if __name__ == '__main__':
    raise SystemExit(main())
