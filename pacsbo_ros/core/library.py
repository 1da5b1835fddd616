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
A library of random RKHS functions of norm one, sampled where the unknown function is.

  symbol   meaning                                                   shape
  pool     centres, uniform in the box, shared by the library        (P, n)
  C        coefficients, `centres` non-zeros a row, uniform, then    (q, P) sparse
           divided by the norms sqrt(diag(C K C^T))
  F        values of the functions at points                         (points, q)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from pacsbo_ros.core.kernels import Array, Kernel
from scipy import sparse

POOL = 2048


class Library:
    """Hold q random functions, drawn once, evaluated anywhere."""

    def __init__(self, kernel: Kernel, size: int, centres: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 3])
        self.kernel, self.size = kernel, size
        self.pool = rng.random((POOL, kernel.dimension))
        self._scaled = kernel.scaled(self.pool)
        rows = np.repeat(np.arange(size), centres)
        columns = rng.integers(POOL, size=size * centres)
        values = rng.uniform(-1.0, 1.0, size=size * centres)
        C = sparse.csr_matrix((values, (rows, columns)), shape=(size, POOL))
        norms = np.sqrt(np.asarray(C.multiply(C @ kernel(self.pool, self.pool)) @ np.ones(POOL)))
        self.C = sparse.csr_matrix(sparse.diags(1.0 / norms) @ C)

    def evaluate(self, X: Array) -> Array:
        """Return the values of all functions at the points, shape (points, q)."""
        values = self.kernel.between_scaled(self.kernel.scaled(X), self._scaled)
        if len(X) == 1:  # one sample: a vector is much faster than a matrix of one column
            return np.asarray(self.C @ values[0])[None]
        return np.asarray((self.C @ values.T).T)


@lru_cache(maxsize=32)
def shared_library(kernel: Kernel, size: int, centres: int, seed: int) -> Library:
    """Return the library of these choices; drawn once a process, since it is never changed."""
    return Library(kernel, size, centres, seed)
