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
What the data say about the scale of a random function, which nobody told.

  symbol    meaning                                                            shape
  s         scale: h ~ N(0, s²C)                                               scalar
  kappa     eigenvalues of C + MISFIT at the points                            (N,)
  z2        squared data in their eigenvectors                                 (N,)
  r2        variance of the noise, the same for all                            scalar
  p         posterior of s on a grid around its mode ŝ                         (P,)
  F         models that explain the same data, one length scale each

A direction of the data with eigenvalue κ has the variance s²κ + r², so

    p(s | y) ∝ p(s)·Π (s²κ + r²)^-1/2·exp(-z²/(2(s²κ + r²))),

a function of one number. Directions in which the noise outweighs the signal say nothing about s.
p(s) ∝ 1/s, or an inverse gamma prior: so many values of a size that the user knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from pacsbo_ros.core.kernels import Array
from scipy.special import ndtr, ndtri

ROUNDS = 60  # of the search for the mode; it ends long before
# ln(s/ŝ) on the grid: fine around the mode, far enough for one sample and a risk of 1e-6.
STEPS = np.linspace(-4.4, 5.4, 131)
LOG_S = 0.15 * np.sinh(STEPS)
INVERSE_S = np.exp(-LOG_S)
SQRT_2PI = math.sqrt(2 * math.pi)
SQUARES = np.exp(2.0 * LOG_S)
LOG_CELL = np.log(0.15 * np.cosh(STEPS) * (STEPS[1] - STEPS[0]))  # ln of d ln s


class Prior(NamedTuple):
    """Say what was known about s before any value: it counts as `trust` values of that size."""

    size: float  # 0: nothing is known
    trust: float


UNKNOWN = Prior(0.0, 1.0)


@dataclass(frozen=True)
class Scale:
    """Hold what is known about s."""

    square: float  # ŝ², the mode or, for few data, what explains them best
    evidence: float  # ln p(y), up to a constant
    p: Array  # posterior of s at ŝ·exp(LOG_S), sums to one

    def factor(self, rho: float) -> float:
        """Return q with P(s·Z > q·ŝ) = rho < 1/2."""
        q, before = -float(ndtri(rho)), 0.0
        for _ in range(ROUNDS):  # Newton's, in logarithms: the tail is a power law far out
            t = q * INVERSE_S
            tail = float(self.p @ ndtr(-t))
            slope = -float(self.p @ (t * np.exp(-0.5 * t * t))) / (SQRT_2PI * tail)
            q, before = q * math.exp(min((math.log(rho) - math.log(tail)) / slope, 3.0)), q
            if abs(q - before) <= 1e-5 * q:
                break
        return q

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return quantiles of s."""
        return math.sqrt(self.square) * np.exp(np.interp(levels, np.cumsum(self.p), LOG_S))


def fit_scales(kappa: Array, z2: Array, r2: float, prior: Prior = UNKNOWN) -> list[Scale]:
    """Find the posterior of s by several models, one a row of eigenvalues and squared data."""
    dof, square0 = 1.0, 0.0
    if prior.size > 0:
        dof, square0 = prior.trust + 1, prior.trust * prior.size ** 2
    # A scale that the noise hides entirely cannot be told from a smaller one.
    least = np.maximum(np.maximum(0.01 * r2 / kappa.max(axis=1), 1e-12 * z2.sum(axis=1)), 1e-300)
    square = np.maximum((square0 + (z2 / kappa).sum(axis=1))
                        / max(dof - 1 + kappa.shape[1], 0.5), least)
    moving = np.ones(len(square), dtype=bool)
    for _ in range(ROUNDS):
        total = kappa + (r2 / square)[:, None]
        w = kappa / total
        new = np.maximum((square0 + np.einsum('fn,fn->f', w / total, z2))
                         / np.maximum(dof - 1 + w.sum(axis=1), 0.5), least)
        far = np.abs(new - square) > 1e-3 * square
        square = np.where(moving, new, square)
        moving &= far
        if not moving.any():
            break
    s2 = square[:, None] * SQUARES
    total = s2[:, :, None] * kappa[:, None, :] + r2  # (F, P, N)
    logs = -0.5 * (np.log(total).sum(axis=2) + (z2[:, None, :] / total).sum(axis=2))
    logs += (1.0 - dof) * (LOG_S + 0.5 * np.log(square)[:, None]) - 0.5 * square0 / s2 + LOG_CELL
    top = logs.max(axis=1)
    p = np.exp(logs - top[:, None])
    mass = p.sum(axis=1)
    p /= mass[:, None]
    evidence = top + np.log(mass)
    return [Scale(*each) for each in zip(square.tolist(), evidence.tolist(), p, strict=True)]
