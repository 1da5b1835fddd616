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
Break what tunes another node's parameters, and read from that node what it is left with.

The target is the node of examples/joint_pid in a process of its own; the operator of this file
also plays the safety monitor, so that every fault can be injected at a chosen moment.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
from dataclasses import dataclass
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import time
from typing import Any

from faults.graph import changed_environment, Client, Process, wait_for
from faults.rows import Row
from pacsbo_ros.msg import ControllerState, SafetyStatus
from pacsbo_ros.nodes.spinning import HEARTBEAT, process_number
from pacsbo_ros.robots.contract import Outcome
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
import yaml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / 'examples' / 'joint_pid'
ORIGINALS = (3.0, 0.3)
CANDIDATE = (4.0, 0.5)  # safe
WILD = (20.0, 0.1)  # passes its limits
TOPICS = ('controller_state', 'episode_result')
SHARE = 2 / 3  # of the repeats: every injection takes seconds
OUTSIDE = 'before the episode begins'  # a limit is passed, says the runner
RESTORED = 15.0  # s that the originals get to come back


class Bench:
    """A target, a runner, and an operator who plays the monitor."""

    make = Process  # how its nodes are started

    def __init__(self, folder: Path, **changes: Any) -> None:
        """Start nothing yet; the task is the example's, shorter and with these changes."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.run = folder, folder / 'run'
        os.environ['ROS_HOME'] = str(folder / 'home')
        data = yaml.safe_load((EXAMPLE / 'task.yaml').read_text())
        inner = data['/**']['ros__parameters']
        del inner['processes']
        inner['episode']['duration'] = 2.0
        for signal_ in inner['signals'].values():
            signal_['timeout'] = 1.0  # a busy machine holds the target up
        inner.update(changes)
        self.task = folder / 'task.yaml'
        self.task.write_text(yaml.safe_dump(data, sort_keys=False))
        self.client = Client('', TOPICS)
        node = self.client.node
        self._verdicts = node.create_publisher(SafetyStatus, 'safety_status', HEARTBEAT)
        self._get = node.create_client(GetParameters, '/joint_pid/get_parameters')
        self._source, self._sequence, self.consents = process_number(), 0, True
        node.create_timer(0.02, self._consent)
        self.processes: dict[str, Process] = {}

    def _consent(self) -> None:
        self._sequence += 1
        if self.consents:
            self._verdicts.publish(SafetyStatus(
                stamp=self.client.node.get_clock().now().to_msg(), source=self._source,
                sequence=self._sequence, state=SafetyStatus.ARMED, ok=True))

    def stop_once(self) -> None:
        """Say once that the monitor has stopped; what it says next is another arming."""
        self._sequence += 1
        self._verdicts.publish(SafetyStatus(
            stamp=self.client.node.get_clock().now().to_msg(), source=self._source, armings=1,
            sequence=self._sequence, state=SafetyStatus.STOPPED, reason='stopped'))

    def start_target(self, **environment: str) -> Process:
        """Start the node whose parameters are tuned."""
        with changed_environment(**environment):
            return self._start('joint_pid', {}, [sys.executable, str(EXAMPLE / 'joint_pid.py')])

    def start_runner(self, **parameters: Any) -> Process:
        """Start the runner."""
        return self._start('episode_runner', {
            'task_file': str(self.task), 'run_dir': str(self.run), 'verdict_timeout': 0.4,
            'patience': 20.0, **parameters})

    def _start(self, name: str, parameters: dict[str, Any],
               program: Sequence[str] = (), node: bool = True) -> Process:
        self.processes[name] = self.make(name, self.folder, '', parameters, program=program,
                                         node=node)
        return self.processes[name]

    def ready(self) -> None:
        """Wait until the runner takes goals and its guardian watches."""
        began = time.monotonic()

        def fresh() -> bool:
            message, times = self.client.last('controller_state'), self.client.times
            return (message is not None and times['controller_state'][-1] > began
                    and message.state == ControllerState.READY)
        try:
            wait_for(fresh, 'a ready runner', 60.0)
        except AssertionError as error:
            said = self.processes['episode_runner'].output[-400:]
            raise AssertionError(f'{error}: {self.client.last("controller_state")} {said}') \
                from error

    def read(self) -> tuple[float, ...] | None:
        """Return p and d as the target says; None if it does not answer."""
        future = self._get.call_async(GetParameters.Request(names=['p', 'd']))
        deadline = time.monotonic() + 2.0
        while not future.done() and time.monotonic() < deadline:
            time.sleep(0.002)
        if not future.done():
            self._get.remove_pending_request(future)
            return None
        return tuple(parameter_value_to_python(v) for v in future.result().values)

    def begin(self, values: tuple[float, float] = CANDIDATE) -> Any:
        """Send a goal; return its handle once the target has the values."""
        def in_force() -> Any:
            over, deadline = len(self.results()), time.monotonic() + 10.0
            handle = self.client.send(run_id='bench', iteration=1, names=['p', 'd'],
                                      values=list(values))
            answer = handle.get_result_async() if handle.accepted else None
            while (answer is not None and not answer.done() and len(self.results()) == over
                   and time.monotonic() < deadline):
                if self.read() == values:
                    return handle
            if answer is not None and answer.done() and OUTSIDE in (
                    answer.result().result.result.reason):
                self.processes['joint_pid'].end()  # what a stop let go is brought back by hand
                self.start_target()
            return time.sleep(0.1)  # refused, or over before it began: a busy machine may do that
        try:
            return wait_for(in_force, 'the candidate in force', 60.0)
        except AssertionError as error:
            last, state = [r.reason for r in self.results()[-3:]], self.client.last(
                'controller_state')
            said = self.processes['episode_runner'].output[-400:]
            raise AssertionError(f'{error}: {last}, target {self.read()}, state {state.state} '
                                 f'{state.note!r}, {said}') from error

    def datum(self, values: tuple[float, float] = CANDIDATE, tries: int = 5) -> Any:
        """Return a result that says something about the values; a busy machine needs tries."""
        for _ in range(tries):
            result = self.client.result(self.begin(values))
            if result.is_datum:
                return result
        raise AssertionError(f'no datum in {tries} episodes: {result.reason}')

    def restored(self, wanted: tuple[float, ...] = ORIGINALS) -> float:
        """Wait until the target has its originals; return how long it took."""
        began = time.monotonic()
        wait_for(lambda: self.read() == wanted, f'originals (target has {self.read()})', RESTORED)
        return time.monotonic() - began

    def kill_guardian(self) -> None:
        """Kill the runner's guardian."""
        parent = f'PPid:\t{self.processes["episode_runner"].popen.pid}\n'
        for process in Path('/proc').glob('[0-9]*'):
            with contextlib.suppress(OSError):
                if (parent in (process / 'status').read_text()
                        and b'nodes.guardian' in (process / 'cmdline').read_bytes()):
                    os.kill(int(process.name), signal.SIGKILL)
                    return
        raise AssertionError('no guardian found')

    def results(self) -> list[Any]:
        """Return all results so far."""
        return self.client.messages['episode_result']

    def revive(self) -> None:
        """Start again what has ended."""
        for name, start in (('joint_pid', self.start_target), ('episode_runner',
                                                               self.start_runner)):
            if name not in self.processes or not self.processes[name].alive:
                start()
        self.ready()

    def close(self) -> None:
        """End everything."""
        for name in ('episode_runner', 'joint_pid'):
            if name in self.processes:
                self.processes[name].end()
        self.client.close()


@dataclass(frozen=True)
class Break:
    """One way to break an episode; `inject` returns once the target may be looked at."""

    name: str
    inject: Callable[[Bench, Any], None]
    values: tuple[float, float] = CANDIDATE
    datum: bool = False  # a result of it may be told


def _signal(name: str, number: int) -> Callable[[Bench, Any], None]:
    def inject(bench: Bench, _: Any) -> None:
        bench.processes[name].signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            bench.processes[name].wait(30.0)
    return inject


def _freeze(name: str, seconds: float) -> Callable[[Bench, Any], None]:
    def inject(bench: Bench, _: Any) -> None:
        bench.processes[name].signal(signal.SIGSTOP)
        time.sleep(seconds)
        if name == 'episode_runner':
            bench.restored()  # by the guardian, while the runner still stands
        bench.processes[name].signal(signal.SIGCONT)
    return inject


def _cancel(bench: Bench, handle: Any) -> None:
    handle.cancel_goal_async()


def _silent_monitor(bench: Bench, _: Any) -> None:
    bench.consents = False
    wait_for(lambda: 'verdict' in bench.client.last('controller_state').note, 'a note')
    bench.consents = True


def _kill_guardian(bench: Bench, _: Any) -> None:
    bench.kill_guardian()


def _kill_both(bench: Bench, _: Any) -> None:
    bench.kill_guardian()
    _signal('episode_runner', signal.SIGKILL)(bench, None)
    bench.start_runner()


def _kill_both_and_restore(bench: Bench, _: Any) -> None:
    bench.kill_guardian()
    _signal('episode_runner', signal.SIGKILL)(bench, None)
    answer = subprocess.run([sys.executable, '-m', 'pacsbo_ros.nodes.restore', str(bench.run)],
                            capture_output=True, text=True, timeout=60)
    if answer.returncode:
        raise AssertionError(f'restore said {answer.stderr}')


def _kill_runner_of_frozen_target(bench: Bench, _: Any) -> None:
    bench.processes['joint_pid'].signal(signal.SIGSTOP)
    _signal('episode_runner', signal.SIGKILL)(bench, None)
    time.sleep(1.0)
    bench.processes['joint_pid'].signal(signal.SIGCONT)


def _restart_target(bench: Bench, _: Any) -> None:
    _signal('joint_pid', signal.SIGKILL)(bench, None)
    bench.start_target()


def _meddle(bench: Bench, _: Any) -> None:
    bench.client.set_parameter('/joint_pid', 'p', 5.0)


def _nothing(bench: Bench, _: Any) -> None:
    pass


BREAKS = (
    Break('parameters: runner killed', _signal('episode_runner', signal.SIGKILL)),
    Break('parameters: runner terminated', _signal('episode_runner', signal.SIGTERM)),
    Break('parameters: runner interrupted', _signal('episode_runner', signal.SIGINT)),
    Break('parameters: runner frozen', _freeze('episode_runner', 2.2)),
    Break('parameters: runner and guardian killed, runner again', _kill_both),
    Break('parameters: runner and guardian killed, restore', _kill_both_and_restore),
    Break('parameters: guardian killed', _kill_guardian),
    Break('parameters: target frozen', _freeze('joint_pid', 1.5)),
    Break('parameters: target killed and started again', _restart_target),
    Break('parameters: target frozen, runner killed', _kill_runner_of_frozen_target),
    Break('parameters: goal cancelled', _cancel),
    Break('parameters: monitor silent', _silent_monitor),
    Break('parameters: somebody else sets a parameter', _meddle),
    Break('parameters: limit passed', _nothing, WILD, datum=True),
)


def run(what: Break, repeats: int, scratch: Path) -> Row:
    """Inject one fault again and again, at random moments of an episode."""
    row = Row(what.name, 'originals on the target')
    start, moments = time.monotonic(), random.Random(1)
    bench = Bench(scratch / f'parameters-{abs(hash(what.name))}')
    try:
        for _ in range(repeats):
            row.repeats += 1
            try:
                bench.revive()
                told = len(bench.results())
                handle = bench.begin(what.values)
                if what.inject is not _nothing:
                    time.sleep(moments.uniform(0.0, 0.3))
                began = time.monotonic()
                what.inject(bench, handle)
                bench.restored()
                row.times.append(time.monotonic() - began)
                time.sleep(0.3)  # a late set would come now
                if bench.read() != ORIGINALS:
                    raise AssertionError(f'the target has {bench.read()} a little later')
                for result in bench.results()[told:]:
                    row.outcomes[Outcome(result.outcome).name] += 1
                    if result.is_datum and not what.datum:
                        row.complain(f'told although broken: {result.reason}')
                row.recovered += 1
            except AssertionError as error:
                row.complain(str(error))
                bench.close()
                bench = Bench(scratch / f'parameters-{abs(hash(what.name))}-{row.repeats}')
    finally:
        bench.close()
    row.seconds = time.monotonic() - start
    return row
