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
What was proved of a domain, carried over to the domains that it covers later.

A norm, and the energy that the samples leave open, never grow when samples arrive or the domain
shrinks. So a proof for the box stays true for ever, one for an inner domain as long as the hull
stays, and one for the enlarged hull covers a new hull that lies within it. Carrying a proof over
costs nothing; proving again does.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.kernels import Array


class Certificates:
    """Keep the least proved value of every output on every domain."""

    def __init__(self, domains: tuple[str, ...], outputs: int) -> None:
        self._least = {d: np.full(outputs, np.inf) for d in domains}
        self._hull: Hull | None = None

    def move(self, hull: Hull) -> bool:
        """Keep what holds for a new hull; tell whether something was lost."""
        old, self._hull = self._hull, hull
        if old is None or hull is old:
            return False
        inner, shell = self._least.get('hull'), self._least.get('enlarged')
        if inner is not None:
            covered = shell is not None and bool(np.all(old.innermost(hull.A) <= 1))
            inner[:] = shell if covered and shell is not None else np.inf
        if shell is not None:
            shell[:] = np.inf
        return inner is not None or shell is not None

    def prove(self, domain: str, output: int, value: float) -> None:
        """Take a value that the present domain is proved not to exceed."""
        self._least[domain][output] = min(self._least[domain][output], value)

    def __getitem__(self, domain: str) -> Array:
        """Return the least value of every output, inf where nothing is proved, shape (m,)."""
        names = list(self._least)
        return np.min([self._least[d] for d in names[names.index(domain):]], axis=0)
