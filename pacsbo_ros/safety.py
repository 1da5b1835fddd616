# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Judge whether the motor may move: the safety monitor without ROS.

A Watch is told what was seen and when (seconds of a steady clock) and answers with a Verdict.
It starts disarmed, is armed by a person, and latches at the first check that fails.

    DISARMED --arm--> ARMED --a check fails, or stop--> STOPPED --reset--> DISARMED
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
import math
from typing import NamedTuple

from pacsbo_ros.furuta.scaling import wrap

DRIFT = 1e-3  # by how much two clocks may run at different speeds


class Freshness:
    """
    Tell how old the newest trustworthy message of one source is.

    A message counts only if it is newer than the last one and was not held up on its way; so
    duplicated, reordered and delayed messages let the age grow just like lost ones. The delay is
    measured against the quickest message seen, hence the two clocks need not agree, and may drift
    apart slowly. After `forget` seconds without any good message, or when another process sends,
    the source is taken for a restarted one. Two processes that send in turn are rivals.
    """

    def __init__(self, max_delay: float = 0.05, forget: float = 1.0) -> None:
        """Accept up to max_delay seconds more than the quickest message needed."""
        self.max_delay = max_delay
        self.forget = forget
        self._received = -math.inf
        self._order = -math.inf
        self._least_delay = math.inf
        self._source = 0
        self._heard: dict[int, float] = {}  # when each sender was last heard, for a while
        self._rivalled = -math.inf

    def accept(self, now: float, stamp: float, order: float, source: int = 0) -> bool:
        """Note a message that was stamped and numbered by its sender; tell if it counts."""
        if not math.isfinite(stamp):
            return False
        delay = now - stamp
        if self._is_new(now, source) or now - self._received > self.forget:
            least = delay
        elif order <= self._order:
            return False
        else:
            least = min(self._least_delay + DRIFT * (now - self._received), delay)
        if delay - least > self.max_delay:
            return False
        self._received, self._order, self._least_delay = now, order, least
        return True

    def _is_new(self, now: float, source: int) -> bool:
        """Tell whether another process sends than last time; one that comes back is a rival."""
        self._heard = {s: then for s, then in self._heard.items() if now - then <= self.forget}
        new = source != self._source
        if new and source in self._heard:
            self._rivalled = now
        self._heard[source], self._source = now, source
        return new

    def rivals(self, now: float) -> bool:
        """Tell whether more than one process was sending of late."""
        return now - self._rivalled <= self.forget

    def age(self, now: float) -> float:
        """Return the seconds since the last message that counted; infinite before the first."""
        return now - self._received


class SafetyState(IntEnum):
    """Say what the monitor allows; the numbers are those of the ROS message."""

    DISARMED = 0
    ARMED = 1
    STOPPED = 2


@dataclass(frozen=True)
class SafetyLimits:
    """What the monitor allows, independent of what the controller was told."""

    alpha: float = math.radians(60)  # rad, pendulum from upright, while an episode runs
    theta: float = math.radians(120)  # rad, arm from centre, while an episode runs
    speed: float = 80.0  # rad/s, either joint, while an episode runs
    voltage: float = 18.5  # V, what the controller says it sends
    state_age: float = 0.5  # s, newest joint state
    heartbeat_age: float = 0.5  # s, controller's newest heartbeat
    operator_age: float | None = None  # s, operator's newest heartbeat; None: none is needed
    gains_lower: tuple[float, ...] = (-10.0, 0.0, -5.0, 0.0)  # V/rad, V s/rad
    gains_upper: tuple[float, ...] = (0.0, 100.0, 0.0, 10.0)
    candidate_grace: float = 0.5  # s for which candidate and episode may differ

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, float) and not value > 0:
                raise ValueError(f'safety limit {item.name} is {value}; it must be positive')
        if len(self.gains_lower) != 4 or len(self.gains_upper) != 4 or not all(
                low <= high for low, high in zip(self.gains_lower, self.gains_upper, strict=True)):
            raise ValueError(f'gain limits {self.gains_lower} to {self.gains_upper}: give four '
                             'lower and four upper ones, lower first')


class Verdict(NamedTuple):
    """What the monitor says, and why."""

    state: SafetyState
    cause: str  # name of the check that stopped the plant; empty if none
    reason: str  # one sentence with value and limit
    value: float = 0.0
    limit: float = 0.0
    cause_persists: bool = False
    limit_exceeded: bool = False  # the cause is a measured limit of the plant

    @property
    def ok(self) -> bool:
        """Tell whether the motor may move."""
        return self.state is SafetyState.ARMED


class Failure(NamedTuple):
    """A check that fails now."""

    cause: str
    value: float
    limit: float
    words: str
    measured: bool = False  # a limit of the plant, not of the software around it


@dataclass
class Running:
    """The episode that the controller says it runs."""

    run_id: str
    iteration: int
    since: float
    rival: str = ''  # another run that proposed gains meanwhile


@dataclass
class Watch:
    """Judge the plant by its own limits."""

    limits: SafetyLimits = field(default_factory=SafetyLimits)

    def __post_init__(self) -> None:
        self.joints = Freshness()
        self.heartbeat = Freshness()
        self._operator = -math.inf
        self.theta = self.alpha = math.nan  # newest, for display
        self._peak = {'alpha': 0.0, 'theta': 0.0, 'speed': 0.0}  # since the last check
        self._voltage = 0.0
        self._gains: tuple[float, ...] = ()
        self._running: Running | None = None
        self._upright = False
        self._upright_changed = -math.inf  # stamp of the heartbeat that said so
        self._candidate: tuple[str, int, dict[int, float]] = ('', 0, {})
        self._candidate_since = -math.inf
        self._verdict = Verdict(SafetyState.DISARMED, '', 'disarmed since start-up; call arm')

    def see_joints(self, now: float, stamp: float, theta: float, alpha: float,
                   theta_dot: float, alpha_dot: float) -> None:
        """Take in a joint state; one that is not finite is as good as none."""
        if not math.isfinite(theta + alpha + theta_dot + alpha_dot):
            return
        if not self.joints.accept(now, stamp, stamp):
            return
        alpha = wrap(alpha)
        self.theta, self.alpha = theta, alpha
        if stamp < self._upright_changed:
            alpha = 0.0  # of the phase before: the heartbeat was quicker
        for name, value in (('alpha', alpha), ('theta', theta),
                            ('speed', max(abs(theta_dot), abs(alpha_dot)))):
            self._peak[name] = max(self._peak[name], abs(value))

    def see_heartbeat(self, now: float, stamp: float, sequence: int, voltage: float,
                      gains: Sequence[float], running: bool, upright: bool, run_id: str,
                      iteration: int, source: int = 0) -> None:
        """Take in what the controller says it does; upright: its pendulum should stay up."""
        if not self.heartbeat.accept(now, stamp, sequence, source):
            return
        self._voltage = voltage
        self._gains = tuple(gains)
        if upright != self._upright:
            self._upright, self._upright_changed = upright, stamp
            self._peak['alpha'] = 0.0
        if not running:
            self._running = None
            self._peak = dict.fromkeys(self._peak, 0.0)
        elif self._running is None or (self._running.run_id, self._running.iteration) != (
                run_id, iteration):
            self._running = Running(run_id, iteration, now)

    def see_candidate(self, now: float, run_id: str, iteration: int,
                      gains: dict[int, float]) -> None:
        """Take in the gains that the optimiser proposed, by their place in the state order."""
        if self._candidate != (run_id, iteration, gains):
            self._candidate, self._candidate_since = (run_id, iteration, gains), now
        if self._running is not None and run_id != self._running.run_id:
            self._running.rival = run_id

    def see_operator(self, now: float) -> None:
        """Take in a sign of life of the operator."""
        self._operator = now

    def failures(self, now: float) -> Iterator[Failure]:
        """Yield every check that fails now."""
        limits = self.limits
        ages = [('state_age', self.joints.age(now), limits.state_age, 'joint state'),
                ('heartbeat_age', self.heartbeat.age(now), limits.heartbeat_age, 'heartbeat')]
        if limits.operator_age is not None:
            ages.append(('operator_age', now - self._operator, limits.operator_age,
                         'operator heartbeat'))
        for cause, age, limit, what in ages:
            if age > limit:
                since = f'for {age:.3f} s' if math.isfinite(age) else 'yet'
                yield Failure(cause, age, limit, f'no good {what} {since} (limit {limit:.3f} s)')
        if self.heartbeat.rivals(now):
            yield Failure('controllers', 2.0, 1.0, 'two controllers send heartbeats; end one of '
                          'them')
        if not abs(self._voltage) <= limits.voltage:
            yield Failure('voltage', self._voltage, limits.voltage,
                          f'voltage {self._voltage:.2f} V exceeds {limits.voltage:.2f} V')
        if self._running is None:
            return
        for name, unit in (('alpha', 'rad'), ('theta', 'rad'), ('speed', 'rad/s')):
            peak, limit = self._peak[name], getattr(limits, name)
            if peak > limit and (self._upright or name != 'alpha'):
                yield Failure(name, peak, limit,
                              f'{name} {peak:.3f} {unit} exceeds {limit:.3f} {unit}', True)
        yield from self._gain_failures(now, self._running)

    def _gain_failures(self, now: float, running: Running) -> Iterator[Failure]:
        """Compare the gains in force with the allowed range and with the proposed ones."""
        for index, (gain, low, high) in enumerate(
                zip(self._gains, self.limits.gains_lower, self.limits.gains_upper, strict=True)):
            if not low <= gain <= high:
                yield Failure('gains', gain, high if gain > high else low,
                              f'gain {index} is {gain:.4g}, outside [{low:.4g}, {high:.4g}]')
        if not running.run_id:
            return  # a person's own episode: no optimiser proposed it
        if running.rival:
            yield Failure('optimisers', 2.0, 1.0, f'run {running.rival} proposes gains while run '
                          f'{running.run_id} is on the plant; end one of the two optimisers')
        run_id, iteration, proposed = self._candidate
        if (run_id, iteration) == (running.run_id, running.iteration) and proposed and all(
                self._gains[index] == gain for index, gain in proposed.items()):
            return
        # The next candidate may overtake the news that the episode is over.
        waited = now - max(running.since, self._candidate_since)
        if waited > self.limits.candidate_grace:
            yield Failure('candidate', waited, self.limits.candidate_grace,
                          f'gains {[float(g) for g in self._gains]} are in force, not those '
                          f'proposed for iteration {running.iteration} of run {running.run_id}')

    def check(self, now: float) -> Verdict:
        """Judge what was seen so far; latch the first failure while armed."""
        failures = list(self.failures(now))
        verdict = self._verdict
        if verdict.state is SafetyState.ARMED and failures:
            first = failures[0]
            verdict = Verdict(SafetyState.STOPPED, first.cause, first.words, first.value,
                              first.limit, True, first.measured)
        elif verdict.state is SafetyState.STOPPED:
            persists = any(f.cause == verdict.cause for f in failures)
            verdict = verdict._replace(cause_persists=persists)
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
        """Allow the motor to move if nothing speaks against it; say what does."""
        if self._verdict.state is SafetyState.STOPPED:
            return False, f'stopped ({self._verdict.reason}): call reset first'
        if self._verdict.state is SafetyState.ARMED:
            return True, 'armed already'
        failures = list(self.failures(now))
        if failures:
            return False, f'not armed: {failures[0].words}'
        self._verdict = Verdict(SafetyState.ARMED, '', 'all checks pass')
        return True, 'armed'

    def reset(self, now: float) -> tuple[bool, str]:
        """Leave a latched stop, disarmed, unless its cause persists."""
        verdict = self.check(now)
        if verdict.state is not SafetyState.STOPPED:
            return True, 'nothing to reset'
        if verdict.cause_persists:
            return False, f'not reset, the cause persists: {verdict.reason}'
        self._verdict = Verdict(SafetyState.DISARMED, '', 'disarmed by reset; call arm')
        return True, 'reset; call arm to go on'
