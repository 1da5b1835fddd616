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
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.history import LONGER, SHORTER
from pacsbo_ros.core.kernels import Array, Kernel, SHAPES
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rkhs import reciprocal_covariance_integral
from pacsbo_ros.core.student import Student
from scipy.special import ndtri

ALARM = 0.8  # weight of the shortest or longest length scale that is worth a sentence
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

    def __init__(self, models: dict[float, Student], probes: dict[float, Student]) -> None:
        """Take a model for each factor, and others that are asked for their evidence alone."""
        self.factors, self.models = tuple(models), tuple(models.values())
        self.energies = np.array([energy(m.correlations.C.kernel) for m in self.models])
        self.weights = np.full(len(self.models), 1.0 / len(self.models))
        self.evidence = 0.0  # ln p(y), averaged over the factors
        self._probes = probes

    def update(self, y: Array, r2: Array) -> None:
        """Take all that was measured and weigh the length scales anew."""
        for model in (*self.models, *self._probes.values()):
            model.update(y, r2)
        evidence = np.array([m.scale.evidence for m in self.models])
        weights = np.exp(evidence - evidence.max())
        self.evidence = float(evidence.max()) + math.log(float(weights.mean()))
        self.weights = weights / weights.sum()

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
        """Give ln p(y | length scales halved and doubled) - ln p(y)."""
        known = {**dict(zip(self.factors, self.models, strict=True)), **self._probes}
        return (known[SHORTER].scale.evidence - self.evidence,
                known[LONGER].scale.evidence - self.evidence)

    def quantiles(self, rho: float) -> list[float]:
        """Give the factor q of every length scale; -inf where its weight is spent without it."""
        F = len(self.models)
        shares = rho * (0.5 + 0.5 / (F * np.maximum(self.weights, 1e-300))) if F > 1 else [rho]
        return [m.scale.factor(float(share)) if share < 0.5 else -math.inf
                for m, share in zip(self.models, shares, strict=True)]

    def norm_quantile(self, level: float) -> float:
        """Give a quantile of the posterior of the RKHS norm, of the scale that the data like."""
        i = int(np.argmax(self.weights))
        return self.models[i].scale.quantile(level) / math.sqrt(self.energies[i])

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

    def residual(self, x: Array, y: float, r2: float) -> float:
        """Give what was measured at a point minus its mean, in standard deviations."""
        mu, sigma = self.moments(self.field_at(x[None]))
        return float((y - mu[0]) / math.sqrt(sigma[0] ** 2 + r2))

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
