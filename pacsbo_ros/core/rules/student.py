# Copyright the pacsbo_ros developers. Apache-2.0.
"""
A posterior in place of a norm: the Student-t band of `core.student`, for every output.

    low(x) = μ(x) - sqrt(q(ρ)²·ŝ²·u(x) + z(ρ)²·n(x))

It spends a part of delta on every experiment: left/T with T the experiments of `budget` that are
still to come, at least TAIL, so that a run may go on beyond its budget for ever and the sum stays
below delta. Of what is spent, ρ = NOMINAL·left/T is used: measured on the worlds of
`studies.worlds`, runs are unsafe about as often as delta says where the functions are of the
assumed kind but starts were chosen by their values. Several outputs that can be unsafe share ρ.

The length scale is averaged over `length_scale_factors`. Each factor f has a posterior of its own
and the weight w_f = p(f | data) ∝ p(y | f). P(h(x) < c) = Σ w_f P_f(h(x) < c), and that is at most
ρ if every P_f is at most ρ_f with Σ w_f ρ_f = ρ: the band is the envelope of the bands of the
factors, ρ_f = ρ·(1/2 + 1/(2F w_f)), so that what the data rule out does not widen it.
"""

from __future__ import annotations

from functools import lru_cache
import math

import numpy as np
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.convolution import Convolution
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.kernels import Array, Kernel, SHAPES
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rkhs import reciprocal_covariance_integral
from pacsbo_ros.core.rule import Rule, rule, Setup, Term
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.student import Correlations, Student
from scipy.special import ndtri

TAIL = 10  # experiments among which what is left is shared when the budget runs out
NOMINAL = 0.03  # share of what is spent that the posterior may use: measured, see docs
ALARM = 0.8  # weight of the shortest or longest length scale that is worth a sentence


@lru_cache
def energy(kernel: Kernel) -> float:
    """Give ∫ k(0, u)² du / k(0, 0): the variance of random functions of expected norm one."""
    from scipy.integrate import quad
    n, shape = kernel.dimension, SHAPES[kernel.name]
    sphere = 2 * math.pi ** (n / 2) / math.gamma(n / 2)
    radial = quad(lambda r: float(shape(np.array(r))) ** 2 * r ** (n - 1), 0, 40, limit=200)[0]
    return kernel.output_scale * sphere * radial * math.prod(kernel.length_scales)


class Output:
    """Know one output: a posterior for each length scale, and their weights."""

    def __init__(self, kernel: Kernel, correlations: list[Correlations], prior: float) -> None:
        self.models = [Student(c, prior) for c in correlations]
        self.energies = np.array([energy(c.C.kernel) for c in correlations])
        self.weights = np.full(len(correlations), 1.0 / len(correlations))

    def update(self, y: Array, r2: Array) -> None:
        """Take all that was measured and weigh the length scales anew."""
        for model in self.models:
            model.update(y, r2)
        evidence = np.array([m.scale.evidence for m in self.models])
        weights = np.exp(evidence - evidence.max())
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


@rule('student')
class StudentRule(Rule):
    """Ask the posterior of random functions of unknown scale."""

    assumption = 'each output looks like a random function of its kernel, whatever its norm'
    spends = 'delta over the experiments of the budget, each at most its share'
    believes = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        s = self.settings
        kernels = s.kernels()
        self._correlations = {k: [Correlations(Convolution(k.stretched(f)))
                                  for f in s.length_scale_factors] for k in kernels}
        self.outputs = [Output(k, self._correlations[k], s.scale_prior) for k in kernels]
        self._judged = max(sum(math.isfinite(t) for t in s.thresholds), 1)
        self._points: dict[tuple[float, ...], int] = {}
        self._norms: tuple[NormEstimate, ...] = ()
        self._rho = 0.5

    def add(self, samples: Samples) -> None:
        """Take over the newest sample; a repeat is no new point."""
        point = tuple(samples.A[-1].tolist())
        if point not in self._points:
            self._points[point] = len(self._points)
            for each in self._correlations.values():
                for c in each:
                    c.add(samples.A[-1])

    def start(self, X: Array, order: np.ndarray, samples: Samples) -> None:
        """Begin to keep posteriors on the candidates."""
        for each in self._correlations.values():
            for c in each:
                c.watch(X, self.settings.max_samples)

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidate set."""
        for each in self._correlations.values():
            for c in each:
                c.replace(where, X)
        for output in self.outputs:
            for model in output.models:
                if model.mu.size:
                    model.replaced(where)

    def renew(self, samples: Samples, domains: Domains) -> Band:
        """Spend the share of the next experiment and give the band."""
        for i, output in enumerate(self.outputs):
            output.update(*self._pooled(samples, i))
        s = self.settings
        share = self.ledger.left / max(s.budget - samples.count, TAIL)
        self.ledger.spend('student', 'one experiment', samples.count, share)
        self._rho = NOMINAL * share / self._judged
        self._prior = np.array([o.scale for o in self.outputs])
        self._t = [o.quantiles(self._rho) for o in self.outputs]
        self._norms = self._estimates(domains)
        self._B = np.array([e.B for e in self._norms]).reshape(s.outputs, -1)
        fields = [[m.field() for m in o.models] for o in self.outputs]
        return self._band(fields, domains.where)

    def band_at(self, X: Array, where: np.ndarray) -> Band:
        """Give the band at any points."""
        return self._band([[m.field_at(X) for m in o.models] for o in self.outputs], where)

    def covariance(self, group: int, x: np.ndarray, z: np.ndarray) -> Array:
        """Give the posterior covariance of candidates."""
        return self.outputs[group].main.covariance(x, z)

    def nugget(self, group: int) -> float:
        """Give the noise variance of the last sample, and the misfit."""
        model = self.outputs[group].main
        return float(model.lam[-1] * model.scale.square)

    @property
    def groups(self) -> tuple[int, ...]:
        """Give every output a group of its own: each has its scale."""
        return tuple(range(len(self.outputs)))

    @property
    def norms(self) -> tuple[NormEstimate, ...]:
        """Give the quantile of the norm's posterior of every output as B; no band needs it."""
        return self._norms

    def terms(self, output: int, domain: int) -> tuple[Term, ...]:
        """Give the normal quantile and what the unknown scale adds to it."""
        t, known = max(self._t[output]), -float(ndtri(self._rho))
        return (Term('function', known, 'longer length_scales if they hold'),
                Term('unknown scale', max(t - known, 0.0),
                     'more starts apart from each other, a scale_prior'))

    def notices(self) -> tuple[str, ...]:
        """Say which output's data leave the grid of length scales."""
        said = []
        for name, output in zip(self.settings.names, self.outputs, strict=True):
            weights = dict(zip(self.settings.length_scale_factors, output.weights, strict=True))
            for end, word in ((min(weights), 'shorter'), (max(weights), 'longer')):
                if len(weights) > 1 and weights[end] > ALARM and end != 1.0:
                    said.append(f'{name} asks for length_scales {word} than the grid: the factor '
                                f'{end:g} has the weight {weights[end]:.2f}; give a guess that is '
                                f'{word}')
        return tuple(said)

    def length_scale_weights(self) -> tuple[tuple[float, ...], ...]:
        """Give the posterior of the length scale factors, one row per output."""
        return tuple(tuple(o.weights.tolist()) for o in self.outputs)

    def _pooled(self, samples: Samples, i: int) -> tuple[Array, Array]:
        """Give mean and variance of what was measured at every distinct point."""
        R = samples.R
        assert R is not None
        told = samples.T[:, i]
        bound = float(R[i]) if not np.all(told > 0) else 0.0
        r2 = np.where(told > 0, told, bound) ** 2
        if len(self._points) == samples.count:
            return samples.Y[:, i].copy(), r2
        at = np.array([self._points[tuple(x)] for x in samples.A.tolist()])
        weight = 1.0 / np.maximum(r2, 1e-300)
        total = np.bincount(at, weight)
        return np.bincount(at, weight * samples.Y[:, i]) / total, 1.0 / total

    def _band(self, fields: list[list[tuple[Array, Array, Array]]], where: np.ndarray) -> Band:
        m, G = len(self.outputs), len(where)
        mu, sigma, low, up = (np.empty((m, G)) for _ in range(4))
        z2 = float(ndtri(self._rho)) ** 2
        for i, (output, models) in enumerate(zip(self.outputs, fields, strict=True)):
            mu[i] = sum(w * f[0] for w, f in zip(output.weights, models, strict=True))
            square, low[i], up[i] = np.zeros(G), np.inf, -np.inf
            for w, t, model, (mean, u, n) in zip(
                    output.weights, self._t[i], output.models, models, strict=True):
                signal = model.scale.square * u
                square += w * (signal + n)
                if len(models) > 1:
                    square += w * (mean - mu[i]) ** 2
                if math.isfinite(t):
                    reach = np.sqrt(t * t * signal + z2 * n)
                    np.minimum(low[i], mean - reach, out=low[i])
                    np.maximum(up[i], mean + reach, out=up[i])
            sigma[i] = np.sqrt(square)
        beta = 0.5 * (up - low) / sigma
        return Band(mu, sigma, beta, low, up, self._prior, self._B, where)

    def _estimates(self, domains: Domains) -> tuple[NormEstimate, ...]:
        found = []
        share = self.settings.delta / len(self.outputs)
        for i, output in enumerate(self.outputs):
            r = reciprocal_covariance_integral(output.main.var, domains.inside).tolist()
            low, centre, B = (output.norm_quantile(q) for q in (0.05, 0.5, 1 - share))
            found += [NormEstimate(i, d, B, 'student', 'bound', low, r[j], None, centre, low, B,
                                   0, share) for j, d in enumerate(domains.names)]
        return tuple(found)
