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
Judge whether the robot may move: the safety monitor without ROS.

A Watch is told what was seen and when (seconds of a steady clock) and answers with a Verdict.
It starts disarmed, is armed by a person, and latches at the first check that fails.

    DISARMED --arm--> ARMED --a check fails, or stop--> STOPPED --reset--> DISARMED
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
import math
from typing import NamedTuple

from pacsbo_ros.safety.freshness import Freshness, Offset
from pacsbo_ros.safety.limits import SafetyLimits, Watched


class SafetyState(IntEnum):
    """Say what the monitor allows; the numbers are those of the ROS message."""

    DISARMED = 0
    ARMED = 1
    STOPPED = 2


class Verdict(NamedTuple):
    """What the monitor says, and why."""

    state: SafetyState
    cause: str  # name of the check that stopped the robot; empty if none
    reason: str  # one sentence with value and limit
    value: float = 0.0
    limit: float = 0.0
    cause_persists: bool = False
    limit_exceeded: bool = False  # the cause is a measured limit of the robot
    ignored: str = ''  # how the stop is not obeyed, while it is not

    @property
    def ok(self) -> bool:
        """Tell whether the robot may move."""
        return self.state is SafetyState.ARMED


class Failure(NamedTuple):
    """A check that fails now."""

    cause: str
    value: float
    limit: float
    words: str
    measured: bool = False  # a limit of the robot, not of the software around it


@dataclass
class Running:
    """The episode that the robot's node says it runs."""

    run_id: str
    iteration: int
    since: float
    rival: str = ''  # another run that proposed values meanwhile


class Watch:
    """Judge the robot by the monitor's own limits."""

    def __init__(self, limits: SafetyLimits,
                 offset: Offset = lambda *_: None) -> None:
        """Know nothing yet, disarmed; offset: see Freshness."""
        self.limits = limits
        self.sources = {s.source: Freshness() for s in limits.signals}
        self.heartbeat = Freshness(offset=offset)
        self._operator = Freshness(offset=offset)
        self.armings = self.resets = 0  # how often a person has asked
        self._contradictions: tuple[str, ...] = ()  # between the robot's limits and ours
        self._moving_since = math.inf  # since when there are commands without consent
        self.newest = {s.name: math.nan for s in limits.signals}  # for display
        self._peak = dict.fromkeys(self.newest, 0.0)  # since the last check
        self._commands: Mapping[str, float] = {}
        self._values: Mapping[str, float] = {}
        self._running: Running | None = None
        self._judged = False  # the robot has started: all of its signals count
        self._judged_changed = -math.inf  # stamp of the heartbeat that said so
        self._candidate: tuple[str, int, Mapping[str, float]] = ('', 0, {})
        self._candidate_since = -math.inf
        self._stopped_since = math.inf
        self._verdict = Verdict(SafetyState.DISARMED, '', 'disarmed since start-up; call arm')

    def see_signals(self, now: float, stamp: float, source: str,
                    values: Mapping[str, float]) -> None:
        """Take in all signals of a source; a set that is not finite is as good as none."""
        wanted = [s for s in self.limits.signals if s.source == source]
        if not all(math.isfinite(values.get(s.name, math.nan)) for s in wanted):
            return
        if not self.sources[source].accept(now, stamp, stamp):
            return
        for signal in wanted:
            value = self.newest[signal.name] = signal.seen(values[signal.name])
            # What was measured before the phase changed belongs to the phase before.
            if signal.from_start or stamp >= self._judged_changed:
                self._peak[signal.name] = max(self._peak[signal.name], abs(value))

    def see_heartbeat(self, now: float, stamp: float, sequence: int,
                      commands: Mapping[str, float], values: Mapping[str, float], running: bool,
                      judged: bool, run_id: str, iteration: int, source: int = 0) -> None:
        """Take in what the robot's node says it does; judged: it has reached its start."""
        if not self.heartbeat.accept(now, stamp, sequence, source):
            return
        self._commands, self._values = commands, values
        if judged != self._judged:
            self._judged, self._judged_changed = judged, stamp
            for signal in self.limits.signals:
                if not signal.from_start:
                    self._peak[signal.name] = 0.0
        if not running:
            self._running = None
            self._peak = dict.fromkeys(self._peak, 0.0)
        elif self._running is None or (self._running.run_id, self._running.iteration) != (
                run_id, iteration):
            self._running = Running(run_id, iteration, now)

    def see_candidate(self, now: float, run_id: str, iteration: int,
                      values: Mapping[str, float]) -> None:
        """Take in the values that the optimiser proposed; none of them: it was malformed."""
        if self._candidate != (run_id, iteration, values):
            self._candidate, self._candidate_since = (run_id, iteration, values), now
        if self._running is not None and run_id != self._running.run_id:
            self._running.rival = run_id

    def see_operator(self, now: float, stamp: float, sequence: int, source: int = 0) -> None:
        """Take in a sign of life of the operator."""
        self._operator.accept(now, stamp, sequence, source)

    def see_robot(self, signals: Mapping[str, float], commands: Mapping[str, float],
                  values: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
        """Take in the robot's own limits; return where they contradict ours and forbid arming."""
        self._contradictions = self.limits.contradictions(signals, commands, values)
        return self._contradictions

    def state_age(self, now: float) -> float:
        """Return the age of what was measured the longest ago."""
        return max(source.age(now) for source in self.sources.values())

    def failures(self, now: float) -> Iterator[Failure]:
        """Yield every check that fails now."""
        limits = self.limits
        ages = [('state_age', source.age(now), limits.state_age, f'{name or "measurement"}')
                for name, source in self.sources.items()]
        ages.append(('heartbeat_age', self.heartbeat.age(now), limits.heartbeat_age, 'heartbeat'))
        if limits.operator_age is not None:
            ages.append(('operator_age', self._operator.age(now), limits.operator_age,
                         'operator heartbeat'))
        for cause, age, limit, what in ages:
            if age > limit:
                since = f'for {age:.3f} s' if math.isfinite(age) else 'yet'
                yield Failure(cause, age, limit, f'no good {what} {since} (limit {limit:.3f} s)')
        for words in self._contradictions:
            yield Failure('limits', 0.0, 0.0, f'limits contradict each other: {words}')
        if limits.operator_age is not None and self._operator.rivals(now):
            yield Failure('operators', 2.0, 1.0, 'two operators send heartbeats; end one of them')
        if self.heartbeat.rivals(now):
            yield Failure('controllers', 2.0, 1.0, 'two nodes send heartbeats for one robot; end '
                          'one of them')
        for command in limits.commands:
            value = self._commands.get(command.name, 0.0)
            if not abs(value) <= command.limit:
                yield _beyond(command, value, measured=False)
        yield from self._disobedience(now)
        if self._running is None:
            return
        for signal in limits.signals:
            if self._peak[signal.name] > signal.limit and (self._judged or signal.from_start):
                yield _beyond(signal, self._peak[signal.name], measured=True)
        yield from self._value_failures(now, self._running)

    def _disobedience(self, now: float) -> Iterator[Failure]:
        """Notice commands, or an episode that goes on, without consent."""
        if self._verdict.state is SafetyState.DISARMED:
            yield from self._unasked(now)
        since = now - self._stopped_since
        if since <= self.limits.stop_grace or self.heartbeat.age(now) > self.limits.heartbeat_age:
            return
        for name, value in self._commands.items():
            if value != 0.0:
                yield Failure('disobedience', since, self.limits.stop_grace,
                              f'{name} is {value:.3g}, {since:.1f} s after the stop')
        if self._running is not None:
            yield Failure('disobedience', since, self.limits.stop_grace,
                          f'an episode goes on {since:.1f} s after the stop')

    def _unasked(self, now: float) -> Iterator[Failure]:
        """Notice commands or an episode that nobody has consented to."""
        moving = self._running is not None or any(v != 0.0 for v in self._commands.values())
        if not moving or self.heartbeat.age(now) > self.limits.heartbeat_age:
            self._moving_since = math.inf
            return
        self._moving_since = min(self._moving_since, now)
        since = now - self._moving_since
        if since > self.limits.stop_grace:
            sent = ', '.join(f'{name} {value:.3g}' for name, value in self._commands.items())
            yield Failure('disobedience', since, self.limits.stop_grace,
                          f'the robot is driven ({sent}) although nobody has armed it')

    def _value_failures(self, now: float, running: Running) -> Iterator[Failure]:
        """Compare the values in force with the allowed ranges and with the proposed ones."""
        for name, value in self._values.items():
            low, high = self.limits.values.get(name, (-math.inf, math.inf))
            if not low <= value <= high:
                yield Failure('values', value, high if value > high else low,
                              f'{name} is {value:.4g}, outside [{low:.4g}, {high:.4g}]')
        if not running.run_id:
            return  # a person's own episode: no optimiser proposed it
        if running.rival:
            yield Failure('optimisers', 2.0, 1.0, f'run {running.rival} proposes values while run '
                          f'{running.run_id} is on the robot; end one of the two optimisers')
        run_id, iteration, proposed = self._candidate
        if (run_id, iteration) == (running.run_id, running.iteration) and proposed and all(
                self._values.get(name) == value for name, value in proposed.items()):
            return
        # The next candidate may overtake the news that the episode is over.
        waited = now - max(running.since, self._candidate_since)
        if waited > self.limits.candidate_grace:
            in_force = ', '.join(f'{name} {value:.4g}' for name, value in self._values.items())
            yield Failure('candidate', waited, self.limits.candidate_grace,
                          f'values in force ({in_force}) are not those proposed for iteration '
                          f'{running.iteration} of run {running.run_id}')

    def check(self, now: float) -> Verdict:
        """Judge what was seen so far; latch the first failure while armed."""
        failures = list(self.failures(now))
        verdict = self._verdict
        unasked = verdict.state is SafetyState.DISARMED and [
            f for f in failures if f.cause == 'disobedience']
        if unasked or (verdict.state is SafetyState.ARMED and failures):
            first = (unasked or failures)[0]
            verdict = Verdict(SafetyState.STOPPED, first.cause, first.words, first.value,
                              first.limit, True, first.measured)
        elif verdict.state is SafetyState.STOPPED:
            persists = any(f.cause == verdict.cause for f in failures)
            ignored = next((f.words for f in failures if f.cause == 'disobedience'), '')
            verdict = verdict._replace(cause_persists=persists or bool(ignored), ignored=ignored)
        if verdict.state is not SafetyState.STOPPED:
            self._stopped_since = math.inf
        elif self._stopped_since == math.inf:
            self._stopped_since = now
        self._verdict = verdict
        if self._running is None or verdict.state is not SafetyState.ARMED:
            self._peak = dict.fromkeys(self._peak, 0.0)
        return verdict

    def stop(self, reason: str) -> Verdict:
        """Latch a stop that somebody asked for."""
        if self._verdict.state is not SafetyState.STOPPED:
            self._verdict = Verdict(SafetyState.STOPPED, 'operator', reason)
        return self._verdict

    def arm(self, now: float) -> tuple[bool, str]:
        """Allow the robot to move if nothing speaks against it; say what does."""
        if self._verdict.state is SafetyState.STOPPED:
            return False, f'stopped ({self._verdict.reason}): call reset first'
        failures = list(self.failures(now))
        if failures:
            return False, f'not armed: {failures[0].words}'
        self.armings += 1
        if self._verdict.state is SafetyState.ARMED:
            return True, 'armed already; noted'
        self._verdict = Verdict(SafetyState.ARMED, '', 'all checks pass')
        return True, 'armed'

    def reset(self, now: float) -> tuple[bool, str]:
        """
        Leave a latched stop, disarmed, unless its cause persists.

        A person who asks vouches for the clocks: they are learnt anew, so that a source whose
        clock has stepped counts again by the next call.
        """
        self.resets += 1
        verdict = self.check(now)
        for source in (*self.sources.values(), self.heartbeat, self._operator):
            source.renew()
        if verdict.state is not SafetyState.STOPPED:
            return True, 'nothing to reset'
        if verdict.cause_persists:
            return False, f'not reset, the cause persists: {verdict.ignored or verdict.reason}'
        self._verdict = Verdict(SafetyState.DISARMED, '', 'disarmed by reset; call arm')
        return True, 'reset; call arm to go on'


def _beyond(watched: Watched, value: float, measured: bool) -> Failure:
    """Return the failure of something that passed its limit."""
    return Failure(watched.name, value, watched.limit, f'{watched.name} {value:.3f} '
                   f'{watched.unit} exceeds {watched.limit:.3f} {watched.unit}', measured)
