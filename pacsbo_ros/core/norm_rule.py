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
What all rules share that bound an RKHS norm on nested domains.

  symbol    meaning                                                        shape
  B         norm bound of every output on every domain                     (m, D)
  beta      hidden part of B + noise term, see `confidence`                (m, D)
  low, up   band of every output, each point with its innermost domain's B (m, G)

All samples lie in all domains, so the domains share one posterior and differ in B alone. The norm
on a smaller domain is never larger, so B of an inner domain is capped by the outer ones, and a
point's band is that of the innermost domain which holds it: the union of the safe sets of the
domains is one safe set. The band is that of the newest samples alone: a running intersection with
the older ones would save nothing where B is proved for all times (`docs/algorithm.md`), and be
wrong where it is not.

A rule of this kind gives `bounds`, B of the outputs of one kernel on every domain.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.confidence import noise_term
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.gp import GaussianProcess, Posterior, Row
from pacsbo_ros.core.history import Multiplier
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.ledger import noise_share
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rkhs import reciprocal_covariance_integral
from pacsbo_ros.core.rule import Rule, Setup, Term
from pacsbo_ros.core.samples import Samples


@dataclass(frozen=True)
class Evidence:
    """Hold what a bound may look at: the outputs of one kernel after one sample."""

    group: int
    members: list[int]  # the outputs
    gp: GaussianProcess
    posterior: Posterior
    samples: Samples
    R: Array  # (members,) noise bounds
    domains: Domains
    order: np.ndarray  # fixed shuffle of the candidates
    eta: dict[str, list[float | None]]  # the predictor's word per domain and output
    seed: int


@dataclass(frozen=True)
class Bound:
    """Return B and what it rests on; the fields are those of NormEstimate."""

    B: float
    centre: float
    low: float
    high: float
    draws: int
    delta: float
    shown: float = 0.0


class NormRule(Rule):
    """Make bands from norm bounds."""

    name = ''  # as in the settings

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        s = self.settings
        if isinstance(setup.predictor, Multiplier):
            raise ValueError(f'rule is {s.rule!r}, and the predictor gives multipliers of a band; '
                             'give one that guesses norms, or none')
        self.predictor = setup.predictor
        kernels = s.kernels()
        self.kernels = list(dict.fromkeys(kernels))
        self._groups = tuple(self.kernels.index(k) for k in kernels)
        self.members = [[i for i, g in enumerate(self._groups) if g == group]
                        for group in range(len(self.kernels))]
        self.gps = [GaussianProcess(k, s.lam, len(members))
                    for k, members in zip(self.kernels, self.members, strict=True)]
        self.posteriors: list[Posterior] = []
        self.prior = np.sqrt([k.output_scale for k in kernels])
        self.noise_share = noise_share(s.delta, s.outputs)
        for name in s.names:
            self.ledger.spend('noise', f'noise of {name}', 0, self.noise_share)
        self._norms: tuple[NormEstimate, ...] = ()
        self._grew = False
        self._history: dict[tuple[int, str], list[tuple[float, float]]] = {}

    @abstractmethod
    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Return B per domain, one entry per output of the kernel; called once per sample."""

    def observe(self, group: int, row: Row, samples: Samples) -> None:
        """Take over the row of a new sample; most rules keep nothing."""

    # As the interface of a rule asks ------------------------------------------------------

    def add(self, samples: Samples) -> None:
        """Extend the Gaussian processes by one row."""
        x, y = samples.A[-1], samples.Y[-1]
        for group, (gp, members) in enumerate(zip(self.gps, self.members, strict=True)):
            row = gp.add(x, y[members])
            self.observe(group, row, samples)
            if self.posteriors:
                self.posteriors[group].extend(row)

    def start(self, X: Array, order: np.ndarray, samples: Samples) -> None:
        """Begin to keep means and variances of the candidates."""
        self._order = order
        self.posteriors = [Posterior(gp, X, self.settings.max_samples) for gp in self.gps]

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidate set."""
        for posterior in self.posteriors:
            posterior.replace(where, X)

    def renew(self, samples: Samples, domains: Callable[[], Domains]) -> Band:
        """Bound the norms anew and give the band."""
        R, sorted_ = samples.R, domains()
        assert R is not None
        before, self._norms = self._norms, self._estimates(samples, R, sorted_)
        self._grew = bool(before) and any(
            old.B * (1 + 1e-9) < new.B for old, new in zip(before, self._norms, strict=True))
        shape = self.settings.outputs, len(sorted_.names)
        self._B = np.array([e.B for e in self._norms]).reshape(shape)
        self._hidden = np.array([e.hidden for e in self._norms]).reshape(shape)
        self._noise = np.array([noise_term(self.gps[g], r, self.noise_share)
                                for g, r in zip(self._groups, R.tolist(), strict=True)])
        self._beta = self._hidden + self._noise[:, None]
        if len(self.posteriors) == 1:
            post = self.posteriors[0]
            return self._band(post.mu, np.broadcast_to(post.sigma, post.mu.shape), sorted_.where)
        mu, sigma = np.empty((2, self.settings.outputs, len(sorted_.where)))
        for post, members in zip(self.posteriors, self.members, strict=True):
            mu[members], sigma[members] = post.mu, post.sigma
        return self._band(mu, sigma, sorted_.where)

    def band_at(self, X: Array, where: np.ndarray) -> Band:
        """Return the band at any points."""
        mu, sigma = np.empty((2, self.settings.outputs, len(X)))
        for gp, members in zip(self.gps, self.members, strict=True):
            mean, var = gp.posterior(X)
            mu[members], sigma[members] = mean, np.sqrt(var)
        return self._band(mu, sigma, where)

    def covariance(self, group: int, x: np.ndarray, z: np.ndarray) -> Array:
        """Return the posterior covariance of candidates."""
        return self.posteriors[group].covariance(x, z)

    def nugget(self, group: int) -> float:
        """Return λ."""
        return self.gps[group].lam

    @property
    def groups(self) -> tuple[int, ...]:
        """Return the number of every output's kernel."""
        return self._groups

    @property
    def norms(self) -> tuple[NormEstimate, ...]:
        """Return B of every output on every domain and what it rests on."""
        return self._norms

    def grew(self) -> str:
        """Say that some B grew."""
        return 'the norm estimate grew' if self._grew else ''

    def terms(self, output: int, domain: int) -> tuple[Term, ...]:
        """Return the norm's and the noise's part of beta."""
        return (Term('norm', float(self._hidden[output, domain]),
                     'more starts around the first ones, or longer length_scales if they hold'),
                Term('noise', float(self._noise[output]),
                     'a smaller noise_bound if it holds, quieter measurements, a larger lam'))

    # The norms ----------------------------------------------------------------------------

    def _band(self, mu: Array, sigma: Array, where: np.ndarray) -> Band:
        beta = self._beta.take(where, axis=1)
        reach = beta * sigma
        return Band(mu, sigma, beta, mu - reach, mu + reach, self.prior, self._B, where)

    def _estimates(self, samples: Samples, R: Array,
                   domains: Domains) -> tuple[NormEstimate, ...]:
        found: dict[tuple[int, str], NormEstimate] = {}
        for group, (gp, posterior, members) in enumerate(
                zip(self.gps, self.posteriors, self.members, strict=True)):
            norms = gp.mean_norms()
            integrals = reciprocal_covariance_integral(posterior.var, domains.inside)
            r = dict(zip(domains.names, integrals.tolist(), strict=True))
            eta = {d: [self._word(i, d, float(norm), r[d])
                       for i, norm in zip(members, norms, strict=True)] for d in domains.names}
            bounds = self.bounds(Evidence(group, members, gp, posterior, samples, R[members],
                                          domains, self._order, eta, self.seed))
            for d in domains.names:
                for j, (i, b) in enumerate(zip(members, bounds[d], strict=True)):
                    word = eta[d][j]
                    higher = word is not None and word >= b.B
                    found[i, d] = NormEstimate(
                        i, d, max(b.B, word or 0.0), self.name, 'predictor' if higher else 'bound',
                        float(norms[j]), r[d], word, b.centre, b.low, b.high, b.draws, b.delta,
                        # A word is about the whole norm, and noise may feign energy.
                        0.0 if higher else b.shown)
        return tuple(e for i in range(self.settings.outputs)
                     for e in _nested([found[i, d] for d in domains.names]))

    def _word(self, output: int, domain: str, norm: float, r: float) -> float | None:
        """Append to the history and ask the predictor, if there is one."""
        history = self._history.setdefault((output, domain), [])
        history.append((norm, r))
        if self.predictor is None:
            return None
        window = np.array(history[-self.settings.window:])
        word = float(self.predictor(window, self.settings, domain))
        if not np.isfinite(word):
            raise ValueError(
                f'predictor gave {word} for output {output} on {domain}; history {window}')
        return max(word, 0.0)


def _nested(estimates: list[NormEstimate]) -> list[NormEstimate]:
    """Cap B of each domain by the domains around it: a local norm is never larger."""
    row: list[NormEstimate] = []
    for estimate in reversed(estimates):
        if row and row[-1].B < estimate.B:
            estimate = replace(estimate, B=row[-1].B, shown=row[-1].shown,
                               decided_by='outer domain')
        row.append(estimate)
    return row[::-1]
