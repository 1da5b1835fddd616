# Copyright the pacsbo_ros developers. Apache-2.0.
"""
A posterior in place of a norm: the Student-t band of `core.student`, for every output.

    low(x) = μ(x) - sqrt((m·q(ρ))²·ŝ²·u(x) + z(ρ)²·n(x))

It spends a part of delta on every experiment: left/T with T the experiments of `budget` that are
still to come, at least TAIL, so that a run may go on beyond its budget for ever and the sum stays
below delta. Of what is spent, ρ = NOMINAL·left/T is used, because starts are chosen by their
values and functions may be rougher than assumed. Outputs that can be unsafe share ρ.

The length scale is averaged (`core.averaged`). m is 1, or what a predictor says (`core.history`).
"""

from __future__ import annotations

import math

import numpy as np
from pacsbo_ros.core.averaged import Averaged, Field
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.convolution import Convolution
from pacsbo_ros.core.correlations import Correlations
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.history import Histories, RIVALS
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rule import Rule, rule, Setup, Term
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.student import Student
from scipy.special import ndtri

TAIL = 10  # experiments among which what is left is shared when the budget runs out
NOMINAL = 0.03  # share of what is spent that the posterior may use: measured, see docs


@rule('student')
class StudentRule(Rule):
    """Ask the posterior of random functions of unknown scale."""

    assumption = 'each output looks like a random function of its kernel, whatever its norm'
    spends = 'delta over the experiments of the budget, each at most its share'
    believes = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        s = self.settings
        self.histories = Histories(s, setup.predictor)
        factors = s.length_scale_factors
        rivals = RIVALS - set(factors) if setup.predictor else set()  # only their evidence counts
        self._correlations = {(k, f): Correlations(Convolution(k.stretched(f)))
                              for k in s.kernels() for f in (*factors, *sorted(rivals))}
        self._watched = [c for (_, f), c in self._correlations.items() if f not in rivals]
        self.outputs = [Averaged(*({f: Student(self._correlations[k, f], s.scale_prior)
                                    for f in chosen} for chosen in (factors, sorted(rivals))))
                        for k in s.kernels()]
        self._judged = max(sum(math.isfinite(t) for t in s.thresholds), 1)
        self._norms: tuple[NormEstimate, ...] = ()
        self._rho, self._prior, self._residuals = 0.5, np.empty(0), np.zeros(s.outputs)

    def add(self, samples: Samples) -> None:
        """Take over the newest sample; a repeat is no new point."""
        x = samples.A[-1]
        if self.histories.asked and len(self._prior):
            self._residuals = np.array([o.residual(x, samples.Y[-1, i], samples.variances(i)[-1])
                                        for i, o in enumerate(self.outputs)])
        if samples.repeats.count(tuple(x.tolist())) == 1:
            for c in self._correlations.values():
                c.add(x)

    def start(self, X: Array, order: np.ndarray, samples: Samples) -> None:
        """Begin to keep posteriors on the candidates."""
        for c in self._watched:
            c.watch(X, self.settings.max_samples)

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidate set."""
        for c in self._watched:
            c.replace(where, X)
        for model in (m for output in self.outputs for m in output.models if m.mu.size):
            model.replaced(where)

    def renew(self, samples: Samples, domains: Domains) -> Band:
        """Spend the share of the next experiment and give the band."""
        for i, output in enumerate(self.outputs):
            output.update(*samples.pooled(i))
        s = self.settings
        share = self.ledger.left / max(s.budget - samples.count, TAIL)
        self.ledger.spend('student', 'one experiment', samples.count, share)
        self._rho = NOMINAL * share / self._judged
        before, self._prior = self._prior, np.array([o.scale for o in self.outputs])
        self._q = [o.quantiles(self._rho) for o in self.outputs]
        self._m = np.ones(s.outputs)
        if self.histories.asked:
            growth = np.log(self._prior / before) if len(before) else np.zeros(s.outputs)
            self._m = np.array([self.histories.multiplier(
                i, self._residuals[i], growth[i], *o.rivals(), samples.count)
                for i, o in enumerate(self.outputs)])
        self._norms = tuple(e for i, o in enumerate(self.outputs)
                            for e in o.norms(i, domains, s.delta / s.outputs))
        self._B = np.array([e.B for e in self._norms]).reshape(s.outputs, -1)
        return self._band([o.field() for o in self.outputs], domains.where)

    def band_at(self, X: Array, where: np.ndarray) -> Band:
        """Give the band at any points."""
        return self._band([o.field_at(X) for o in self.outputs], where)

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
        t, known = max(self._q[output]), -float(ndtri(self._rho))
        return (Term('function', known, 'longer length_scales if they hold'),
                Term('unknown scale', max(t - known, 0.0), 'starts further apart, a scale_prior'),
                Term('predictor', max(self._m[output] - 1.0, 0.0) * t, 'no predictor'))

    def notices(self) -> tuple[str, ...]:
        """Say which output's data leave the grid of length scales."""
        return tuple(w for i, o in enumerate(self.outputs)
                     for w in o.leaves_grid(self.settings.names[i]))

    def length_scale_weights(self) -> tuple[tuple[float, ...], ...]:
        """Give the posterior of the length scale factors, one row per output."""
        return tuple(tuple(o.weights.tolist()) for o in self.outputs)

    def _band(self, fields: list[list[Field]], where: np.ndarray) -> Band:
        m, G = len(self.outputs), len(where)
        mu, sigma, low, up = (np.empty((m, G)) for _ in range(4))
        for i, (output, field) in enumerate(zip(self.outputs, fields, strict=True)):
            q = [self._m[i] * t for t in self._q[i]]
            mu[i], sigma[i] = output.moments(field)
            low[i], up[i] = output.envelope(field, q, self._rho)
        return Band(mu, sigma, 0.5 * (up - low) / sigma, low, up, self._prior, self._B, where)
