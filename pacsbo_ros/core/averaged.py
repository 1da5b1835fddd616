# Copyright the pacsbo_ros developers. Apache-2.0.
"""
One output, known by a posterior for each length scale and averaged over them.

  symbol    meaning                                                            shape
  f         factors of the length scales                                       (F,)
  w         their weights, p(f | data) ∝ p(y | f)                              (F,)
  q         quantile factor of every f, see `scale`                            (F,)

P(h(x) < c) = Σ w_f P_f(h(x) < c), and that is at most ρ if every P_f is at most ρ_f with
Σ w_f ρ_f = ρ: the band is the envelope of the bands of the factors, ρ_f = ρ·(1/2 + 1/(2F w_f)), so
that what the data rule out does not widen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
import math

import numpy as np
from pacsbo_ros.core.correlations import Bank
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.history import RIVALS
from pacsbo_ros.core.kernels import Array, Kernel, SHAPES
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rkhs import reciprocal_covariance_integral
from pacsbo_ros.core.scale import LOG_S, Prior
from pacsbo_ros.core.student import MISFIT, posterior_of_scale, Student
from scipy.special import ndtr, ndtri

ALARM = 0.8  # weight of the shortest or longest length scale that is worth a sentence
Data = tuple[Array, Array]  # means of all distinct points and their variances
Field = tuple[Array, Array, Array]  # mean, signal error/s², noise variance of the mean


@lru_cache
def energy(kernel: Kernel) -> float:
    """Give ∫ k(0, u)² du / k(0, 0): the variance of random functions of expected norm one."""
    from scipy.integrate import quad
    n, shape = kernel.dimension, SHAPES[kernel.name]
    sphere = 2 * math.pi ** (n / 2) / math.gamma(n / 2)
    radial = quad(lambda r: float(shape(np.array(r))) ** 2 * r ** (n - 1), 0, 40, limit=200)[0]
    return kernel.output_scale * sphere * radial * math.prod(kernel.length_scales)


class Averaged:
    """Keep the posteriors of one output and their weights."""

    def __init__(self, bank: Bank, factors: Sequence[float], prior: Prior) -> None:
        self.bank, self.factors, self.prior = bank, tuple(factors), prior
        self.models = tuple(Student(bank.at(f), prior) for f in factors)
        self.weights = np.full(len(self.models), 1.0 / len(self.models))
        self.evidence = 0.0  # ln p(y), averaged over the factors

    def update(self, y: Array, r2: Array) -> None:
        """Take all that was measured and weigh the length scales anew."""
        for model in self.models:
            model.update(y, r2)
        evidence = np.array([m.scale.evidence for m in self.models])
        weights = np.exp(evidence - evidence.max())
        self.evidence = _mean(evidence)
        self.weights = weights / weights.sum()

    def stretched(self, by: float) -> Averaged:
        """Give the same output with other length scales, before any update."""
        return Averaged(self.bank, [by * f for f in self.factors], self.prior)

    def evidence_of(self, data: Data, by: float = 1.0,
                    points: Sequence[tuple[Array, int]] | None = None) -> float:
        """Give ln p(y) with length scales multiplied by a number, or with points of any epochs."""
        found = [posterior_of_scale(
            self.bank.probe(by * f) if points is None else self.bank.made(by * f, points),
            *data, self.prior).evidence for f in self.factors]
        return _mean(np.array(found))

    @property
    def main(self) -> Student:
        """Give the posterior of the length scale that the data like best."""
        return self.models[int(np.argmax(self.weights))]

    @property
    def scale(self) -> float:
        """Give ŝ, averaged."""
        return math.sqrt(sum(w * m.scale.square
                             for w, m in zip(self.weights, self.models, strict=True)))

    def rivals(self) -> tuple[float, float]:
        """Give ln p(y | told length scales halved and doubled) - ln p(y)."""
        y, r2 = self.main.y, self.main.r2
        short, long = (posterior_of_scale(self.bank.probe(f), y, r2, self.prior).evidence
                       for f in RIVALS)
        return short - self.evidence, long - self.evidence

    def quantiles(self, rho: float) -> list[float]:
        """Give the factor q of every length scale; -inf where its weight is spent without it."""
        F = len(self.models)
        shares = rho * (0.5 + 0.5 / (F * np.maximum(self.weights, 1e-300))) if F > 1 else [rho]
        return [m.scale.factor(float(share)) if share < 0.5 else -math.inf
                for m, share in zip(self.models, shares, strict=True)]

    def norm_quantile(self, level: float) -> float:
        """Give a quantile of the posterior of the RKHS norm, of the scale that the data like."""
        model = self.main
        return model.scale.quantile(level) / math.sqrt(energy(model.correlations.C.kernel))

    def field(self) -> list[Field]:
        """Give what every model says of the candidates."""
        return [m.field() for m in self.models]

    def field_at(self, X: Array) -> list[Field]:
        """Give the same at any points."""
        return [m.field_at(X) for m in self.models]

    def moments(self, fields: Sequence[Field]) -> tuple[Array, Array]:
        """Give mean and standard deviation, averaged."""
        mu = np.asarray(sum(w * f[0] for w, f in zip(self.weights, fields, strict=True)))
        square = np.zeros(len(mu))
        for w, model, (mean, u, n) in zip(self.weights, self.models, fields, strict=True):
            square += w * (model.scale.square * u + n)
            if len(fields) > 1:
                square += w * (mean - mu) ** 2
        return mu, np.sqrt(square)

    def envelope(self, fields: Sequence[Field], q: Sequence[float],
                 rho: float) -> tuple[Array, Array]:
        """Give the lower and the upper end of the band."""
        z2 = float(ndtri(rho)) ** 2
        low, up = np.full(len(fields[0][0]), np.inf), np.full(len(fields[0][0]), -np.inf)
        for t, model, (mean, u, n) in zip(q, self.models, fields, strict=True):
            if math.isfinite(t):
                reach = np.sqrt(t * t * model.scale.square * u + z2 * n)
                np.minimum(low, mean - reach, out=low)
                np.maximum(up, mean + reach, out=up)
        return low, up

    def surprise(self, x: Array, y: float, r2: float) -> tuple[float, float]:
        """
        Judge a value at a point that the models do not know yet.

        Give its two-sided p-value and its distance from the mean in standard deviations.
        """
        fields, below = self.field_at(x[None]), 0.0
        for w, model, (mean, u, n) in zip(self.weights, self.models, fields, strict=True):
            s2 = model.scale.square * np.exp(2.0 * LOG_S)
            spread = np.sqrt(s2 * (u[0] + MISFIT) + n[0] + r2)
            below += float(w * (model.scale.p @ ndtr((y - mean[0]) / spread)))
        mu, sigma = self.moments(fields)
        return (max(2.0 * min(below, 1.0 - below), 0.0),
                float((y - mu[0]) / math.sqrt(sigma[0] ** 2 + r2)))

    def leaves_grid(self, name: str) -> Iterator[str]:
        """Say that the data ask for a length scale beyond the grid."""
        weights = dict(zip(self.factors, self.weights, strict=True))
        for end, word in ((min(weights), 'shorter'), (max(weights), 'longer')):
            if len(weights) > 1 and weights[end] > ALARM and end != 1.0:
                yield (f'{name} asks for length_scales {word} than the grid: the factor {end:g} '
                       f'has the weight {weights[end]:.2f}; give a guess that is {word}')

    def norms(self, output: int, domains: Domains, share: float) -> Iterator[NormEstimate]:
        """Give the posterior of the RKHS norm on every domain: B is its 1 - share quantile."""
        r = reciprocal_covariance_integral(self.main.var, domains.inside).tolist()
        low, centre, B = (self.norm_quantile(q) for q in (0.05, 0.5, 1 - share))
        for j, d in enumerate(domains.names):
            yield NormEstimate(output, d, B, 'student', 'bound', low, r[j], None, centre, low, B,
                               0, share)


def _mean(logs: Array) -> float:
    """Give ln of the mean of exp."""
    top = float(logs.max())
    return top + math.log(float(np.mean(np.exp(logs - top))))
