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

"""One experiment of a tuning run: what is to be tried, and what it gave."""
from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

from pacsbo_ros.robots.contract import EpisodeResult, Outcome

START = 'start'  # role of a trial with the given safe values
VERIFICATION = 'verification'  # role of the trials that confirm the best values
COMPARISON = 'comparison'  # role of the best start, tried again beside them


@dataclass(frozen=True)
class Trial:
    """Name the values to try next and what the model expects of them."""

    iteration: int  # from 1
    values: tuple[float, ...]  # of what is tuned, physical units
    point: tuple[float, ...]  # the same in the unit cube
    seed: int  # of the robot's random start
    role: str  # start, repeat, maximiser, expander, verification or comparison
    domain: str  # start, hull, enlarged, box or verification
    mean: tuple[float, ...] = ()  # scaled outputs: reward, then constraints; empty if unknown
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()

    @property
    def searches(self) -> bool:
        """Tell whether it belongs to the search, and not to what comes after it."""
        return self.role not in (VERIFICATION, COMPARISON)


@dataclass(frozen=True)
class Measured:
    """Report what an episode gave that the optimiser may learn from."""

    reward: float  # in the robot's unit
    scaled_reward: float  # as the optimiser sees it
    margins: tuple[float, ...]  # scaled, one per constraint; >= 0 is safe
    noise: tuple[float, ...]  # standard deviations of the outputs; empty: unknown
    peaks: tuple[float, ...]  # largest |signal|, in the order of the robot's signals
    outcome: int  # code of Outcome
    reason: str

    @classmethod
    def of(cls, result: EpisodeResult) -> Measured:
        """Return what a robot's episode gave."""
        return cls(result.reward, result.scaled_reward, result.margins, result.noise,
                   result.peaks, int(result.outcome), result.reason)

    @property
    def outputs(self) -> tuple[float, ...]:
        """Return what the optimiser is told: the scaled reward, then the margins."""
        return (self.scaled_reward, *self.margins)

    @property
    def margin(self) -> float:
        """Return the tightest margin."""
        return min(self.margins)

    @property
    def safe(self) -> bool:
        """Tell whether every constraint was kept."""
        return all(value >= 0 for value in self.margins)


@dataclass(frozen=True)
class Told:
    """Pair a trial with what it gave."""

    trial: Trial
    measured: Measured

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Told:
        """Read what asdict() gave and JSON kept; ValueError if it is no episode."""
        try:
            told = cls(Trial(**_tuples(record['trial'])), Measured(**_tuples(record['measured'])))
            if told.is_sound:
                return told
        except (KeyError, TypeError, AttributeError, OverflowError):
            pass
        raise ValueError('it is not an episode')

    @property
    def is_sound(self) -> bool:
        """Tell whether there are numbers and words where they belong."""
        trial, measured = self.trial, self.measured
        tuples = (trial.values, trial.point, trial.mean, trial.lower, trial.upper,
                  measured.margins, measured.noise, measured.peaks)
        numbers = (measured.reward, measured.scaled_reward,
                   *(number for group in tuples for number in group))
        return (all(isinstance(group, tuple) for group in tuples)
                and all(type(n) in (int, float) and math.isfinite(n) for n in numbers)
                and all(type(n) is int for n in (trial.iteration, trial.seed, measured.outcome))
                and len(trial.values) == len(trial.point) and len(measured.margins) > 0
                and len(measured.noise) in (0, len(measured.outputs))
                and measured.outcome in tuple(Outcome)
                and all(isinstance(s, str) for s in (trial.role, trial.domain, measured.reason)))


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists that JSON knows into tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
