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
A posterior in place of a norm: the Student-t band of `core.student`, for every output.

    low(x) = μ(x) - sqrt((m·q(ρ))²·ŝ²·u(x) + z(ρ)²·n(x))

Every experiment spends left/T of delta, T the experiments of `budget` to come, at least TAIL, so
that a run may go on for ever. ρ, shared by outputs that can be unsafe, is the part `nominal` of it
(`core.calibrated`), larger where the length scale is averaged (`core.averaged`), which protects by
itself; m is 1 or a predictor's word (`core.history`); every told value tests the model
(`core.doubts`).
"""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
from pacsbo_ros.core.averaged import Averaged, Field
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.calibrated import calibrated
from pacsbo_ros.core.domains import Domains
from pacsbo_ros.core.doubts import Doubts
from pacsbo_ros.core.history import Histories
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.proposals import NormEstimate
from pacsbo_ros.core.rule import Rule, rule, Setup, Term
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.student import MISFIT
from scipy.special import ndtri

TAIL = 10  # experiments among which what is left is shared when the budget runs out


@rule('student')
class StudentRule(Rule):
    """Ask the posterior of random functions of unknown scale."""

    assumption = ('each output looks like a random function of its kernel, of about the size '
                  'scale_prior, which the data may correct, or of any size if that is 0')
    spends = 'delta over the experiments of the budget, each at most its share'
    believes = True
    alarms = 0.1  # part of delta for false alarms of the test

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        s = self.settings
        self.histories = Histories(s, setup.predictor)
        self.ledger.spend('student', 'false alarms', 0, self.alarms * s.delta)
        self.doubts = Doubts(s, self.alarms * s.delta)
        # Part of what is spent that the posterior may use.
        self.nominal = calibrated('averaged' if s.averages else 'student').nominal
        self._judged = max(sum(math.isfinite(t) for t in s.thresholds), 1)
        self._rho, self._residuals = 0.5, np.zeros(s.outputs)

    @property
    def outputs(self) -> list[Averaged]:
        """Return the model of every output."""
        return self.doubts.models

    def add(self, samples: Samples) -> None:
        """Test the models by the newest sample, and take it over."""
        if len(self.doubts.scales):
            self._residuals = self.doubts.judge(samples)
        self.doubts.add(samples)

    def start(self, X: Array, order: np.ndarray, samples: Samples) -> None:
        """Begin to keep posteriors on the candidates."""
        self.doubts.watch(X)

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidate set."""
        self.doubts.replace(where, X)

    def renew(self, samples: Samples, domains: Callable[[], Domains]) -> Band:
        """Spend the share of the next experiment and give the band."""
        s, self._domains = self.settings, domains
        self._noise = [float(samples.variances(i)[-1]) for i in self.groups]
        share = self.ledger.left / max(s.budget - samples.count, TAIL)
        self.ledger.spend('student', 'one experiment', samples.count, share)
        self._rho = self.nominal * share / self._judged
        self.doubts.update(samples, self._rho)
        self._m = np.ones(s.outputs)
        if self.histories.asked:
            self._m = np.array([self.histories.multiplier(
                i, self._residuals[i], self.doubts.growth[i], *o.rivals(), samples.count)
                for i, o in enumerate(self.outputs)])
        self._B = np.array([o.norm_quantiles((1 - s.delta / s.outputs,)) for o in self.outputs])
        return self._band([o.field() for o in self.outputs])

    def band_at(self, X: Array, where: np.ndarray) -> Band:
        """Return the band at any points."""
        return self._band([o.field_at(X) for o in self.outputs])

    def covariance(self, group: int, x: np.ndarray, z: np.ndarray) -> Array:
        """Return the posterior covariance of candidates."""
        return self.outputs[group].main.covariance(x, z)

    def nugget(self, group: int) -> float:
        """Return the noise variance of the last sample, and the misfit."""
        return self._noise[group] + MISFIT * self.outputs[group].main.scale.square

    @property
    def groups(self) -> tuple[int, ...]:
        """Return a group of its own for every output: each has its scale."""
        return tuple(range(len(self.outputs)))

    @property
    def norms(self) -> tuple[NormEstimate, ...]:
        """Return the quantile of the norm's posterior of every output as B; no band needs it."""
        return tuple(e for i, o in enumerate(self.outputs)
                     for e in o.norms(i, self._domains(), self.settings.delta / len(self._B)))

    def grew(self) -> str:
        """Say which scale grew by more than it does with most samples."""
        return self.doubts.grew()

    @property
    def starts_hold(self) -> bool:
        """Tell whether no drift was found."""
        return not self.doubts.drifted

    def terms(self, output: int, domain: int) -> tuple[Term, ...]:
        """Return the normal quantile and what the unknown scale adds to it."""
        t, z = float(self.outputs[output].q[:, -1].max()), -float(ndtri(self._rho))
        return (Term('function', z, 'longer length_scales if they hold'),
                Term('unknown scale', max(t - z, 0.0), 'starts further apart, a '
                     'scale_prior that is nearer to the size of the values'),
                Term('predictor', max(self._m[output] - 1.0, 0.0) * t, 'no predictor'))

    def notices(self) -> tuple[str, ...]:
        """Say which output drifts, is rougher than told or leaves the grid of length scales."""
        return self.doubts.notices()

    def length_scale_weights(self) -> tuple[tuple[float, ...], ...]:
        """Return the posterior of the length scale factors, one row per output."""
        return tuple(tuple(o.weights.tolist()) for o in self.outputs)

    def _band(self, fields: list[list[Field]]) -> Band:
        mu, sigma, low, up = np.empty((4, len(fields), len(fields[0][0][0])))
        for i, (output, field) in enumerate(zip(self.outputs, fields, strict=True)):
            mu[i], sigma[i] = output.moments(field)
            low[i], up[i] = output.envelope(field, float(self._m[i]))
        beta, where = 0.5 * (up - low) / sigma, np.zeros(mu.shape[1], dtype=int)
        return Band(mu, sigma, beta, low, up, self.doubts.scales, self._B, where)
