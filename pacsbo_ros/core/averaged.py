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
One output, known by a posterior for each length scale and averaged over them.

  symbol    meaning                                                            shape
  f         factors of the length scales                                       (F,)
  p         their prior, min(f, 1)²: who tells a length scale tells no guess   (F,)
            that is four times too long, and what is too short costs regret only
  w         their weights, p(f | data) ∝ p(f)·p(y | f)                         (F,)
  q, z      quantile factor and normal quantile of every f that is kept, at    (K, 2)
            its small and at its large share of the risk (1 if K = 1), see `scale`

P(h(x) < c) = Σ w_f P_f(h(x) < c), and that is at most ρ if every P_f is at most ρ_f with
Σ w_f ρ_f <= ρ. A factor with w_f <= ρ/(2F) may be wrong altogether: its weight is paid for, and it
is kept neither in the band nor on the candidates. Of what is left each of the K that are kept gets
the part SHARED/K, and one of them, at every x the one whose band reaches lowest there, gets all
the rest: which one is known before h(x) is, so the bound holds.
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
from pacsbo_ros.core.scale import Prior, Scale, SQUARES, UNKNOWN
from pacsbo_ros.core.student import MISFIT, posteriors_of_scale, Student
from scipy.special import ndtr, ndtri

SHARED = 0.4  # part of the risk for length scales whether or not they matter at a point
ALARM = 0.8  # weight of the shortest or longest length scale that is worth a sentence
SMALL, FEW = 0.1, 5  # share of the expected size, and points that show it, worth a sentence
Data = tuple[Array, Array]  # means of all distinct points and their variances
Field = tuple[Array, Array, Array]  # mean, signal error/s², noise variance of the mean


@lru_cache
def energy(kernel: Kernel) -> float:
    """Return ∫ k(0, u)² du / k(0, 0): the variance of random functions of expected norm one."""
    from scipy.integrate import quad
    n, shape = kernel.dimension, SHAPES[kernel.name]
    sphere = 2 * math.pi ** (n / 2) / math.gamma(n / 2)
    radial = quad(lambda r: float(shape(np.array(r))) ** 2 * r ** (n - 1), 0, 40, limit=200)[0]
    return kernel.output_scale * sphere * radial * math.prod(kernel.length_scales)


class Averaged:
    """Keep the posteriors of one output and their weights."""

    def __init__(self, bank: Bank, factors: Sequence[float], prior: Prior,
                 by: float = 1.0) -> None:
        self.bank, self.told, self.prior, self.by = bank, tuple(factors), prior, by
        self.factors = tuple(by * f for f in factors)
        self.models = tuple(Student(bank.at(f)) for f in self.factors)
        self.p = np.minimum(factors, 1.0) ** 2
        self.p /= self.p.sum()
        self.weights = self.p
        self.main = self.models[0]  # the posterior of the length scale that the data like best
        self.kept: list[tuple[float, Student]] = []  # weights, adding up to one, and models
        self.q = np.empty((0, 2))
        self.z = np.empty((0, 2))
        self.evidence = 0.0  # ln p(y), averaged over the factors

    def update(self, y: Array, r2: Array, rho: float) -> None:
        """Take all that was measured, weigh the length scales anew, find the quantile factors."""
        scales = posteriors_of_scale([m.correlations for m in self.models], y, r2, self.prior)
        self.evidence, self.weights = self._weighed(scales)
        few = self.weights <= 0.5 * rho / len(scales)
        alive = np.flatnonzero(~few)
        for model, scale, out in zip(self.models, scales, few.tolist(), strict=True):
            model.update(y, r2, scale, not out)
        w = self.weights[alive]
        self.kept = [(each, self.models[i]) for each, i in zip(w / w.sum(), alive, strict=True)]
        small = SHARED / len(w)
        parts = np.array([small, 1.0 - small * (len(w) - 1)] if len(w) > 1 else [1.0])
        shares = np.minimum((rho - self.weights[few].sum()) * parts / w[:, None], 0.5)
        self.q = np.array([[scales[i].factor(share) if share < 0.5 else 0.0 for share in row]
                           for i, row in zip(alive, shares.tolist(), strict=True)])
        self.z = -ndtri(shares)
        self.main = self.models[int(np.argmax(self.weights))]

    def _weighed(self, scales: Sequence[Scale]) -> tuple[float, Array]:
        """Return ln p(y) and the weights of the factors."""
        logs = np.log(self.p) + np.array([scale.evidence for scale in scales])
        weights = np.exp(logs - logs.max())
        total = float(weights.sum())
        return float(logs.max()) + math.log(total), weights / total

    def stretched(self, by: float) -> Averaged:
        """Return the same output with other length scales, before any update."""
        return Averaged(self.bank, self.told, self.prior, by * self.by)

    def evidence_of(self, data: Data, by: float = 1.0,
                    points: Sequence[tuple[Array, int]] | None = None) -> float:
        """Return ln p(y) with length scales multiplied by a number, or points of any epochs."""
        models = [self.bank.probe(by * f) if points is None else self.bank.made(by * f, points)
                  for f in self.factors]
        return self._weighed(posteriors_of_scale(models, *data, self.prior))[0]

    @property
    def scale(self) -> float:
        """Return ŝ, averaged."""
        return math.sqrt(sum(w * m.scale.square for w, m in self.kept))

    def rivals(self) -> tuple[float, float]:
        """Return ln p(y | told length scales halved and doubled) - ln p(y)."""
        short, long = posteriors_of_scale([self.bank.probe(f) for f in RIVALS], self.main.y,
                                          self.main.r2, self.prior)
        return short.evidence - self.evidence, long.evidence - self.evidence

    def norm_quantiles(self, levels: Sequence[float]) -> Array:
        """Return quantiles of the posterior of the RKHS norm, of the scale that the data like."""
        unit = math.sqrt(energy(self.main.correlations.C.kernel))
        return self.main.scale.quantiles(levels) / unit

    def field(self) -> list[Field]:
        """Return what every model that is kept says of the candidates."""
        return [model.field() for _, model in self.kept]

    def field_at(self, X: Array) -> list[Field]:
        """Return the same at any points."""
        return [model.field_at(X) for _, model in self.kept]

    def moments(self, fields: Sequence[Field]) -> tuple[Array, Array]:
        """Return mean and standard deviation, averaged."""
        if len(fields) == 1:
            mu, u, n = fields[0]
            return mu, np.sqrt(self.main.scale.square * u + n)
        mu = np.asarray(sum(w * f[0] for (w, _), f in zip(self.kept, fields, strict=True)))
        square = np.zeros(len(mu))
        for (w, model), (mean, u, n) in zip(self.kept, fields, strict=True):
            square += w * (model.scale.square * u + n + (mean - mu) ** 2)
        return mu, np.sqrt(square)

    def envelope(self, fields: Sequence[Field], m: float) -> tuple[Array, Array]:
        """Return the lower and the upper end of the band; m multiplies the quantile factors."""
        low, up = np.empty((2, self.q.shape[1], len(fields), len(fields[0][0])))
        for i, ((_, model), (mean, u, n)) in enumerate(zip(self.kept, fields, strict=True)):
            for j, (q, z) in enumerate(zip(self.q[i], self.z[i], strict=True)):
                reach = np.sqrt((m * q) ** 2 * model.scale.square * u + z ** 2 * n)
                low[j, i], up[j, i] = mean - reach, mean + reach
        return _lowest(*low), -_lowest(*-up)

    def surprise(self, x: Array, y: float, r2: float) -> tuple[float, float]:
        """
        Judge a value at a point that the models do not know yet.

        Give its two-sided p-value and its distance from the mean in standard deviations.
        """
        below, kept = 0.0, []
        alive = {id(model) for _, model in self.kept}
        for w, model in zip(self.weights, self.models, strict=True):
            mean, u, n = field = model.field_at(x[None])
            spread = np.sqrt(model.scale.square * SQUARES * (u[0] + MISFIT) + n[0] + r2)
            below += float(w * (model.scale.p @ ndtr((y - mean[0]) / spread)))
            if id(model) in alive:
                kept.append(field)
        mu, sigma = self.moments(kept)
        return (max(2.0 * min(below, 1.0 - below), 0.0),
                float((y - mu[0]) / math.sqrt(sigma[0] ** 2 + r2)))

    def leaves_grid(self, name: str) -> Iterator[str]:
        """Say that the data ask for a length scale beyond the grid."""
        weights = dict(zip(self.factors, self.weights, strict=True))
        for end, word in ((min(weights), 'shorter'), (max(weights), 'longer')):
            if len(weights) > 1 and weights[end] > ALARM and end != 1.0:
                yield (f'{name} asks for length_scales {word} than the grid: the factor {end:g} '
                       f'has the weight {weights[end]:.2f}; give a guess that is {word}')

    def dwarfed(self, name: str) -> Iterator[str]:
        """Say that the values are far smaller than was expected of them."""
        if self.prior.size > 0 and len(self.main.y) >= FEW:
            alone = posteriors_of_scale([self.main.correlations], self.main.y, self.main.r2,
                                        UNKNOWN)[0]
            size = math.sqrt(alone.square)
            if size < SMALL * self.prior.size:
                yield (f'{name} is of size {size:.2g} where scale_prior expects '
                       f'{self.prior.size:g}, so less is called safe than could be; set '
                       f'scale_prior to {2 * size:.2g}, or scale the values')

    def norms(self, output: int, domains: Domains, share: float) -> Iterator[NormEstimate]:
        """Return the posterior of the RKHS norm on every domain: B is its 1 - share quantile."""
        r = reciprocal_covariance_integral(self.main.var, domains.inside).tolist()
        low, centre, B = self.norm_quantiles((0.05, 0.5, 1 - share)).tolist()
        for j, d in enumerate(domains.names):
            yield NormEstimate(output, d, B, 'student', 'bound', low, r[j], None, centre, low, B,
                               0, share)


def _lowest(small: Array, large: Array | None = None) -> Array:
    """Return the lowest of ends with small shares, (K, G), the lowest with its large one."""
    if large is None:
        return small[0]
    at = np.argmin(small, axis=0)[None]
    low = np.take_along_axis(large, at, axis=0)[0]
    np.put_along_axis(small, at, np.inf, axis=0)
    return np.minimum(low, small.min(axis=0))
