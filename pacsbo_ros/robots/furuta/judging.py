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
What one episode shows of its gains, each number with the noise that the episode itself shows.

Repeats of an episode differ because the push meets another state each time: the start is random,
friction holds the arm anywhere, encoders are coarse. How much the pendulum moves in the half
second before the push is therefore the noise of its peaks. The reward has two such parts: what the
time before the push cost, and what came after it, which grows and shrinks with the peak. docs/
furuta.md compares all with the spread of repeats.

Symbol     Shape        Meaning
alpha      (T,)         pendulum angle at every sample
rows       (T / c, 5)   measured state and voltage at every control update, c samples apart
"""
from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.plant import SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.scaling import Seen
from pacsbo_ros.robots.stability import decay_rate, Estimate, swing_left

Array = NDArray[np.float64]

BEFORE_PUSH = 0.5  # s that tell what the push met
TO_FORGET = 3.0  # s after a push below which it may still be remembered
AT_REST = 1.0  # s at the end in which it should be forgotten
# Below this share of its limit friction and encoders move the pendulum, not the gains.
LEAST_MOTION = 0.1
# Noise of the reward, as a share of what the time before the push cost, and of what came after it
# times the noise of the peak: as repeats on eight plants spread, see docs/furuta.md.
START_COST = 1 / 3
AFTER_PUSH = 2.0
TRACE_COLUMNS = ('time', 'theta', 'alpha', 'theta_dot', 'alpha_dot', 'volts')


@dataclass(frozen=True)
class EpisodeResult:
    """Report what an episode showed."""

    gains: Gains
    reward: float  # as in the paper, samples that were cut off count as the worst
    max_abs_alpha: float  # rad, measured, under the gains that were tried and the backup
    max_abs_theta: float  # rad, measured, under the gains that were tried and the backup
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


def see(alpha: Array, rows: Array, gains: tuple[float, ...], limits: Limits,
        settings: EpisodeSettings, reward: float, peaks: tuple[float, float],
        cut_off: float | None) -> Seen:
    """Return what an episode showed; peaks are max|alpha| and max|theta|."""
    every, push = settings.control_every, settings.push_sample
    quiet = rows[:math.ceil((settings.samples if push < 0 else push) / every)]
    met = quiet[-max(1, round(BEFORE_PUSH / SAMPLE_PERIOD / every)):]
    met_theta, met_alpha = (np.sqrt(np.square(met[:, :2]).mean(0)).tolist() if len(met)
                            else (0.0, 0.0))
    early = settings.reward.samples(*quiet.T)
    cost = (settings.reward.best - early.mean()) * len(early) * every / settings.samples \
        if len(early) else 0.0
    decay = None
    if peaks[0] >= LEAST_MOTION * limits.alpha and cut_off is None:
        decay = decay_rate(rows[:, :4], rows[:, 4:], gains, every * SAMPLE_PERIOD,
                           None if push < 0 else push // every)
    swing = rest = None
    if push >= 0 and cut_off is None:
        if len(alpha) - push >= round(TO_FORGET / SAMPLE_PERIOD):
            rest = float(np.abs(alpha[-round(AT_REST / SAMPLE_PERIOD):]).max()) / limits.alpha
        swing = swing_left(alpha, push, round(settings.first_swing / SAMPLE_PERIOD),
                           round(BEFORE_PUSH / SAMPLE_PERIOD))
    after = max(0.0, settings.reward.best - reward - cost) * met_alpha / max(peaks[0], 1e-9)
    spread = math.hypot(START_COST * cost, AFTER_PUSH * after)
    return Seen(Estimate(reward, spread),
                Estimate(peaks[0] / limits.alpha, met_alpha / limits.alpha),
                Estimate(peaks[1] / limits.theta, met_theta / limits.theta), decay, swing,
                rest, cut_off)


def saturated(rows: Array, limit: float) -> float:
    """Return the share of control updates with the largest voltage."""
    return float((np.abs(rows[:, 4]) >= limit).mean()) if len(rows) else 0.0
