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
The laboratory of the campaign: a run on a pendulum in a process of its own, with an operator.

    plant --(sensor)--> controller <--(verdict)-- monitor <-- operator's hand
                            ^ optimiser

The optimiser leads a real run of short episodes; every process can be killed, frozen, hung and
started again, and the plant's log says which voltage the motor really got.
"""
from __future__ import annotations

from collections.abc import Sequence
import contextlib
from dataclasses import dataclass, field
from pathlib import Path
import random
import signal
import sys
import tempfile
import time
from typing import Any

from faults.graph import Graph, Process, wait_for
from faults.stalls import StallWatch
from pacsbo_ros.msg import ControllerState, EpisodeResult, OptimizerState, SafetyStatus

HERE = Path(__file__).resolve().parent
MEMORY = '/dev/shm' if Path('/dev/shm').is_dir() else None
DURATION = 0.6  # s of an episode, if nobody wants another
LONG_RUN = 60  # episodes; proposals and replays of longer runs take time
TOPICS = ('candidate', 'optimizer_state', 'told_result', 'episode_result', 'safety_status',
          'safety_event', 'controller_state', 'plant/command')
PHASES = ('start', 'middle', 'last tick')
# Relays, where they are wanted: topic, the other name of its sender's end, kind of messages.
RELAYS = {'sensor': ('plant/joint_states', 'sensor/raw', 'joints'),
          'verdict': ('safety_status', 'verdict/raw', 'verdict'),
          'command': ('plant/command', 'command/raw', 'command'),
          'hand': ('operator_heartbeat', 'hand/raw', 'hand')}
SENDERS = {'sensor': 'plant', 'verdict': 'monitor', 'command': 'controller', 'hand': 'operator'}


@dataclass(frozen=True)
class Member:
    """Say how a process of the rig is started."""

    what: str  # module or file
    parameters: dict[str, Any] = field(default_factory=dict)
    remap: dict[str, str] = field(default_factory=dict)


class Rig:
    """Processes by name, and what became of the motor and of the run."""

    def __init__(self, folder: Path, relays: Sequence[str] = (), views: bool = False,
                 operator: bool = True, patience: float | None = None,
                 duration: float = DURATION,
                 controller: str = 'pacsbo_ros.nodes.furuta_controller') -> None:
        """
        Prepare, with another controller or timeouts [s] if given; start nothing.

        patience is that for verdict and operator, duration that of an episode.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.duration = folder, duration
        # What must not wait for a disk is kept in memory.
        self._memory = tempfile.TemporaryDirectory(prefix='rig-', dir=MEMORY)
        self.motor_log = Path(self._memory.name) / 'motor.csv'
        self.stalls = StallWatch(Path(self._memory.name))
        self.graph = Graph(folder, TOPICS)
        self.client = self.graph.client
        self.run: Path | None = None
        self.runs = 0
        self.answer = ''  # to the last call of arm
        self._next_look = self._optimizer_since = 0.0
        self._motor: list[tuple[float, float]] = []
        self._read = 0  # characters of the motor's log
        self.random = random.Random(0)
        self.processes: dict[str, Process] = {}
        self.members = {
            'plant': Member('pacsbo_ros.nodes.simulated_plant',
                            {'stand_up_after': 0.1, 'log': str(self.motor_log)}),
            'monitor': Member('pacsbo_ros.nodes.safety_monitor', {'require_operator': operator}),
            'controller': Member(controller, {
                'plant': 'topics', 'episode_duration': duration, 'push_speed': 0.0}),
        }
        if patience is not None:
            self.members['monitor'].parameters['operator_timeout'] = patience
            self.members['controller'].parameters['verdict_timeout'] = patience
        if operator:
            self.members['operator'] = Member(str(HERE / 'heartbeat.py'))
        for name in relays:
            topic, raw, kind = RELAYS[name]
            self.members[SENDERS[name]].remap[topic] = raw
            self.members[name] = Member(str(HERE / 'relay.py'), {'kind': kind},
                                        {'relay/in': raw, 'relay/out': topic})
        if views:
            self.members['dashboard'] = Member('pacsbo_ros.nodes.dashboard', {'port': 18080})
            self.members['markers'] = Member('pacsbo_ros.nodes.progress_markers')

    def start(self, name: str, member: Member | None = None, **more: Any) -> Process:
        """Start a process of the rig, or another one under a new name."""
        member = member or self.members[name]
        process = Process(name, self.folder, self.graph.namespace, {**member.parameters, **more},
                          member.remap, [sys.executable, str(HERE / 'hangable.py'), member.what])
        self.graph.processes = [p for p in self.graph.processes if p.alive] + [process]
        self.processes[name] = process
        return process

    def begin(self, anew: bool = False) -> None:
        """Start what is not there; begin a new run if this one has grown long, or anew."""
        if 'optimizer' in self.processes:
            if not anew and len(self.client.messages['told_result']) < LONG_RUN:
                return
            self.processes.pop('optimizer').end()
        self.runs += 1
        self.run = self.folder / 'runs' / f'run{self.runs}'
        self.forget()
        for member in self.members:
            if member not in self.processes:
                self.start(member)
        self.start_optimizer()
        self.recover()

    def start_optimizer(self, **more: Any) -> Process:
        """Start the optimiser on the run, or go on with it where it has begun."""
        self._optimizer_since = time.monotonic()
        begun = (self.run / 'episodes.jsonl').exists()
        where = {'resume': str(self.run)} if begun else {'run_dir': str(self.run)}
        return self.start('optimizer', Member('pacsbo_ros.nodes.pacsbo_optimizer', {
            'iterations': 10000, 'candidates': 300, **where}), **more)

    def forget(self) -> None:
        """Drop the messages seen so far."""
        for topic in TOPICS:
            del self.client.messages[topic][:-1]
            del self.client.times[topic][:-1]
        del self._motor[:-1]

    # Time.

    def wait_for_phase(self, phase: str) -> float:
        """Wait for a new episode, then for a moment of it, or for any; return when it began."""
        client = self.client
        seen = len(client.messages['controller_state'])

        def begins() -> int | None:
            self.tend()
            return next((i for i, m in enumerate(client.messages['controller_state'][seen:], seen)
                         if m.state == ControllerState.RUNNING and m.episode_time < 0.1), None)

        running = wait_for(begins, 'an episode')
        begun = (client.times['controller_state'][running]
                 - client.messages['controller_state'][running].episode_time)
        moment = {'start': 0.0, 'middle': self.duration / 2, 'last tick': self.duration - 0.005,
                  'any': self.random.uniform(0.0, 2 * self.duration)}[phase]
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        return begun

    def results(self, since: float) -> list[EpisodeResult]:
        """Return the results of episodes that ended since then."""
        client = self.client
        return [m for then, m in zip(client.times['episode_result'],
                                     client.messages['episode_result'], strict=False)
                if then > since]

    # Recovery, as a person would do it.

    def heal(self) -> None:
        """Wake what is frozen, start again what has ended."""
        for name, process in list(self.processes.items()):
            with contextlib.suppress(ProcessLookupError):
                process.signal(signal.SIGCONT)
            if process.alive:
                continue
            if name == 'optimizer':
                self.start_optimizer()
            else:
                self.start(name)

    def recover(self, patience: float = 60.0) -> None:
        """Reset and arm until an episode is told again."""
        told = len(self.client.messages['told_result'])

        def goes_on() -> bool:
            self.tend()
            return len(self.client.messages['told_result']) > told

        wait_for(goes_on, 'recovery', patience)

    def tend(self) -> None:
        """Do what a person would do now: reset, arm, or notice that the run is over."""
        client, now = self.client, time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 0.05
        status, times = client.last('safety_status'), client.times['safety_status']
        if times and now - times[-1] < 0.2:
            if status.state == SafetyStatus.STOPPED and not status.cause_persists:
                client.call('reset', 10.0)
            elif status.state == SafetyStatus.DISARMED or self._wants_person():
                self.answer = client.call('arm', 10.0).message
        # What an optimiser said that has ended since is no reason to call the next one.
        if client.times['optimizer_state'] and (
                client.times['optimizer_state'][-1] > self._optimizer_since):
            state = client.last('optimizer_state')
            if state.state == OptimizerState.PAUSED and (
                    self.processes['optimizer'].alive):
                client.call('resume', 10.0)
            elif state.state in (OptimizerState.FINISHED, OptimizerState.FAILED):
                raise RunEnded(state.reason)

    def _wants_person(self) -> bool:
        """Tell whether the controller has stopped by itself and waits for a person."""
        controller = self.client.last('controller_state')
        return controller is not None and 'call arm again' in controller.note

    # The motor.

    def motor(self) -> list[tuple[float, float]]:
        """Return the changes of the motor voltage in this run: time and volts."""
        with self.motor_log.open() as log:
            log.seek(self._read)
            whole, newline, _ = log.read().rpartition('\n')
        self._read += len(whole) + len(newline)
        for line in whole.splitlines():
            then, volts = line.split(',')[:2]
            self._motor.append((float(then), float(volts)))
        return self._motor

    def words(self) -> str:
        """Return what everybody said last."""
        client = self.client
        controller, monitor, optimizer = (client.last(topic) for topic in (
            'controller_state', 'safety_status', 'optimizer_state'))
        return (f'controller {controller and (controller.state, controller.note)}, '
                f'monitor {monitor and (monitor.state, monitor.reason)}, '
                f'optimiser {optimizer and (optimizer.state, optimizer.reason)}')

    def close(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.signal(signal.SIGCONT)
        self.graph.close()
        self.stalls.close()
        self._memory.cleanup()


class RunEnded(Exception):
    """The optimiser has no more gains to propose."""
