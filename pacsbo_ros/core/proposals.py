# Copyright the pacsbo_ros developers. Apache-2.0.
"""What the optimiser says: a proposal, or why there is none, and the state to publish."""

from __future__ import annotations

from dataclasses import dataclass
import math

# Codes of NothingToPropose, a sentence each.
SAFE_SET_EMPTY = 'safe_set_empty'  # no candidate besides the starts is known to be safe
NOTHING_UNCERTAIN = 'nothing_uncertain'  # all maximisers and expanders are known well enough
NORM_GREW = 'norm_grew'  # the norm estimate grew and the safe set shrank to the starts

MAXIMISER = 'maximiser'
EXPANDER = 'expander'


@dataclass(frozen=True)
class Proposal:
    """Name the next experiment and what is expected of it; one entry per output."""

    point: tuple[float, ...]  # unit cube
    domain: str  # 'hull', 'enlarged' or 'box': where the point lies, whose B was used
    role: str  # 'maximiser' or 'expander'
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
    """Give B of one output on one domain and what it rests on."""

    output: int
    domain: str
    B: float
    rule: str  # the norm bound, or 'given'
    decided_by: str  # 'bound', 'predictor', 'outer domain' (its B was smaller) or 'given'
    mean_norm: float  # ‖μ_A‖, the under-estimate from the data
    reciprocal: float  # r = 1/∫σ² over the domain
    predictor: float | None  # η(history), None without a predictor
    centre: float  # the mean or quantile that the bound starts from
    low: float  # range of the drawn norms, or of the library's ratio times ‖μ_A‖
    high: float
    draws: int  # q, random functions used
    delta: float  # failure probability spent on this estimate
    shown: float = 0.0  # the part of B that the samples prove, which no band needs

    @property
    def hidden(self) -> float:
        """Give sqrt(B² - shown²), the norm that the samples leave open: β = hidden + noise."""
        return math.sqrt(max(self.B ** 2 - self.shown ** 2, 0.0))


@dataclass(frozen=True)
class State:
    """Summarise the optimiser for publishing."""

    samples: int
    safe_share: dict[str, float]  # share of the candidates of each domain known to be safe
    domain_share: dict[str, float]  # share of the box that each domain covers
    beta: dict[str, tuple[float, ...]]  # per domain, one entry per output
    norms: tuple[NormEstimate, ...]


@dataclass(frozen=True)
class Best:
    """Name the best point that was evaluated and found safe."""

    index: int  # number of the sample
    point: tuple[float, ...]  # unit cube
    values: tuple[float, ...]  # as measured
