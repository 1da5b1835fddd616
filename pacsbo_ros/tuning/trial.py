# Copyright the pacsbo_ros developers. Apache-2.0.
"""One experiment of a tuning run: what is to be tried, and what it gave."""
from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

from pacsbo_ros.furuta.outcome import Outcome

START = 'start'  # role of a trial with the given safe gains
VERIFICATION = 'verification'  # role of the trial that confirms the best gains


@dataclass(frozen=True)
class Trial:
    """Name the gains to try next and what the model expects of them."""

    iteration: int  # from 1
    gains: tuple[float, ...]  # physical units
    point: tuple[float, ...]  # the same in the unit cube
    seed: int  # of the plant's random start
    role: str  # start, maximiser, expander or verification
    domain: str  # start, hull, enlarged, box or verification
    mean: tuple[float, ...] = ()  # scaled values: reward, then constraints; empty if unknown
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()


@dataclass(frozen=True)
class Measured:
    """Report what an episode gave that the optimiser may learn from."""

    reward: float  # in [0, 1]
    max_alpha: float  # rad
    max_theta: float  # rad
    values: tuple[float, ...]  # scaled: reward, then constraints (>= 0 safe)
    outcome: int  # code of furuta.Outcome
    reason: str

    @property
    def safe(self) -> bool:
        """Tell whether every constraint was kept."""
        return all(value >= 0 for value in self.values[1:])


@dataclass(frozen=True)
class Told:
    """Pair a trial with what it gave."""

    trial: Trial
    measured: Measured

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Told:
        """Read what asdict() gave and JSON kept; ValueError if it is no episode."""
        try:
            trial, measured = ({k: tuple(v) if isinstance(v, list) else v
                                for k, v in record[key].items()} for key in ('trial', 'measured'))
            told = cls(Trial(**trial), Measured(**measured))
            if told.is_sound:
                return told
        except (KeyError, TypeError, AttributeError, OverflowError):
            pass
        raise ValueError('it is not an episode')

    @property
    def is_sound(self) -> bool:
        """Tell whether there are numbers and words where they belong."""
        trial, measured = self.trial, self.measured
        tuples = (trial.gains, trial.point, trial.mean, trial.lower, trial.upper, measured.values)
        numbers = (measured.reward, measured.max_alpha, measured.max_theta,
                   *(number for group in tuples for number in group))
        return (all(isinstance(group, tuple) for group in tuples)
                and all(type(n) in (int, float) and math.isfinite(n) for n in numbers)
                and all(type(n) is int for n in (trial.iteration, trial.seed, measured.outcome))
                and len(trial.gains) == len(trial.point) and measured.outcome in tuple(Outcome)
                and all(isinstance(s, str) for s in (trial.role, trial.domain, measured.reason)))
