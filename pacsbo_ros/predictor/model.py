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
The norm predictor η at work: features, a small network and its calibration, in numpy alone.

  symbol      meaning                                                            shape
  mean_norm   ‖μ_A‖ of the iterations so far, oldest first                       (M, H)
  r           k(x, x)/∫σ² on one domain, likewise                                (M, H)
  W           window: entries that the network sees, zeros in front if H < W     scalar
  ell, lam    length scales, λ/k(x, x)                                           (M, n), (M,)
  g           the network's output: a quantile of ln(‖h‖/‖μ_A‖)                    (M,)
  kappa       calibration factor by length scale, domain and min(H, W)           (L, 3, W)

The estimate is B = ‖μ_A‖·exp(kappa·g): inputs are relative to the present ‖μ_A‖ and the output
multiplies it, so that a function twice as large gets a bound twice as large. As the Gaussian
process's own under-estimate, ‖μ_A‖ is never undercut: g > 0 and kappa > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import DOMAINS, Settings

LEAST_INTEGRAL = 1e-6  # a flat hull has volume 0; its logarithm has to stay finite
LEAST_G = 1e-3  # keeps the ratio of the calibration finite
LARGEST_RATIO = 4.0  # of an earlier ‖μ_A‖ to the present one
REACH = 6.0  # standard deviations beyond which an input is cut, so that nothing extrapolates far
LAGS = (1, 3, 8)  # iterations back whose growth of ‖μ_A‖ is an input of its own


def features(
    mean_norm: Array, r: Array, domain: int, ell: Array, lam: Array, window: int,
) -> Array:
    """Return the network's inputs for M histories of equal length on one domain, (M, P)."""
    M, H = mean_norm.shape
    size = min(H, window)
    now = np.maximum(mean_norm[:, -1:], np.finfo(float).tiny)
    ratio, unseen = np.zeros((M, window)), np.zeros((M, window))
    ratio[:, -size:] = np.minimum(mean_norm[:, -size:] / now, LARGEST_RATIO)
    unseen[:, -size:] = np.minimum(1.0 / r[:, -size:], 1.0)
    last, log_ell = unseen[:, -1], np.log(ell)
    growth = [-np.log(np.maximum(ratio[:, -1 - lag], 1e-3)) if lag < size else np.zeros(M)
              for lag in LAGS]
    place = np.zeros((M, len(DOMAINS)))
    place[:, domain] = 1.0
    return np.column_stack([
        ratio, unseen, place, *growth,
        np.log(last + LEAST_INTEGRAL), np.log(1.0 - last + 1e-4), np.full(M, size / window),
        np.log(size) * np.ones(M), log_ell.mean(axis=1), log_ell.std(axis=1), np.log(lam)])


def feature_count(window: int) -> int:
    """Return P, the number of inputs."""
    return 2 * window + len(DOMAINS) + len(LAGS) + 7


@dataclass(frozen=True)
class Network:
    """Evaluate a multilayer perceptron with ReLU inside and softplus at the end."""

    mean: Array  # (P,) of the inputs
    scale: Array  # (P,)
    weights: tuple[Array, ...]  # (inputs, outputs) of each layer
    biases: tuple[Array, ...]

    def __call__(self, x: Array) -> Array:
        """Return g > 0 for inputs (M, P)."""
        z = np.clip((x - self.mean) / self.scale, -REACH, REACH)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            z = np.maximum(z @ weight + bias, 0.0)
        return np.logaddexp(0.0, (z @ self.weights[-1] + self.biases[-1])[:, 0])


@dataclass(frozen=True)
class Calibration:
    """Hold the factor kappa on a grid of length scales; interpolate between them."""

    length_scales: Array  # (L,) ascending
    kappa: Array  # (L, 3, W)
    coverage: float  # share of functions whose norm the estimate is meant to reach

    def __call__(self, ell: Array, domain: int, entry: int) -> Array:
        """Return kappa for the geometric mean of the length scales ell (M, n), shape (M,)."""
        return np.interp(np.log(ell).mean(axis=1), np.log(self.length_scales),
                         self.kappa[:, domain, entry])


@dataclass(frozen=True)
class NormPredictor:
    """Over-estimate the norm from the history of one output on one domain; keeps no state."""

    network: Network
    calibration: Calibration
    window: int
    hash: str = ''  # noqa: A003
    path: str = ''

    def __call__(self, history: Array, settings: Settings, domain: str) -> float:
        """Return η of a history (H, 2) of (‖μ_A‖, r); 0 as long as every measurement was 0."""
        if not history[-1, 0] > 0.0:
            return 0.0
        kernel = settings.kernels()[0]
        s2 = kernel.output_scale
        return float(self.estimate(
            history[None, :, 0], history[None, :, 1] * s2, DOMAINS.index(domain),
            np.array([kernel.length_scales]), np.array([settings.lam / s2]))[0])

    def raw(self, mean_norm: Array, r: Array, domain: int, ell: Array, lam: Array) -> Array:
        """Return the network's output g, before calibration, shape (M,)."""
        return self.network(features(mean_norm, r, domain, ell, lam, self.window))

    def estimate(self, mean_norm: Array, r: Array, domain: int, ell: Array, lam: Array) -> Array:
        """Return the calibrated estimates of M histories on one domain, shape (M,)."""
        g = np.maximum(self.raw(mean_norm, r, domain, ell, lam), LEAST_G)
        entry = min(mean_norm.shape[1], self.window) - 1
        return mean_norm[:, -1] * np.exp(self.calibration(ell, domain, entry) * g)

    def estimates(self, mean_norm: Array, r: Array, ell: Array, lam: Array) -> Array:
        """Return the calibrated estimates on all domains from r (M, H, 3), shape (M, 3)."""
        return np.stack([self.estimate(mean_norm, r[..., d], d, ell, lam)
                         for d in range(len(DOMAINS))], axis=1)
