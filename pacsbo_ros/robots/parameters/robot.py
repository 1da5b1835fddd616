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
A robot whose loop is elsewhere: values are set in other nodes, and ticks only watch.

    SETTING -> SETTLING -> CALLING -> RECORDING -> CHECKING -> RESTORING -> over

Outside an episode the target has its original values. After the window the values are read once
more: what somebody else changed meanwhile (a person, a restart, the guardian) is no datum.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
import math
from typing import Protocol

from pacsbo_ros.robots.contract import (
    Description,
    EpisodeResult,
    Outcome,
    Refusal,
    RobotError,
    Sample,
)
from pacsbo_ros.robots.parameters import scoring
from pacsbo_ros.robots.parameters.custody import Custody
from pacsbo_ros.robots.parameters.task import Task
from pacsbo_ros.robots.parameters.windows import Recorder

PERIOD = 0.01  # s
HELD_UP = 1.0  # s without a tick, below the guardian's patience: what went on is not known
AGAIN = 1.0  # s between attempts to put the originals back
LONG = 5.0  # s after which an episode is over although the originals are not back
SLOW = 0.2  # share of the window, but no more than half a second: an answer that came late
STILL = 0.2  # share of the motion before the answer; with less after it, it came at the end


class Pending(Protocol):
    """Something that was asked of the graph."""

    @property
    def done(self) -> bool:
        """Tell whether there is an answer, or none will come."""

    @property
    def failure(self) -> str:
        """Say why it failed; empty if it did not."""


class Target(Protocol):
    """The nodes that are tuned, as seen from here; every answer comes later."""

    def set(self, values: Mapping[str, float]) -> Pending:  # noqa: A003
        """Set the tuned values, atomically node by node, and read them back."""

    def check(self, values: Mapping[str, float]) -> Pending:
        """Read the values and compare them."""

    def restore(self) -> Pending:
        """Put the originals back and read them back."""

    @property
    def owing(self) -> str:
        """Return a node that may still take over values that were set; empty if none."""

    def start(self) -> Pending:
        """Start the episode: call, send or publish what the task says."""

    def stop(self) -> None:
        """Stop what moves: cancel, call or publish what the task says."""


class Phase(Enum):
    """Where an episode is."""

    IDLE = 'idle'
    SETTING = 'setting'
    SETTLING = 'settling'
    CALLING = 'calling'
    RECORDING = 'recording'
    CHECKING = 'checking'
    RESTORING = 'restoring'


BEFORE = (Phase.SETTING, Phase.SETTLING, Phase.CALLING)


class ParameterRobot:
    """Run the episodes of a task on a target."""

    period = PERIOD
    waits = True  # a late tick changes nothing here; silence is judged by its own clock

    def __init__(self, task: Task, target: Target, custody: Custody,
                 now: Callable[[], float]) -> None:
        """Take a target whose originals are in custody."""
        self._task, self._target, self._custody, self._now = task, target, custody, now
        self._description = task.description()
        self.recorders = {s.name: Recorder(s.name, s.timeout) for s in task.signals}
        self._sources = {s.name: s for s in task.signals}
        self.phase = Phase.IDLE
        self.must_not = ''  # why no episode may begin now, for example without a guardian
        self._pending: Pending | None = None
        self._values: Mapping[str, float] = {}
        self._result: EpisodeResult | None = None
        self._entered = self._ticked = now()
        self._opened = self._ended = -math.inf
        self._duration = task.duration
        self.trouble = ''  # why the originals are not back yet
        self._owed = False  # a set was not answered when it was due
        self.slow = 0.0  # s that the last start took to be answered, if that was long
        self._before: dict[str, float] = {}  # how far the signals moved until that answer

    @property
    def description(self) -> Description:
        """Return what the robot is."""
        return self._description

    def hear(self, name: str, value: float, made: float | None = None) -> None:
        """Take a sample, made now or then; a limit is judged at once, not at the next tick."""
        now = self._now()
        made = now if made is None else made
        self.recorders[name].add(made, value)
        reason = self._beyond(name)
        if not reason or self.phase in (Phase.IDLE, Phase.RESTORING) or made < self._opened:
            return  # what was made before tells nothing of these values
        if self.phase is Phase.SETTING:  # it was not these values
            self.stop(Outcome.START_FAILED, reason)
        else:
            self._end(scoring.tripped(
                self._task, self.recorders, self._opened, now - self._opened, Outcome.TRIPPED,
                reason, name))

    def changed(self, name: str, value: float) -> None:
        """Hear that a node has another value now; who else sets one ends the episode."""
        if self.phase is Phase.RECORDING and not math.isclose(
                value, self._values[name], rel_tol=1e-9, abs_tol=1e-12):
            self.stop(Outcome.INFRASTRUCTURE, f'somebody else has set {name} to {value:g}')

    def _beyond(self, name: str) -> str:
        """Say that a signal is beyond its limit; empty if it is not."""
        source, value = self._sources[name], self.recorders[name].newest
        if source.limit is None or not abs(value) > source.limit:
            return ''
        return f'{name} is {value:.4g}, beyond {source.limit:g} {source.unit}'.rstrip()

    def begin(self, values: Mapping[str, float], seed: int, duration: float = 0.0) -> None:
        """Set the values; what follows comes with the ticks."""
        if self.phase is not Phase.IDLE:
            raise Refusal('the original values are being put back' if self.phase is
                          Phase.RESTORING else 'busy with another episode')
        if self.must_not:
            raise Refusal(self.must_not)
        now = self._now()
        for name, recorder in self.recorders.items():
            if recorder.age(now) > recorder.timeout:
                raise Refusal(f'{name} is silent')
            if self._beyond(name):
                raise Refusal(f'{self._beyond(name)}, before the episode begins')
        self._values = self._description.complete(values)
        self._duration = duration or self._task.duration
        self._result, self._ticked, self.slow = None, now, 0.0
        self._open()
        self._custody.begin()  # on the disk before the first change
        self._go(Phase.SETTING, self._target.set(self._values))

    def tick(self) -> Sample:
        """Watch, and go from phase to phase."""
        self._notice_hold_up()
        now, pending = self._now(), self._pending
        if self.phase in BEFORE or self.phase is Phase.CHECKING:
            if pending is not None and pending.done and pending.failure:
                why = (Outcome.INFRASTRUCTURE if self.phase is Phase.CHECKING
                       else Outcome.START_FAILED)
                self.stop(why, pending.failure)
            elif self.phase is Phase.SETTLING and now - self._entered >= self._task.settle:
                self._go(Phase.CALLING, self._target.start())
            elif pending is not None and pending.done:
                self._next()
        elif self.phase is Phase.RECORDING:
            self._record(now)
        self._restore(now)
        return self._sample(now)

    def _notice_hold_up(self) -> None:
        now = self._now()
        gap, self._ticked = now - self._ticked, now
        if gap > HELD_UP and self.phase not in (Phase.IDLE, Phase.RESTORING):
            self.stop(Outcome.INFRASTRUCTURE, f'the runner was held up for {gap:.1f} s')

    def _next(self) -> None:
        if self.phase is Phase.SETTING:
            self._go(Phase.SETTLING)
        elif self.phase is Phase.CALLING:
            took = self._now() - self._entered
            self.slow = took if took > min(0.5, SLOW * self._duration) else 0.0
            self._before = {n: r.span(self._entered) for n, r in self.recorders.items()}
            self._open()
            self._go(Phase.RECORDING)
        else:
            self._go(Phase.RESTORING, self._target.restore())

    def _open(self) -> None:
        self._opened = self._now()
        for recorder in self.recorders.values():
            recorder.open(self._opened)

    def _record(self, now: float) -> None:
        for recorder in self.recorders.values():
            complaint = recorder.complaint(now)
            if complaint:
                return self.stop(Outcome.INVALID_STATE, complaint)
        # A window is whole when everything that was made in it has come.
        if all(r.reaches(self._opened + self._duration) for r in self.recorders.values()):
            if self.slow and self._was_over():
                return self.stop(Outcome.START_FAILED, (
                    f'{self._task.start.name if self._task.start else "the start"} answered after '
                    f'{self.slow:.2f} s, when the motion was over, so that nothing of it was '
                    'recorded; have it answer when the motion begins, or start by a topic or an '
                    'action'))
            self._ended = now
            self._result = scoring.completed(self._task, self.recorders, self._opened,
                                             self._duration)
            for recorder in self.recorders.values():
                recorder.close()
            self._go(Phase.CHECKING, self._target.check(self._values))
        return None

    def _was_over(self) -> bool:
        """Tell whether all that moved had moved when the start was answered."""
        return any(self._before.values()) and all(
            r.span(self._opened) < STILL * self._before[n] or not self._before[n]
            for n, r in self.recorders.items())

    def _restore(self, now: float) -> None:
        """Try until the originals are back; nothing else ends this phase."""
        if self.phase is not Phase.RESTORING or self._pending is None or not self._pending.done:
            return
        owing = self._target.owing
        self._owed |= bool(owing)
        if not owing and self._owed:  # what came late may have come after what was read back
            self._owed = False
            self._go(Phase.RESTORING, self._target.restore())
        elif not self._pending.failure and not owing:
            self._custody.end()
            self.trouble = ''
            self._go(Phase.IDLE)
        elif now - self._entered >= AGAIN:
            why = self._pending.failure or f'{owing} has not answered a set yet'
            self.trouble = f'the original values are not back: {why}'
            self._go(Phase.RESTORING, self._target.restore())

    def _go(self, phase: Phase, pending: Pending | None = None) -> None:
        self.phase, self._pending, self._entered = phase, pending, self._now()

    def _sample(self, now: float) -> Sample:
        running = self.phase in (Phase.RECORDING, Phase.CHECKING)
        late = self.phase is Phase.RESTORING and now - self._ended > LONG
        return Sample(now - self._opened if running else 0.0,
                      tuple(r.newest for r in self.recorders.values()), (),
                      over=self._result is not None and (self.phase is Phase.IDLE or late),
                      starting=self.phase in BEFORE, ended=self.phase is Phase.RESTORING)

    def idle(self) -> Sample:
        """Measure while nothing runs; RobotError until the originals are back."""
        now = self._now()
        self._ticked = now
        self._restore(now)
        if self.phase is Phase.RESTORING and self.trouble:
            raise RobotError(self.trouble)
        if self.must_not:
            raise RobotError(self.must_not)
        return self._sample(now)

    def stop(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        """End what runs: stop what moves, put the originals back."""
        if self.phase in (Phase.IDLE, Phase.RESTORING):
            return  # nothing runs, or its result is there and the originals are on their way
        duration = self._now() - self._opened
        if limit_violated and self.phase is not Phase.SETTING:
            result = scoring.tripped(self._task, self.recorders, self._opened, duration, outcome,
                                     reason)
        else:
            result = scoring.without_data(
                self._task, outcome, reason,
                tuple(self.recorders[s.name].peak for s in self._task.signals), duration)
        self._end(result)

    def halt(self) -> None:
        """Stop what moves although no episode runs; one that does is ended by stop()."""
        if self.phase in (Phase.IDLE, Phase.RESTORING):
            self._target.stop()

    def _end(self, result: EpisodeResult) -> None:
        self._result, self._ended = result, self._now()
        self._target.stop()
        for recorder in self.recorders.values():
            recorder.close()
        self._go(Phase.RESTORING, self._target.restore())

    @property
    def last(self) -> EpisodeResult | None:
        """Return what the last episode showed; None before its end."""
        return self._result

    def result(self) -> EpisodeResult:
        """Return what the last episode showed."""
        if self._result is None:
            raise Refusal('there was no episode')
        return self._result

    def close(self) -> None:
        """Begin to put the originals back; the guardian finishes it if this process ends."""
        self.stop(Outcome.INFRASTRUCTURE, 'the runner was shut down')
