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
Confidence bands of the rules that bound a norm.

  symbol    meaning                                                     shape
  beta      B_h + R/√λ · sqrt(ln det(I + K/λ) + 2 ln(1/δ_noise))        (m, domains)
  B_h       sqrt(B² - e²), the norm that the samples leave open         (m, domains)
  e²        h_Aᵀ(K + λI)⁻¹h_A, what they show; 0 where a bound has none (m,)
  R, lam    noise bound and the λ of the Gaussian process               (m,), scalar

Why e² may be subtracted: with h = ⟨θ, φ⟩ and V = λI + ΦᵀΦ, the error without noise is
λφᵀV⁻¹θ <= sqrt(λφᵀV⁻¹φ)·sqrt(λθᵀV⁻¹θ) = σ(x)·sqrt(‖h‖² - h_Aᵀ(K + λI)⁻¹h_A). The usual band
drops the last term. 'scale_free' bounds the difference itself, so its band needs no more; the
other rules keep the usual band, β = B + noise.

The noise term is a self-normalised martingale bound: uniform in time, and the domains share
samples and noise, so neither costs anything. Its share of delta is in `ledger`.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.gp import GaussianProcess


def noise_term(gp: GaussianProcess, noise_bound: float, delta: float) -> float:
    """Return R/√λ · sqrt(ln det(I + K/λ) + 2 ln(1/δ))."""
    return float(noise_bound / np.sqrt(gp.lam) * np.sqrt(gp.log_det() + 2 * np.log(1 / delta)))
