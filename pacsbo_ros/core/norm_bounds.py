# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Over-estimates of the RKHS norm behind one interface: the bounds that need a scale.

  symbol    meaning                                                      shape
  T         tail centres N-hat - N of a random interpolant               scalar
  a_bar     bound of the tail coefficients                               scalar
  v         ‖k(x,·) - its interpolant on A‖², x in the domain            (P,)
  norms     drawn norms ‖ρ‖ of random functions that interpolate         (q,)
  P scale   a_bar·sqrt(T/3): the prior norm that (a_bar, N-hat) encode   scalar

Write a bound of your own as a subclass of NormBound and name it in `rules`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc

from pacsbo_ros.core.confidence import DeltaSplit, spent_on_test
from pacsbo_ros.core.gp import GaussianProcess, Posterior, Row
from pacsbo_ros.core.kernels import Array, Kernel
from pacsbo_ros.core.rkhs import Interpolants
from pacsbo_ros.core.settings import Settings

POOL = 256  # candidates of a domain that serve as tail centres


@dataclass(frozen=True)
class Evidence:
    """Hold what a bound may look at: one kernel's outputs at one iteration."""

    gp: GaussianProcess
    posterior: Posterior
    masks: dict[str, np.ndarray]  # candidates of each domain
    order: np.ndarray  # fixed shuffle of the candidates
    eta: dict[str, list[float | None]]  # the predictor's word per domain and output
    seed: int


@dataclass(frozen=True)
class Bound:
    """Give B and what it rests on; the fields are those of NormEstimate."""

    B: float
    centre: float
    low: float
    high: float
    draws: int
    delta: float
    shown: float = 0.0


class NormBound(ABC):
    """Over-estimate the norm of every output on every domain."""

    def __init__(self, settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> None:
        self.settings, self.split = settings, split

    def observe(self, row: Row) -> None:  # noqa: B027, most bounds keep nothing
        """Take over the row of a new sample."""

    def forget(self, where: slice) -> None:  # noqa: B027
        """Drop what is known about candidates that were drawn again."""

    @abstractmethod
    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Give the bounds per domain, one entry per output."""


class Shown(NormBound):
    """Add nothing to ‖μ_A‖, which the data show: the predictor alone decides."""

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Give the norm of the mean on every domain."""
        norms = evidence.gp.mean_norms().tolist()
        return {domain: [Bound(x, x, x, x, 0, 0.0) for x in norms] for domain in evidence.masks}


class InterpolantBound(NormBound):
    """Share what the bounds on random interpolants have in common."""

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Bound each domain by itself, with tail centres from that domain."""
        found: dict[str, list[Bound]] = {}
        for d, (domain, mask) in enumerate(evidence.masks.items()):
            inside = evidence.order[mask[evidence.order]][:POOL]
            pool = evidence.posterior.X[inside] if len(inside) else evidence.gp.A
            model = Interpolants(
                evidence.gp, pool, max(self.settings.centres - evidence.gp.count, 1),
                self.settings.coefficient_bound)
            rng = np.random.default_rng([evidence.seed, 4, evidence.gp.count, d])
            found[domain] = [
                self.bound(model, output, eta, rng)
                for output, eta in enumerate(evidence.eta[domain])]
        return found

    @abstractmethod
    def bound(self, model: Interpolants, output: int, eta: float | None,
              rng: np.random.Generator) -> Bound:
        """Bound one output on one domain."""


class Mean(InterpolantBound):
    """Give sqrt(E‖ρ‖²) >= E‖ρ‖: Theorem 1's premise with certainty (Jensen), without draws."""

    def bound(self, model: Interpolants, output: int, eta: float | None,
              rng: np.random.Generator) -> Bound:
        """Take the root of the closed-form mean square."""
        B = float(np.sqrt(model.mean_square(output)))
        return Bound(B, B, *model.support(output), 0, 0.0)


class Cantelli(InterpolantBound):
    """Bound the (1 - κ)-quantile of ‖ρ‖ by mean and variance of ‖ρ‖²: no draws."""

    def bound(self, model: Interpolants, output: int, eta: float | None,
              rng: np.random.Generator) -> Bound:
        """Add sqrt(1/κ - 1) standard deviations to the mean square; the support caps it."""
        kappa = self.split.norm_per_domain
        mean = model.mean_square(output)
        low, high = model.support(output)
        square = mean + np.sqrt((1 / kappa - 1) * model.variance_of_square(output))
        return Bound(min(float(np.sqrt(square)), high), float(np.sqrt(mean)), low, high, 0, kappa)


class Scenario(InterpolantBound):
    """Take the order statistic of drawn norms that exceeds their (1 - κ)-quantile."""

    def bound(self, model: Interpolants, output: int, eta: float | None,
              rng: np.random.Generator) -> Bound:
        """Spend half of the share on the quantile and half on its estimation."""
        kappa = self.split.norm_per_domain
        least = int(np.ceil(np.log(2 / kappa) / -np.log1p(-kappa / 2)))
        q = max(self.settings.draws_high, least)
        norms = np.sort(model.draw(output, q, rng))
        # P(order statistic k < quantile) = P(Binomial(q, 1 - κ/2) >= k) <= κ/2.
        k = int(np.argmax(bdtrc(np.arange(q), q, 1 - kappa / 2) <= kappa / 2)) + 1
        B = float(norms[min(k, q) - 1])
        return Bound(B, B, *model.support(output), q, kappa)


class Hoeffding(InterpolantBound):
    """Run Algorithm 3: draws until B exceeds the mean plus its deviation, else B grows."""

    def __init__(self, settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> None:
        super().__init__(settings, split, kernel, seed)
        self.tests = 0

    def bound(self, model: Interpolants, output: int, eta: float | None,
              rng: np.random.Generator) -> Bound:
        """Start from the predictor; without one, the threshold at q_high itself is B."""
        s = self.settings
        low, high = model.support(output)
        if eta is None or not eta > 0:
            norms = model.draw(output, s.draws_high, rng)
            B, delta = self.threshold(norms, high - low)
            return Bound(B, float(norms.mean()), low, high, len(norms), delta)
        B, threshold = eta, np.inf
        while True:
            norms = np.empty(0)
            while len(norms) + s.draws_low <= s.draws_high:
                norms = np.concatenate([norms, model.draw(output, s.draws_low, rng)])
                threshold, delta = self.threshold(norms, high - low)
                if threshold <= B:
                    return Bound(B, float(norms.mean()), low, high, len(norms), delta)
            # Rounds that the last threshold rules out would only spend delta.
            B *= s.safety_factor ** max(1, np.ceil(np.log(threshold / B) / np.log(
                s.safety_factor)))

    def threshold(self, norms: Array, width: float) -> tuple[float, float]:
        """Give what B must reach at this test, and the share of delta spent on it."""
        self.tests += 1
        delta = spent_on_test(self.split.norm_per_domain, self.tests)
        return float(norms.mean()) + self.deviation(norms, width, delta), delta

    def deviation(self, norms: Array, width: float, delta: float) -> float:
        """Give Hoeffding's w = range·sqrt(ln(2/δ)/(2q))."""
        return float(width * np.sqrt(np.log(2 / delta) / (2 * len(norms))))


class Bernstein(Hoeffding):
    """Run Algorithm 3 with the empirical Bernstein deviation of Maurer and Pontil."""

    def deviation(self, norms: Array, width: float, delta: float) -> float:
        """Give sqrt(2 var ln(2/δ)/q) + 7 range ln(2/δ)/(3(q - 1))."""
        q, log = len(norms), np.log(2 / delta)
        return float(np.sqrt(2 * norms.var(ddof=1) * log / q) + 7 * width * log / (3 * (q - 1)))
