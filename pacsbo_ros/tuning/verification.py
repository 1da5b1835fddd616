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
The end of a run: the best values tried again, and beside them the best of the starts.

The best of many readings is a lucky one, so the readings of the search say nothing about how much
was gained. Those of the verification do: they were not chosen by their value, and best and start
take turns, so that a robot that warms up or drifts changes both alike.

    gain = mean of the best - mean of the start,   gain ± t(dof)·s·sqrt(1/n_best + 1/n_start)

where s² is the pooled variance of all values that were tried more than once in the run, and dof
its degrees of freedom. If the whole interval is below zero the start is the best, and is verified.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from pacsbo_ros.tuning.trial import COMPARISON, Told, VERIFICATION

LEVEL = 0.95


@dataclass(frozen=True)
class Gain:
    """Say what the best values give, what the best start gives, and how surely."""

    best: float  # mean reward of the verification, in the robot's unit
    start: float | None  # the same of the best start; None if the best values are a start
    half_width: float | None  # of the interval of the gain; None if nothing was repeated

    @property
    def size(self) -> float | None:
        """Return what was gained."""
        return None if self.start is None else self.best - self.start

    @property
    def is_loss(self) -> bool:
        """Tell whether the start surely gives more."""
        return (self.size is not None and self.half_width is not None
                and self.size < -self.half_width)

    def words(self, unit: str = '') -> str:
        """Say it in one line."""
        if self.start is None:
            return f'{self.best:.4f} {unit}'.rstrip()
        doubt = '' if self.half_width is None else f' ± {self.half_width:.4f}'
        return (f'{self.best:.4f}, the best start beside it {self.start:.4f}: '
                f'{self.best - self.start:+.4f}{doubt} {unit}').rstrip()


def gain(told: Sequence[Told], values: tuple[float, ...]) -> Gain | None:
    """Return what the verification of these values showed; None before there was one."""
    best = [t.measured.reward for t in told
            if t.trial.role == VERIFICATION and t.trial.values == values]
    if not best:
        return None
    beside = [t for t in told if t.trial.role == COMPARISON and t.trial.values != values]
    if not beside:
        return Gain(float(np.mean(best)), None, None)
    start = [t.measured.reward for t in beside if t.trial.values == beside[-1].trial.values]
    spread, dof = scatter(told)
    half = None
    if dof:
        from scipy.stats import t as student  # takes a while to load, and only the end needs it
        half = float(student.ppf(0.5 + 0.5 * LEVEL, dof)
                     * spread * math.sqrt(1 / len(best) + 1 / len(start)))
    return Gain(float(np.mean(best)), float(np.mean(start)), half)


def scatter(told: Sequence[Told]) -> tuple[float, int]:
    """Return the pooled standard deviation of the reward of repeated values, and its dof."""
    readings: dict[tuple[float, ...], list[float]] = defaultdict(list)
    for t in told:
        readings[t.trial.values].append(t.measured.reward)
    repeated = [np.array(r) for r in readings.values() if len(r) > 1]
    dof = sum(len(r) - 1 for r in repeated)
    if not dof:
        return 0.0, 0
    return math.sqrt(sum(float(np.sum((r - r.mean()) ** 2)) for r in repeated) / dof), dof
