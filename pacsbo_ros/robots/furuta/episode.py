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
One experiment: state feedback with given gains, watched sample by sample.

An Episode is a pure step machine. Whoever owns time calls step() every SAMPLE_PERIOD with the
measured state and gets the voltage for the coming sample. It ends by itself, on a violated limit,
or on abort(); from then on it answers exactly zero volts.
"""
from __future__ import annotations

import math

import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.judging import EpisodeResult, saturated, see
from pacsbo_ros.robots.furuta.phases import GettingUpright, Phase, Recovery, Upright
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.plausibility import Plausibility
from pacsbo_ros.robots.furuta.scaling import wrap


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
        self._start = GettingUpright(self.limits, self.settings)
        self._recovery: Recovery | None = None
        self.phase = self._start.phase
        self.push_due = 0.0  # rad/s to give the pendulum before the voltage of the last step
        self._samples = self.settings.samples
        self._push_sample = self.settings.push_sample
        self._count = 0  # samples under the gains, which are those that are scored
        self._reward_sum = 0.0
        self._max_alpha = 0.0
        self._max_theta = 0.0
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
        return self._start.test.done

    @property
    def volts(self) -> float:
        """Return the voltage of the last step."""
        return self._volts

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
        # While it waits a hand moves it; while it tests it judges the sensors itself.
        if sensors is None or self.phase in (Phase.WAITING, Phase.TESTING):
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
                   missing / self._samples
                   if self._limit_violated or outcome is Outcome.CAUGHT else None)
        return EpisodeResult(
            gains=self.gains, reward=reward, max_abs_alpha=self._max_alpha,
            max_abs_theta=self._max_theta,
            decay_rate=seen.decay.value if seen.decay else math.nan,
            swing=seen.swing.value if seen.swing else math.nan,
            saturated=saturated(rows, limits.voltage), values=settings.scaling.values(seen),
            noise=settings.scaling.noise(seen), outcome=outcome,
            reason=self._reason or 'the episode has not ended', duration=self.elapsed,
            limit_violated=self._limit_violated, seed=self.seed,
            trace=np.array(self._trace).reshape(-1, 6) if settings.trace else None)

    def _run(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Score this sample, trip if it violates a limit, else answer u = -K x."""
        if self._count == 0 and not Upright(self.settings).holds(theta, alpha):
            return self._end(Outcome.START_FAILED, f'starts at alpha {alpha:.3f} rad, theta '
                             f'{theta:.3f} rad, not within {self.settings.start_angle} rad')
        if self._count == self._samples:
            return self._end(Outcome.COMPLETED, Outcome.COMPLETED.sentence)
        if self._count % self.settings.control_every == 0:
            if not self._command(self._answer(theta, alpha, theta_dot, alpha_dot)):
                return 0.0
            self._rows.append((theta, alpha, theta_dot, alpha_dot, self._volts))
        self._alphas.append(alpha)
        abs_alpha, abs_theta = abs(alpha), abs(theta)
        self._max_alpha = max(self._max_alpha, abs_alpha)
        self._max_theta = max(self._max_theta, abs_theta)
        self._reward_sum += self.settings.reward.sample(theta, alpha, theta_dot, alpha_dot,
                                                        self._volts)
        self._record(self._count, theta, alpha, theta_dot, alpha_dot)
        self._count += 1
        limits, backup = self.limits, self.settings.backup
        if backup is not None:
            heading = backup.heading(theta, alpha, theta_dot, alpha_dot)
            answer = self._answer(theta, alpha, theta_dot, alpha_dot)
            answer = max(-limits.voltage, min(limits.voltage, answer))
            if (abs_alpha > limits.alpha or abs_theta > limits.theta
                    or backup.takes_over(heading, answer, limits.alpha)):
                return self._take_over(theta, alpha, theta_dot, alpha_dot)
        if abs_alpha > limits.alpha:
            return self._trip('alpha', alpha, limits.alpha, 'rad')
        if abs_theta > limits.theta:
            return self._trip('theta', theta, limits.theta, 'rad')
        if abs(theta_dot) > limits.speed or abs(alpha_dot) > limits.speed:
            name, speed = max(('theta_dot', theta_dot), ('alpha_dot', alpha_dot),
                              key=lambda pair: abs(pair[1]))
            return self._trip(name, speed, limits.speed, 'rad/s')
        if self._count - 1 == self._push_sample and self.settings.push is not None:
            self.push_due = self.settings.push.alpha_dot
        return self._volts

    def _answer(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Return u = -K x of the gains that are tried, not yet clamped."""
        k = self._gain_tuple
        return -(k[0] * theta + k[1] * alpha + k[2] * theta_dot + k[3] * alpha_dot)

    def _take_over(self, theta: float, alpha: float, theta_dot: float,
                   alpha_dot: float) -> float:
        """Hand the pendulum to the backup; the gains that were tried have lost it."""
        assert self.settings.backup is not None
        self._reason = (f'the backup took over at {self._now:.3f} s, alpha {alpha:.3f} rad, '
                        f'alpha_dot {alpha_dot:.2f} rad/s, theta {theta:.3f} rad')
        self.phase = Phase.RECOVERING
        self._recovery = Recovery(self.settings.backup, self.limits, self.settings)
        self._trace = self._trace[:-1]  # this sample is recorded with the backup's voltage
        return self._recover(theta, alpha, theta_dot, alpha_dot)

    def _recover(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Let the backup catch the pendulum; zero volts when it is calm or lost."""
        limits, recovery = self.limits, self._recovery
        assert recovery is not None
        self._max_alpha = max(self._max_alpha, abs(alpha))
        self._max_theta = max(self._max_theta, abs(theta))
        self._limit_violated |= abs(alpha) > limits.alpha or abs(theta) > limits.theta
        volts = recovery.step(theta, alpha, theta_dot, alpha_dot)
        if recovery.lost:
            return self._end(Outcome.TRIPPED, f'{self._reason} and lost it at alpha {alpha:.3f} '
                             f'rad, theta {theta:.3f} rad', limit_violated=True)
        if recovery.calm:
            return self._end(Outcome.CAUGHT, self._reason, self._limit_violated)
        if not self._command(volts):
            return 0.0
        self._record(self._count + recovery.samples - 2, theta, alpha, theta_dot, alpha_dot)
        return self._volts

    def _get_upright(self, theta: float, alpha: float, theta_dot: float,
                     alpha_dot: float) -> float:
        """Let the start bring the pendulum up; try the gains as soon as it is."""
        volts = self._start.step(theta, alpha, theta_dot, alpha_dot)
        if self._start.problem:
            return self._end(Outcome.START_FAILED, self._start.problem)
        self.phase = self._start.phase
        if self.phase is Phase.RUNNING:
            return self._run(theta, alpha, theta_dot, alpha_dot)
        self._command(volts)
        return self._volts

    def _command(self, volts: float) -> bool:
        """Clamp a voltage; end on one that is no number, which clamping would make the most."""
        if not math.isfinite(volts):
            self._end(Outcome.INVALID_COMMAND, f'commanded voltage is {volts}')
            return False
        self._volts = max(-self.limits.voltage, min(self.limits.voltage, volts))
        return True

    @property
    def _now(self) -> float:
        """Return the time of the sample that was scored last."""
        return (self._count - 1) * SAMPLE_PERIOD

    def _record(self, sample: int, *state: float) -> None:
        """Keep this sample for the plots if asked to."""
        if self.settings.trace:
            self._trace.append((sample * SAMPLE_PERIOD, *state, self._volts))

    def _trip(self, name: str, value: float, limit: float, unit: str) -> float:
        """End on a violated limit; the trace shows the zero volts that the motor got."""
        if self._trace:
            self._trace[-1] = (*self._trace[-1][:-1], 0.0)
        return self._end(Outcome.TRIPPED, f'{name} {value:.3f} {unit} exceeds {limit:.3f} {unit} '
                         f'at {self._now:.3f} s', limit_violated=True)

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
