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
The scale-free norm bound: what the data show, plus what a library says they cannot show.

  symbol    meaning                                                             shape
  y         measured values of one output at the samples A                      (N,)
  e²        yᵀ(K + λI)⁻¹y less scatter/λ, the energy that the data show         scalar
  t²        yᵀ(C + rho·I)⁻¹y less scatter/rho: how large the data say h is      scalar
  c_D²      squared norm of a library function on the domain D                  (q,)
  u_D       (c_D² - e²)/t²: energy the data do not show, per scale              (q,)
  tau_D     what u_D of the unknown function does not exceed                    scalar

Pythagoras splits the norm on a domain into what the interpolant shows and what it cannot:
‖h‖²_D = ‖μ_A‖² + ‖h - μ_A‖²_D. The first term is measured. The second is proportional to the
squared scale of h, and t² measures that scale with one degree of freedom per distinct point, also
where samples lie close together and e² hardly grows. Hence

    B_D² = e² + tau_D·t²

and the band needs sqrt(tau_D)·t alone, the part that the samples do not show (`confidence`).
Here u_D does not depend on the scale of h at all: no prior norm. A function rougher than the
library has a larger t², hence a larger B. Repeats enter by their means (`energies`): what they
scatter is noise, not scale.

Spends (deaths in a round)/(q + 1) for every output (`survivors`), on all domains at once: the
score of a function is its largest u_D relative to the median of the domain. What the domains hide
never grows, so where a round lets nobody die, the last proof is carried over (`certificates`).
Exchangeable are functions whose samples do not depend on them; what the choice of the samples does
to that is measured, not proved (docs/evidence.md).
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.certificates import Certificates
from pacsbo_ros.core.energies import Energies
from pacsbo_ros.core.gp import Row
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.ledger import norm_share
from pacsbo_ros.core.library import shared_library
from pacsbo_ros.core.norm_rule import Bound, Evidence, NormRule
from pacsbo_ros.core.rule import rule, Setup
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.survivors import Survivors

FIRST_SCALE = 3.0  # norm over e before the first round; only the small noise term uses it
RHO_STEP = 1.5  # rho stays while the wanted one is within this factor: a new one costs N rows
RHO_LEAST = 1e-9
PILOTS = 255  # library functions whose median makes domains comparable; all would take longer


@rule('scale_free')
class ScaleFree(NormRule):
    """Bound every output on every domain by data energy and library."""

    name = 'scale_free'
    assumption = "the shape of the function is like the library's; its scale may be any"
    spends = 'its share of every output, function by function of the library'

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        s = self.settings
        self._energies = [
            Energies(shared_library(k, s.library_size, s.centres, self.seed), s.domains,
                     s.reference_points, self.seed) for k in self.kernels]
        share = norm_share(s.delta, s.outputs)
        self._survivors = [Survivors(s.library_size, share) for _ in range(s.outputs)]
        self._spent = np.zeros(s.outputs)
        self._rho: dict[int, float] = {}  # of every output
        self._proved = Certificates(s.domains, s.outputs)

    def observe(self, group: int, row: Row, samples: Samples) -> None:
        """Sample the library at the new point."""
        self._energies[group].observe(row)

    def replace(self, where: slice, X: Array) -> None:
        """Forget what rests on the candidates that were drawn again."""
        super().replace(where, X)
        for energies in self._energies:
            energies.forget(where)

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Add to the energy that the data show the most that the survivors hide."""
        energies, gp, members = self._energies[evidence.group], evidence.gp, evidence.members
        names = evidence.domains.names
        scatter = evidence.samples.repeats.scatter[members]
        shown = np.maximum(gp.data_norms() ** 2 - scatter / gp.lam, 0.0)
        hidden = energies.hidden(gp, evidence.posterior, evidence.domains, evidence.order)
        for i, e2, R in zip(members, shown, evidence.R, strict=True):
            self._rho.setdefault(i, _wanted_rho(R, FIRST_SCALE * np.sqrt(e2)))
        library, t2 = energies.scales([self._rho[i] for i in members], gp.Y, scatter)
        u = hidden / library[:, None]  # (m, D, q)
        half = min(PILOTS, u.shape[2]) // 2
        middle = np.maximum(np.partition(u[:, :, :PILOTS], half)[:, :, half], 1e-12)
        score = (u / middle[:, :, None]).max(axis=1)
        lost = self._proved.move(evidence.domains.hull)
        for j, i in enumerate(members):
            limit, cost = self._survivors[i].cull(score[j], lost)
            self._spent[i] += self.ledger.spend(
                self.name, f'norm of {self.settings.names[i]}', gp.count, cost)
            for d, domain in enumerate(names):
                self._proved.prove(domain, i, limit * middle[j, d] * t2[j])
        proved = np.array([self._proved[domain][members] for domain in names]).T  # (m, D)
        parts = np.array([proved, *(t2[:, None] * x for x in (
            middle, u.min(axis=2), u.max(axis=2)))])
        norms = np.sqrt(shown[:, None] + parts)  # (4, m, D)
        for i, norm, R in zip(members, norms[1, :, -1].tolist(), evidence.R, strict=True):
            # The outermost domain says how large the noise is beside the function.
            wanted = _wanted_rho(R, norm)
            if not 1 / RHO_STEP < wanted / self._rho[i] < RHO_STEP:
                self._rho[i] = wanted
        return {
            domain: [Bound(B, centre, low, high, self._survivors[i].living,
                           float(self._spent[i]), e)
                     for (B, centre, low, high), i, e in zip(
                         of_domain, members, np.sqrt(shown).tolist(), strict=True)]
            for domain, of_domain in zip(names, norms.transpose(2, 1, 0).tolist(), strict=True)}


def _wanted_rho(R: float, norm: float) -> float:
    return float(max((R / max(norm, 1e-12)) ** 2, RHO_LEAST))
