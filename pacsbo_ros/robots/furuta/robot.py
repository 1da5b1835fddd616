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

"""The pendulum as a robot: gains in, reward and margins out, driven tick by tick."""
from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.contract import (
    Description,
    EpisodeResult,
    Outcome,
    Refusal,
    RewardScale,
    Sample,
    Signal,
    Tunable,
)
from pacsbo_ros.robots.furuta.backup import Experience
from pacsbo_ros.robots.furuta.driver import Driver, DriverError
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import GAIN_NAMES, Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.phases import Phase
from pacsbo_ros.robots.furuta.plant import Measurement, NO_STATE, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.running import decide
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS, wrap

SIMULATED = ('simulated', 'mujoco')  # plants whose time is ours: by our equations, by MuJoCo
PLANTS = (*SIMULATED, 'topics', 'qube')
NODE = 'furuta_controller'  # whose parameters the gains are
GAIN_RANGES = {'k_theta': (-10.0, 0.0), 'k_alpha': (0.0, 100.0),
               'k_theta_dot': (-5.0, 0.0), 'k_alpha_dot': (0.0, 10.0)}
# An episode's trace in the order of the signals: the pendulum's angle comes first.
TRACE_ORDER = [0, 2, 1, 4, 3, 5]
LONGEST_DRIVE = 3600.0  # s of manual driving


def unit(gain: str) -> str:
    """Return the unit of a gain."""
    return 'V s/rad' if gain.endswith('_dot') else 'V/rad'


def describe(gains: Gains, limits: Limits, settings: EpisodeSettings,
             plant: str) -> Description:
    """Return what the pendulum is, with these gains where a goal sets none."""
    return Description(
        name='furuta',
        tunables=tuple(Tunable(name, unit(name), *GAIN_RANGES[name], getattr(gains, name), NODE)
                       for name in GAIN_NAMES),
        signals=(Signal('alpha', 'rad', limits.alpha), Signal('theta', 'rad', limits.theta),
                 Signal('alpha_dot', 'rad/s', limits.speed),
                 Signal('theta_dot', 'rad/s', limits.speed)),
        commands=(Signal('voltage', 'V', limits.voltage),),
        constraints=CONSTRAINTS,
        reward=RewardScale(settings.scaling.reward_offset, settings.scaling.reward_scale),
        plant=plant)


class Furuta:
    """Run episodes on a driver."""

    period = SAMPLE_PERIOD

    def __init__(self, driver: Driver, gains: Gains = PAPER_GAINS, limits: Limits | None = None,
                 settings: EpisodeSettings | None = None, plant: str = 'simulated',
                 backup: bool = True) -> None:
        """Take a driver that has zero volts on; `gains` are those that a goal may leave out."""
        self._driver = driver
        self._limits = limits or Limits()
        self._settings = settings or EpisodeSettings()
        self._episode: Episode | None = None
        self._experience = Experience(self._settings.backup) if backup else None
        self._tested = False  # motor and sensors were found to be right
        self._description = describe(gains, self._limits, self._settings, plant)
        self.waits = plant in SIMULATED
        self.consent: Callable[[], tuple[Outcome, str, bool] | None] = lambda: None
        self.measurement: Measurement = NO_STATE  # the newest one

    @property
    def description(self) -> Description:
        """Return what the pendulum is."""
        return self._description

    def begin(self, values: Mapping[str, float], seed: int, duration: float = 0.0) -> None:
        """Start an episode with these gains."""
        try:
            settings = replace(
                self._settings, trace=True, duration=duration or self._settings.duration,
                backup=self._experience.backup if self._experience else None)
        except ValueError as error:
            raise Refusal(error) from error
        self._start(values, seed, settings)

    def drive(self, values: Mapping[str, float]) -> None:
        """Keep the pendulum up with these gains, unscored, until stop()."""
        self._start(values, 0, replace(self._settings, duration=LONGEST_DRIVE, push=None))

    def change(self, values: Mapping[str, float]) -> None:
        """Go on with other gains from the next control update, if something runs."""
        if self._episode is not None:
            self._episode.change_gains(self._gains(values))

    def _gains(self, values: Mapping[str, float]) -> Gains:
        return Gains(**self._description.complete(values))

    def _start(self, values: Mapping[str, float], seed: int, settings: EpisodeSettings) -> None:
        if self._episode is not None and not self._episode.done:
            raise Refusal('busy with another episode')
        if self._tested:
            settings = replace(settings, self_test=False)
        episode = Episode(self._gains(values), self._limits, settings, seed)
        self._driver.reset(np.random.default_rng(seed))
        self._episode = episode

    def tick(self) -> Sample:
        """Read, decide, write."""
        if self._episode is None:
            raise Refusal('no episode runs')
        episode = self._episode
        if not episode.done:
            self.measurement = self._driver.read()
            objection = self.consent()  # reading may have taken longer than consent lasts
            if objection is not None:
                self.stop(*objection)
            else:
                decide(self._driver, episode, self.measurement)
            self._tested |= episode.passed_self_test
        return self._sample(episode)

    def idle(self) -> Sample:
        """Measure at zero volts, which are sent again and again: one may be lost."""
        try:
            if not self.waits:
                self._driver.write(0.0)
            self.measurement = self._driver.read()
        except (DriverError, OSError):
            self.measurement = NO_STATE
            raise
        return self._sample(None)

    def _sample(self, episode: Episode | None) -> Sample:
        theta, alpha, theta_dot, alpha_dot = self.measurement
        signals = (wrap(alpha) if math.isfinite(alpha) else alpha, theta, alpha_dot, theta_dot)
        if episode is None:
            return Sample(0.0, signals, (0.0,))
        return Sample(episode.elapsed, signals, (episode.volts,), episode.done,
                      episode.phase not in (Phase.RUNNING, Phase.RECOVERING, Phase.OVER),
                      self._driver.age)

    def stop(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        """Set zero volts; what the episode had shown so far is its result."""
        if self._episode is not None:
            self._episode.abort(outcome, reason, limit_violated)
        self._driver.write(0.0)

    def result(self) -> EpisodeResult:
        """Return what the last episode showed."""
        if self._episode is None:
            raise Refusal('there was no episode')
        r = self._episode.result()
        unknown = r.outcome is Outcome.INVALID_STATE
        self._tested &= not unknown
        if r.outcome is Outcome.COMPLETED and self._experience is not None:
            self._experience.learn(r.gains, r.values[1:])
        moved = r.trace if r.trace is not None and len(r.trace) else np.zeros((1, 6))
        theta_dot, alpha_dot = np.abs(moved[:, 3:5]).max(axis=0).tolist()
        return EpisodeResult(
            outcome=r.outcome, reason=r.reason, is_datum=r.is_datum, reward=r.reward,
            scaled_reward=r.values[0], margins=tuple(r.values[1:]), noise=tuple(r.noise),
            peaks=(r.max_abs_alpha, r.max_abs_theta, alpha_dot, theta_dot),
            duration=r.duration,
            trace=None if r.trace is None else r.trace[:, TRACE_ORDER],
            wants_person=unknown)

    def close(self) -> None:
        """Leave with zero volts."""
        with contextlib.suppress(DriverError, OSError, ValueError):
            self._driver.write(0.0)
        self._driver.close()
