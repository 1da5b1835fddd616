# Copyright the pacsbo_ros developers. Apache-2.0.
"""
One experiment: state feedback with given gains, watched sample by sample.

An Episode is a pure step machine. Whoever owns time calls step() every SAMPLE_PERIOD with the
measured state and gets the voltage for the coming sample. It ends by itself, on a violated limit,
or on abort(); from then on it answers exactly zero volts.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
import math

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup
from pacsbo_ros.robots.furuta.driver import Driver, SimulatedDriver
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.judging import saturated, see
from pacsbo_ros.robots.furuta.plant import Measurement, Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.plausibility import Plausibility
from pacsbo_ros.robots.furuta.reward import PaperReward, QuadraticReward
from pacsbo_ros.robots.furuta.scaling import Scaling, wrap
from pacsbo_ros.robots.furuta.self_test import SelfTest
from pacsbo_ros.robots.furuta.swing_up import SwingUp

LOST, LOST_ARM = 1.9, 1.3  # shares of the limits beyond which the backup gives up
TRACE_COLUMNS = ('time', 'theta', 'alpha', 'theta_dot', 'alpha_dot', 'volts')


class Start(Enum):
    """Say how the pendulum gets upright before the gains are tried."""

    UPRIGHT = 'upright'  # it is upright at the first sample, or the start has failed
    BY_HAND = 'by_hand'  # wait with zero volts until a person holds it upright
    SWING_UP = 'swing_up'  # swing it up, catch it with known gains, then hand over


class Phase(Enum):
    """Say what the episode is doing."""

    TESTING = 'testing'
    WAITING = 'waiting'
    SWINGING = 'swinging'
    CATCHING = 'catching'
    RUNNING = 'running'
    RECOVERING = 'recovering'
    OVER = 'over'


@dataclass(frozen=True)
class Limits:
    """Bound what an episode may do; the first sample beyond a limit ends it."""

    alpha: float = math.radians(30)  # rad, pendulum from upright
    theta: float = math.radians(90)  # rad, arm from centre
    speed: float = 60.0  # rad/s, either joint
    voltage: float = 18.0  # V, commands are clamped to it

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f'limit {name} is {value}; it must be positive')
        if self.alpha > math.pi:
            raise ValueError(f'limit alpha is {self.alpha} rad; angles are wrapped at pi')


@dataclass(frozen=True)
class Push:
    """Kick the pendulum once, so that quiet gains differ from good ones."""

    time: float = 1.0  # s after the gains took over
    alpha_dot: float = 2.0  # rad/s

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha_dot) and self.time >= 0):
            raise ValueError(f'push of {self.alpha_dot} rad/s at {self.time} s: give a finite '
                             'size and a time of zero or more')


@dataclass(frozen=True)
class EpisodeSettings:
    """Say how an experiment runs and how it is scored."""

    duration: float = 5.0  # s under the gains that are tried
    control_every: int = 4  # samples between control updates, 50 Hz
    push: Push | None = field(default_factory=Push)
    first_swing: float = 0.4  # s after the push within which the first large swing peaks
    start: Start = Start.UPRIGHT
    start_angle: float = 0.2  # rad, upright means |alpha| and |theta| / 3 within it
    start_timeout: float = 20.0  # s to get upright
    hold_time: float = 0.5  # s upright before the gains take over
    catch_gains: Gains = PAPER_GAINS
    backup: Backup | None = None  # takes over when the gains that are tried lose the pendulum
    recovery_time: float = 5.0  # s that the backup has to calm it
    swing_up: SwingUp = field(default_factory=SwingUp)
    reward: PaperReward | QuadraticReward = field(default_factory=PaperReward)
    scaling: Scaling = field(default_factory=Scaling)
    trace: bool = False  # keep every sample for plots
    self_test: bool = False  # first see whether motor and sensors of a hanging pendulum are right
    check_sensors: bool = False  # end an episode whose sensors say what no pendulum does

    def __post_init__(self) -> None:
        if not SAMPLE_PERIOD <= self.duration <= 3600:
            raise ValueError(f'duration is {self.duration} s; use {SAMPLE_PERIOD} to 3600 s')
        if self.control_every < 1:
            raise ValueError(f'control_every is {self.control_every}; use 1 sample or more')
        if self.push is not None and self.push.time >= self.duration:
            raise ValueError(f'the push at {self.push.time} s comes after the episode of '
                             f'{self.duration} s; push earlier or not at all')
        for name in ('first_swing', 'start_angle', 'start_timeout', 'hold_time',
                     'recovery_time'):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f'{name} is {getattr(self, name)}; use a positive number')

    @property
    def samples(self) -> int:
        """Return the length of the episode in samples."""
        return round(self.duration / SAMPLE_PERIOD)

    @property
    def push_sample(self) -> int:
        """Return the sample on which the push is due; -1 without a push."""
        return -1 if self.push is None else round(self.push.time / SAMPLE_PERIOD)


@dataclass(frozen=True)
class EpisodeResult:
    """Report what an episode showed."""

    gains: Gains
    reward: float  # as in the paper, samples that were cut off count as the worst
    max_abs_alpha: float  # rad, measured, under the gains that were tried and the backup
    max_abs_theta: float  # rad, measured, under the gains that were tried and the backup
    max_heading: float  # largest |heading| over the angle limit under the gains; 0: no backup
    decay_rate: float  # 1/s with which the loop forgets the push; nan if that was not excited
    swing: float  # largest later swing over the first one after the push; nan without a push
    saturated: float  # share of control updates with the largest voltage
    values: tuple[float, ...]  # for the optimiser: reward, then scaling.CONSTRAINTS
    noise: tuple[float, ...]  # their standard deviations by the episode's own estimate
    outcome: Outcome
    reason: str
    duration: float  # s under the gains that were tried
    limit_violated: bool  # a measured limit ended it
    seed: int | None
    trace: NDArray[np.float64] | None  # (samples, 6), columns TRACE_COLUMNS

    @property
    def is_datum(self) -> bool:
        """Tell whether this says something about the gains, so that the optimiser is told."""
        return self.outcome in (Outcome.COMPLETED, Outcome.CAUGHT) or self.limit_violated


class Episode:
    """Try one set of gains."""

    def __init__(self, gains: Gains, limits: Limits | None = None,
                 settings: EpisodeSettings | None = None, seed: int | None = None) -> None:
        """Prepare; the seed is only carried into the result."""
        if not isinstance(gains, Gains):
            raise ValueError(f'gains are {gains!r}; make them with Gains(k_theta, k_alpha, ...)')
        self.change_gains(gains)
        self.limits = limits or Limits()
        self.settings = settings or EpisodeSettings()
        self.seed = seed
        self.phase = {Start.UPRIGHT: Phase.RUNNING, Start.BY_HAND: Phase.WAITING,
                      Start.SWING_UP: Phase.SWINGING}[self.settings.start]
        self._test = SelfTest(self.settings.swing_up.parameters)
        if self.settings.self_test:
            self._begin_with, self.phase = self.phase, Phase.TESTING
        self.push_due = 0.0  # rad/s to give the pendulum before the voltage of the last step
        self._samples = self.settings.samples
        self._push_sample = self.settings.push_sample
        self._sample_reward = self.settings.reward.sample
        self._tick = 0  # samples in the present phase
        self._upright = 0  # consecutive upright samples while waiting or catching
        self._started = 0  # samples spent getting upright
        self._count = 0  # samples scored
        self._reward_sum = 0.0
        self._max_alpha = 0.0
        self._max_theta = 0.0
        self._max_heading = 0.0
        self._alphas: list[float] = []
        self._rows: list[tuple[float, ...]] = []  # state and voltage at every control update
        self._volts = 0.0
        self._sensors = (Plausibility(self.settings.swing_up.parameters)
                         if self.settings.check_sensors else None)
        self._outcome: Outcome | None = None
        self._reason = ''
        self._limit_violated = False
        self._trace: list[tuple[float, ...]] = []

    @property
    def done(self) -> bool:
        """Tell whether the episode is over; the motor then gets zero volts."""
        return self.phase is Phase.OVER

    @property
    def passed_self_test(self) -> bool:
        """Tell whether motor and sensors were tested and are right."""
        return self._test.done

    @property
    def volts(self) -> float:
        """Return the voltage of the last step."""
        return self._volts

    @property
    def max_abs_alpha(self) -> float:
        """Return the largest pendulum angle so far, in rad."""
        return self._max_alpha

    @property
    def elapsed(self) -> float:
        """Return the seconds spent under the gains that are tried."""
        return self._count * SAMPLE_PERIOD

    def step(self, measurement: Measurement) -> float:
        """Take the state at this sample and return the voltage for the coming one."""
        self.push_due = 0.0
        if self.phase is Phase.OVER:
            return 0.0
        theta, alpha, theta_dot, alpha_dot = measurement
        if not math.isfinite(theta + alpha + theta_dot + alpha_dot):
            return self._end(Outcome.INVALID_STATE, f'state is not finite: {measurement}')
        alpha = wrap(alpha)
        move = {Phase.RUNNING: self._run, Phase.RECOVERING: self._recover}.get(
            self.phase, self._get_upright)
        sensors = self._sensors
        if self.phase is Phase.TESTING:
            return self._ask(Measurement(theta, alpha, theta_dot, alpha_dot))
        if sensors is None or self.phase is Phase.WAITING:  # a hand moves it
            return move(theta, alpha, theta_dot, alpha_dot)
        doubt = sensors.doubt(Measurement(theta, alpha, theta_dot, alpha_dot))
        if doubt:
            return self._end(Outcome.INVALID_STATE, f'the sensors cannot be right: {doubt}')
        volts = move(theta, alpha, theta_dot, alpha_dot)
        sensors.sent(volts)
        return volts

    def change_gains(self, gains: Gains) -> None:
        """Go on with other gains from the next control update."""
        self.gains, self._gain_tuple = gains, gains.as_tuple()

    def abort(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        """
        End from outside; limit_violated says that a measured limit was the reason.

        That is held against the gains only if they were already in charge.
        """
        if self.phase is not Phase.OVER:
            self._end(outcome, reason, limit_violated and self._count > 0)

    def result(self) -> EpisodeResult:
        """Return what is known; before the end this is an interrupted episode."""
        outcome = Outcome.INFRASTRUCTURE if self._outcome is None else self._outcome
        settings, limits = self.settings, self.limits
        missing = self._samples - self._count
        reward = (self._reward_sum + missing * settings.reward.worst) / self._samples
        rows = np.array(self._rows).reshape(-1, 5)
        seen = see(np.array(self._alphas), rows, self._gain_tuple, limits, settings, reward,
                   (self._max_alpha, self._max_theta),
                   missing / self._samples if self._lost(outcome) else None)
        return EpisodeResult(
            gains=self.gains, reward=reward, max_abs_alpha=self._max_alpha,
            max_abs_theta=self._max_theta, max_heading=self._max_heading,
            decay_rate=seen.decay.value if seen.decay else math.nan,
            swing=seen.swing.value if seen.swing else math.nan,
            saturated=saturated(rows, limits.voltage), values=settings.scaling.values(seen),
            noise=settings.scaling.noise(seen), outcome=outcome,
            reason=self._reason or 'the episode has not ended', duration=self.elapsed,
            limit_violated=self._limit_violated, seed=self.seed,
            trace=np.array(self._trace).reshape(-1, 6) if settings.trace else None)

    def _lost(self, outcome: Outcome) -> bool:
        """Tell whether the gains that were tried lost the pendulum."""
        return self._limit_violated or outcome is Outcome.CAUGHT

    def _run(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Score this sample, trip if it violates a limit, else answer u = -K x."""
        if self._count == 0 and not self._is_upright(theta, alpha):
            return self._end(Outcome.START_FAILED, f'starts at alpha {alpha:.3f} rad, theta '
                             f'{theta:.3f} rad, not within {self.settings.start_angle} rad')
        if self._tick == self._samples:
            return self._end(Outcome.COMPLETED, Outcome.COMPLETED.sentence)
        if self._tick % self.settings.control_every == 0:
            k = self._gain_tuple
            volts = -(k[0] * theta + k[1] * alpha + k[2] * theta_dot + k[3] * alpha_dot)
            if not self._command(volts):
                return 0.0
            self._rows.append((theta, alpha, theta_dot, alpha_dot, self._volts))
        self._alphas.append(alpha)
        abs_alpha, abs_theta = abs(alpha), abs(theta)
        self._max_alpha = max(self._max_alpha, abs_alpha)
        self._max_theta = max(self._max_theta, abs_theta)
        self._reward_sum += self._sample_reward(theta, alpha, theta_dot, alpha_dot, self._volts)
        self._count += 1
        self._record(theta, alpha, theta_dot, alpha_dot)
        limits, backup = self.limits, self.settings.backup
        if backup is not None:
            heading = abs(backup.heading(theta, alpha, theta_dot, alpha_dot)) / limits.alpha
            if heading > backup.reach or abs_alpha > limits.alpha or abs_theta > limits.theta:
                return self._take_over(theta, alpha, theta_dot, alpha_dot)
            self._max_heading = max(self._max_heading, heading)
        if abs_alpha > limits.alpha:
            return self._trip('alpha', alpha, limits.alpha, 'rad')
        if abs_theta > limits.theta:
            return self._trip('theta', theta, limits.theta, 'rad')
        if abs(theta_dot) > limits.speed or abs(alpha_dot) > limits.speed:
            name, speed = max(('theta_dot', theta_dot), ('alpha_dot', alpha_dot),
                              key=lambda pair: abs(pair[1]))
            return self._trip(name, speed, limits.speed, 'rad/s')
        if self._tick == self._push_sample and self.settings.push is not None:
            self.push_due = self.settings.push.alpha_dot
        self._tick += 1
        return self._volts

    def _take_over(self, theta: float, alpha: float, theta_dot: float,
                   alpha_dot: float) -> float:
        """Hand the pendulum to the backup; the gains that were tried have lost it."""
        limits = self.limits
        self._limit_violated = abs(alpha) > limits.alpha or abs(theta) > limits.theta
        self._reason = (f'the backup took over at {self._tick * SAMPLE_PERIOD:.3f} s, alpha '
                        f'{alpha:.3f} rad, alpha_dot {alpha_dot:.2f} rad/s, theta {theta:.3f} rad')
        self.phase, self._tick, self._upright = Phase.RECOVERING, 0, 0
        self._trace = self._trace[:-1]  # this sample is recorded with the backup's voltage
        return self._recover(theta, alpha, theta_dot, alpha_dot)

    def _recover(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Catch the pendulum at every sample until it is calm; zero volts if it is lost."""
        settings, limits, backup = self.settings, self.limits, self.settings.backup
        assert backup is not None
        self._max_alpha = max(self._max_alpha, abs(alpha))
        self._max_theta = max(self._max_theta, abs(theta))
        violated = abs(alpha) > limits.alpha or abs(theta) > limits.theta
        self._limit_violated = self._limit_violated or violated
        if (abs(alpha) > LOST * limits.alpha or abs(theta) > LOST_ARM * limits.theta
                or max(abs(theta_dot), abs(alpha_dot)) > limits.speed):
            return self._end(Outcome.TRIPPED, f'{self._reason} and lost it at alpha {alpha:.3f} '
                             f'rad, theta {theta:.3f} rad', limit_violated=True)
        self._upright = self._upright + 1 if self._is_upright(theta, alpha) else 0
        if (self._upright * SAMPLE_PERIOD >= settings.hold_time
                or self._tick * SAMPLE_PERIOD >= settings.recovery_time):
            return self._end(Outcome.CAUGHT, self._reason, self._limit_violated)
        if not self._command(backup.volts(theta, alpha, theta_dot, alpha_dot, limits.alpha)):
            return 0.0
        self._tick += 1
        if settings.trace:
            after = (self._count + self._tick - 2) * SAMPLE_PERIOD
            self._trace.append((after, theta, alpha, theta_dot, alpha_dot, self._volts))
        return self._volts

    def _get_upright(self, theta: float, alpha: float, theta_dot: float,
                     alpha_dot: float) -> float:
        """Wait, swing or catch until the pendulum has been upright for the hold time."""
        settings, limits = self.settings, self.limits
        self._started += 1
        if self._started * SAMPLE_PERIOD > settings.start_timeout:
            return self._end(Outcome.START_FAILED,
                             f'not upright within {settings.start_timeout} s')
        if abs(theta) > settings.swing_up.theta_limit:
            return self._end(Outcome.START_FAILED, f'theta {theta:.3f} rad while getting upright '
                             f'exceeds {settings.swing_up.theta_limit:.3f} rad')
        if abs(theta_dot) > limits.speed or abs(alpha_dot) > limits.speed:
            speed = max(theta_dot, alpha_dot, key=abs)
            return self._end(Outcome.START_FAILED, f'speed {speed:.3f} rad/s while getting '
                             f'upright exceeds {limits.speed:.3f} rad/s')
        self._upright = self._upright + 1 if self._is_upright(theta, alpha) else 0
        if self._upright * SAMPLE_PERIOD >= settings.hold_time:
            self.phase = Phase.RUNNING
            self._tick = 0
            return self._run(theta, alpha, theta_dot, alpha_dot)
        if self.phase is Phase.WAITING:
            return 0.0
        if self.phase is Phase.SWINGING and settings.swing_up.can_catch(alpha, alpha_dot):
            self.phase, self._tick = Phase.CATCHING, 0
        elif self.phase is Phase.CATCHING and abs(alpha) > settings.swing_up.lost_angle:
            self.phase = Phase.SWINGING
        if self.phase is Phase.SWINGING:
            self._command(settings.swing_up.volts(theta, alpha, theta_dot, alpha_dot))
        elif self._tick % settings.control_every == 0:
            k = settings.catch_gains.as_tuple()
            self._command(-(k[0] * theta + k[1] * alpha + k[2] * theta_dot + k[3] * alpha_dot))
        self._tick += 1
        return self._volts

    def _ask(self, measurement: Measurement) -> float:
        """Test motor and sensors; go on with the start once they are right."""
        volts = self._test.step(measurement)
        if self._test.problem:
            return self._end(Outcome.START_FAILED, f'self-test: {self._test.problem}')
        if self._test.done:
            self.phase = self._begin_with
        self._command(volts)
        return self._volts

    def _command(self, volts: float) -> bool:
        """Clamp a voltage; end on one that is no number, which clamping would make the most."""
        if not math.isfinite(volts):
            self._end(Outcome.INVALID_COMMAND, f'commanded voltage is {volts}')
            return False
        self._volts = max(-self.limits.voltage, min(self.limits.voltage, volts))
        return True

    def _is_upright(self, theta: float, alpha: float) -> bool:
        """Tell whether the pendulum may be handed over."""
        angle = self.settings.start_angle
        return abs(alpha) <= angle and abs(theta) <= 3 * angle

    def _record(self, *state: float) -> None:
        """Keep this sample for the plots if asked to."""
        if self.settings.trace:
            self._trace.append((self._tick * SAMPLE_PERIOD, *state, self._volts))

    def _trip(self, name: str, value: float, limit: float, unit: str) -> float:
        """End on a violated limit; the trace shows the zero volts that the motor got."""
        if self._trace:
            self._trace[-1] = (*self._trace[-1][:-1], 0.0)
        return self._end(Outcome.TRIPPED, f'{name} {value:.3f} {unit} exceeds {limit:.3f} {unit} '
                         f'at {self._tick * SAMPLE_PERIOD:.3f} s', limit_violated=True)

    def _end(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> float:
        """Go over to zero volts for good."""
        self.phase = Phase.OVER
        if (limit_violated or outcome is Outcome.CAUGHT) and self._sensors is not None:
            doubt = self._sensors.doubt_of_fall()
            if doubt:
                outcome, limit_violated = Outcome.INVALID_STATE, False
                reason = f'the sensors cannot be right: {doubt}'
        self._outcome, self._reason, self._limit_violated = outcome, reason, limit_violated
        self._volts = 0.0
        return 0.0


def tick(driver: Driver, episode: Episode) -> Measurement:
    """Do one sample: read, decide, push if it is due, write; return what was read."""
    measurement = driver.read()
    decide(driver, episode, measurement)
    return measurement


def decide(driver: Driver, episode: Episode, measurement: Measurement) -> None:
    """Do what follows from a measurement: push if that is due, and write."""
    volts = episode.step(measurement)
    if episode.push_due:
        driver.push(episode.push_due)
    driver.write(volts)


def run_episode(driver: Driver, gains: Gains, limits: Limits | None = None,
                settings: EpisodeSettings | None = None, seed: int = 0) -> EpisodeResult:
    """
    Run one episode as fast as the driver answers, with zero volts at its end.

    If anything raises, the driver is closed: it may not be fit to take another command.
    """
    episode = Episode(gains, limits, settings, seed)
    if isinstance(driver, SimulatedDriver):
        check_delay(driver.plant, episode.settings)
    try:
        driver.reset(np.random.default_rng(seed))
        while not episode.done:
            tick(driver, episode)
    except BaseException:
        driver.close()
        raise
    return episode.result()


def check_delay(plant: Plant, settings: EpisodeSettings) -> None:
    """Refuse a plant on which no command would arrive before the episode ends."""
    if plant.delay >= settings.samples:
        raise ValueError(f'delay of {plant.delay} samples is not shorter than the episode of '
                         f'{settings.samples} samples; shorten it')
