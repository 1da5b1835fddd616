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

"""The state-feedback gains K of u = -K x, and which of them are tuned."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
import math

GAIN_NAMES = ('k_theta', 'k_alpha', 'k_theta_dot', 'k_alpha_dot')
TUNED_BY_DEFAULT = ('k_theta', 'k_alpha')


@dataclass(frozen=True)
class Gains:
    """Hold all four gains, in the order of the state (theta, alpha, theta_dot, alpha_dot)."""

    k_theta: float  # V/rad, negative for a stable loop
    k_alpha: float  # V/rad
    k_theta_dot: float = -1.5040040945983464  # V s/rad
    k_alpha_dot: float = 3.0344775662414483  # V s/rad

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not math.isfinite(value):
                raise ValueError(f'gain {name} is {value}; give a finite number')

    @classmethod
    def from_sequence(cls, values: Sequence[float]) -> Gains:
        """Make gains from four numbers in state order."""
        if len(values) != len(GAIN_NAMES):
            raise ValueError(f'{len(values)} gains given; need {len(GAIN_NAMES)}: {GAIN_NAMES}')
        return cls(*(float(value) for value in values))

    def as_tuple(self) -> tuple[float, float, float, float]:
        """Return the gains in state order."""
        return astuple(self)

    def tuned(self, names: Sequence[str] = TUNED_BY_DEFAULT) -> tuple[float, ...]:
        """Return the gains of the given names, in that order."""
        check_names(names)
        return tuple(getattr(self, name) for name in names)

    def with_tuned(self, values: Sequence[float],
                   names: Sequence[str] = TUNED_BY_DEFAULT) -> Gains:
        """Return these gains with the named ones replaced by values."""
        check_names(names)
        if len(values) != len(names):
            raise ValueError(f'{len(values)} values for the {len(names)} tuned gains {names}')
        return replace(self, **{n: float(v) for n, v in zip(names, values, strict=True)})


def check_names(names: Sequence[str]) -> None:
    """Refuse a list of tuned gains that is empty, repeats a name or has an unknown one."""
    unknown = [name for name in names if name not in GAIN_NAMES]
    if unknown or not names or len(set(names)) != len(names):
        raise ValueError(f'tuned gains {tuple(names)}: name each of {GAIN_NAMES} at most once')


# The first safe start of the authors' hardware experiments, and the demonstration gains that
# Quanser ships. Both keep the calibrated plant upright.
PAPER_GAINS = Gains(-2.571, 23.01)
STOCK_GAINS = Gains(-2.0, 35.0, -1.5, 3.0)
