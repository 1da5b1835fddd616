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

"""What the optimiser says: a proposal, or why there is none, and the state to publish."""

from __future__ import annotations

from dataclasses import dataclass
import math

from pacsbo_ros.core.ledger import Entry

# Codes of NothingToPropose, a sentence each.
SAFE_SET_EMPTY = 'safe_set_empty'  # no point besides the measured ones is known to be safe
NOTHING_UNCERTAIN = 'nothing_uncertain'  # all maximisers and expanders are known well enough
ESTIMATE_GREW = 'estimate_grew'  # of a norm or scale, and nothing but measured points is safe
NOISE_UNKNOWN = 'noise_unknown'  # noise_bound is auto and no point was measured twice

MAXIMISER = 'maximiser'
EXPANDER = 'expander'
REPEAT = 'repeat'  # measured before, and again on purpose


@dataclass(frozen=True)
class Proposal:
    """Name the next experiment and what is expected of it; one entry per output."""

    point: tuple[float, ...]  # unit cube
    domain: str  # 'hull', 'enlarged' or 'box': where the point lies, whose B was used
    role: str  # 'maximiser', 'expander' or 'repeat'
    means: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    B: tuple[float, ...]


@dataclass(frozen=True)
class NothingToPropose:
    """Say in words why there is no next experiment."""

    code: str
    reason: str


@dataclass(frozen=True)
class NormEstimate:
    """Return B of one output on one domain and what it rests on."""

    output: int
    domain: str
    B: float
    rule: str  # its name in the settings
    decided_by: str  # 'bound', 'predictor' or 'outer domain' (its B was smaller)
    mean_norm: float  # ‖μ_A‖, the under-estimate from the data
    reciprocal: float  # r = 1/∫σ² over the domain
    predictor: float | None  # η(history), None without a predictor
    centre: float  # the mean or quantile that the bound starts from
    low: float  # range of the drawn norms, or of the library's ratio times ‖μ_A‖
    high: float
    draws: int  # q, random functions used
    delta: float  # failure probability on which this estimate rests
    shown: float = 0.0  # the part of B that the samples prove, which no band needs

    @property
    def hidden(self) -> float:
        """Return sqrt(B² - shown²), the norm that the samples leave open: β = hidden + noise."""
        return math.sqrt(max(self.B ** 2 - self.shown ** 2, 0.0))


@dataclass(frozen=True)
class State:
    """Summarise the optimiser for publishing."""

    samples: int
    safe_share: dict[str, float]  # share of the candidates of each domain known to be safe
    domain_share: dict[str, float]  # share of the box that each domain covers
    norms: tuple[NormEstimate, ...]
    delta: float  # what may be spent in the whole run
    spent: float  # and what is, after these samples
    entries: tuple[Entry, ...]  # by whom, on what, when
    length_scale_weights: tuple[tuple[float, ...], ...]  # of the factors, one row per output
    notices: tuple[str, ...]  # sentences for the user, on noise and model


@dataclass(frozen=True)
class Best:
    """Name the best point that was measured and is known to be safe."""

    point: tuple[float, ...]  # unit cube
    count: int  # how often it was measured
    values: tuple[float, ...]  # the mean of that
    means: tuple[float, ...]  # what the model expects
    lower: tuple[float, ...]
    upper: tuple[float, ...]
