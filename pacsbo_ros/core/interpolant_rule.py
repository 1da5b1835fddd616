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
What the rules share that look at random functions through the samples (Algorithm 3).

  symbol    meaning                                                      shape
  T         tail centres N-hat - N of a random interpolant               scalar
  a_bar     bound of the tail coefficients                               scalar
  v         ‖k(x,·) - its interpolant on A‖², x in the domain            (P,)
  P scale   a_bar·sqrt(T/3): the prior norm that (a_bar, N-hat) encode   scalar
"""

from __future__ import annotations

from abc import abstractmethod
import math

import numpy as np
from pacsbo_ros.core.certificates import Certificates
from pacsbo_ros.core.ledger import norm_share
from pacsbo_ros.core.norm_rule import Bound, Evidence, NormRule
from pacsbo_ros.core.rkhs import Interpolants
from pacsbo_ros.core.rule import Setup

POOL = 256  # candidates of a domain that serve as tail centres


class InterpolantRule(NormRule):
    """Bound each output on each domain by itself, with tail centres from that domain."""

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Return the bounds per domain."""
        return {domain: [self.bound(evidence, domain, model, j, rng)
                         for j in range(len(evidence.members))]
                for domain, (model, rng) in self.models(evidence).items()}

    def models(self, evidence: Evidence) -> dict[str, tuple[Interpolants, np.random.Generator]]:
        """Return the distribution of random interpolants on every domain, and a random stream."""
        found = {}
        for d, (domain, mask) in enumerate(evidence.domains.masks.items()):
            inside = evidence.order[mask[evidence.order]][:POOL]
            pool = evidence.posterior.X[inside] if len(inside) else evidence.gp.A
            found[domain] = Interpolants(
                evidence.gp, pool, max(self.settings.centres - evidence.gp.count, 1),
                self.settings.coefficient_bound), np.random.default_rng(
                    [evidence.seed, 4, evidence.gp.count, d])
        return found

    @abstractmethod
    def bound(self, evidence: Evidence, domain: str, model: Interpolants, j: int,
              rng: np.random.Generator) -> Bound:
        """Bound the j-th output of the evidence on one domain."""


class QuantileRule(InterpolantRule):
    """
    Prove a quantile of ‖ρ‖ whenever the number of samples has doubled; else carry it over.

    A quantile given the data so far is a statement for one moment. The norm does not change, so
    what was proved once is carried over (`certificates`), and the share of an output is divided
    by the domains and by the moments, of which `max_samples` allows 1 + log2(max_samples).
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        s = self.settings
        self.moments = 1 + int(math.log2(s.max_samples))
        self.kappa = norm_share(s.delta, s.outputs) / len(s.domains) / self.moments
        self._proved = Certificates(s.domains, s.outputs)
        self._done = [0] * len(self.kernels)  # moments, for every kernel
        self._next = [0] * len(self.kernels)  # samples at the next one
        self._last: dict[tuple[int, str], Bound] = {}

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Prove anew if it is time, and give the least that is proved."""
        N, g, names = evidence.gp.count, evidence.group, self.settings.names
        self._proved.move(evidence.domains.hull)
        if self._next[g] <= N and self._done[g] < self.moments:
            self._next[g], self._done[g] = 2 * N, self._done[g] + 1
            for domain, row in super().bounds(evidence).items():
                for i, b in zip(evidence.members, row, strict=True):
                    self.ledger.spend(self.name, f'norm of {names[i]} on the {domain}', N,
                                      self.kappa)
                    self._proved.prove(domain, i, b.B)
                    self._last[i, domain] = b
        shown = evidence.gp.mean_norms().tolist()
        return {domain: [
            Bound(max(float(self._proved[domain][i]), norm), last.centre, last.low, last.high,
                  last.draws, self.kappa)
            for i, norm in zip(evidence.members, shown, strict=True)
            for last in [self._last[i, domain]]] for domain in evidence.domains.names}
