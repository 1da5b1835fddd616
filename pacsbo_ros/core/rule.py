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
The interface of a rule: samples in, bands out, and a line in the books of delta.

A rule decides what is known of the outputs at every point; a choice (`choice`) decides which point
is measured next; the optimiser does the rest. Rules and choices are free to be combined.

To write one: a file in `rules/` with its formula, its assumption in one sentence and what it
spends; `@rule('name')` enters it under the name that `Settings.rule` gives; import it in
`rules/__init__`. Rules that bound a norm derive from `NormRule` and give one method. A rule that
has bands of its own (a posterior, say) derives from `Rule` and gives the methods below.

  symbol   meaning                                                      shape
  X        candidates, laid out before the first band                   (G, n)
  x, z     indices of candidates                                        (p,), (r,)
  D        domains, innermost first
  m        outputs: the reward, then the constraints

In which order a rule is called: `add` with every sample; once there are enough, `start` with the
candidates; from then on after every `add`: `replace` if some candidates were drawn again, then
`renew`. All else are questions, asked at any time, and may change nothing. A rule follows from
(settings, seed, samples) alone: the same samples give the same bands, so nothing of it is saved.
A predictor is of one of two kinds: `NormPredictor` guesses a norm, for the rules that bound one;
`history.Multiplier` widens or narrows the band of `student`.
If a method raises, the rule is thrown away and made again from the samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.history import Multiplier
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.ledger import Ledger
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.settings import Settings


class NormPredictor(Protocol):
    """The paper's η: guess a norm from the history of one output on one domain."""

    def __call__(self, history: Array, settings: Settings, domain: str) -> float:
        """
        Return the estimated RKHS norm, a finite number; it is called again after every sample.

        history: shape (H, 2), rows (‖μ_A‖, r) with r = 1/∫σ² over the domain, one per sample from
        the last start on, oldest first, at most `settings.window` rows and at least one; not
        padded. settings: those of the run. domain: 'hull', 'enlarged' or 'box'. No state may be
        kept: the same history must give the same answer, or a record would not continue
        identically.
        """


Predictor = NormPredictor | Multiplier


@dataclass(frozen=True)
class Setup:
    """Hold what a rule is made from."""

    settings: Settings
    seed: int
    ledger: Ledger  # enter a spending here before relying on it
    predictor: Predictor | None = None


@dataclass(frozen=True)
class Term:
    """Name one part of beta, and what makes it smaller."""

    name: str
    size: float
    remedy: str


class Rule(ABC):
    """Know every output at every point as well as the samples allow."""

    assumption: ClassVar[str] = ''  # what must be true of the function, in one sentence
    spends: ClassVar[str] = ''  # the line of the ledger, in one sentence
    believes: ClassVar[bool] = False  # is sigma a standard deviation in output units

    def __init__(self, setup: Setup) -> None:
        self.settings, self.seed, self.ledger = setup.settings, setup.seed, setup.ledger

    @abstractmethod
    def add(self, samples: Samples) -> None:
        """Take over the newest sample, the last of `samples`."""

    @abstractmethod
    def start(self, X: Array, order: np.ndarray, samples: Samples) -> None:
        """Begin to keep bands on the candidates; `order` shuffles them, for sub-sampling."""

    @abstractmethod
    def replace(self, where: slice, X: Array) -> None:
        """Put other points (X has their coordinates) into a part of the candidate set."""

    @abstractmethod
    def renew(self, samples: Samples, domains: Callable[[], Domains]) -> Band:
        """
        Return the band on the candidates; enter what it spends. Called once per sample.

        domains: sorts the candidates when it is called; a rule that needs none saves the time.
        """

    @abstractmethod
    def band_at(self, X: Array, where: np.ndarray) -> Band:
        """Return the same band at any points, whose innermost domains are `where`."""

    @abstractmethod
    def covariance(self, group: int, x: np.ndarray, z: np.ndarray) -> Array:
        """Return the posterior covariance of candidates, in units of sigma², shape (x, z)."""

    @abstractmethod
    def nugget(self, group: int) -> float:
        """Return the noise variance of one more sample in the same units (λ)."""

    @property
    @abstractmethod
    def groups(self) -> tuple[int, ...]:
        """Return the group of every output; outputs of one group share covariance and nugget."""

    @property
    def norms(self) -> tuple[NormEstimate, ...]:
        """Return B of every output (slow index) on every domain (fast index), to show."""
        return ()

    def grew(self) -> str:
        """Say which estimate grew with the last sample, so that less is safe; '' if none."""
        return ''

    @property
    def starts_hold(self) -> bool:
        """Tell whether starts that were safe are safe still: the machine has not changed."""
        return True

    def terms(self, output: int, domain: int) -> tuple[Term, ...]:
        """Return the parts of beta of an output on a domain, to explain too wide a band."""
        return ()

    def notices(self) -> tuple[str, ...]:
        """Say in sentences what the user should know about the model."""
        return ()

    def length_scale_weights(self) -> tuple[tuple[float, ...], ...]:
        """Return the posterior of `length_scale_factors`, one row per output; none if fixed."""
        return ()


RuleMaker = Callable[[Setup], Rule]
RULES: dict[str, RuleMaker] = {}
R = TypeVar('R', bound=type[Rule])


def rule(name: str) -> Callable[[R], R]:
    """Enter a rule under a name of the settings."""
    def enter(made: R) -> R:
        RULES[name] = made
        return made
    return enter
