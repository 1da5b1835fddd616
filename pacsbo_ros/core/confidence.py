# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Confidence bands, and the one place where delta is split.

  symbol    meaning                                                     shape
  beta      B_h + R/√λ · sqrt(ln det(I + K/λ) + 2 ln(1/δ_noise))        (m, domains)
  B_h       sqrt(B² - e²), the norm that the samples leave open         (m, domains)
  e²        h_Aᵀ(K + λI)⁻¹h_A, what they show; 0 where a bound has none (m,)
  R, lam    noise bound and the λ of the Gaussian process               scalars

Why e² may be subtracted: with h = ⟨θ, φ⟩ and V = λI + ΦᵀΦ, the error without noise is
λφᵀV⁻¹θ <= sqrt(λφᵀV⁻¹φ)·sqrt(λθᵀV⁻¹θ) = σ(x)·sqrt(‖h‖² - h_Aᵀ(K + λI)⁻¹h_A). The usual band
drops the last term. 'scale_free' bounds the difference itself, so its band needs no more; the
other bounds keep the usual band, β = B + noise.

How delta is split
------------------
The run fails if any band of any output fails at any time. With m outputs and D domains:

  what can fail                        share of delta           holds
  noise, per output                    0.1·δ/m                  all iterations and domains at once
  norm, 'scale_free', per output       0.9·δ/m                  all iterations and domains at once
  norm, 'hoeffding', 'bernstein'       0.9·δ/(mD) · 6/(πt)²     one test t of one output, domain
  norm, 'scenario', 'cantelli'         0.9·δ/(mD)               one iteration, output, domain
  norm, 'mean'                         0                        certain, given its assumption
  norm, 'none'                         0                        as often as the predictor is right
  norm given (SafeOpt)                 0                        certain, if the user is right

The noise gets the smaller part because its share enters a logarithm, beside ln det(I + K/λ),
while the norm's share is a quantile. The noise term is a self-normalised martingale bound:
uniform in time, and the domains share samples and noise, so neither costs anything. 'scale_free'
spends its share once over all iterations and domains (see `scale_free`). 'hoeffding' and
'bernstein' test again and again: the t-th test of a run, counted over iterations and rounds, gets
6/(πt)² of the share, which sums to one. 'scenario' and 'cantelli' bound a quantile of a
distribution that is conditioned on the data so far; splitting their share over iterations as well
would leave nothing, so theirs is a statement for one iteration, and the guarantee study shows
what it means for a whole run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pacsbo_ros.core.gp import GaussianProcess

NOISE_PART = 0.1


@dataclass(frozen=True)
class DeltaSplit:
    """Give each part its share of delta; the table above explains it."""

    noise: float  # per output
    norm: float  # per output
    norm_per_domain: float  # per output and domain

    @staticmethod
    def of(delta: float, outputs: int, domains: int) -> DeltaSplit:
        """Split delta over noise and norm, outputs and domains."""
        noise = NOISE_PART * delta / outputs
        norm = (1.0 - NOISE_PART) * delta / outputs
        return DeltaSplit(noise, norm, norm / domains)


def spent_on_test(delta: float, test: int) -> float:
    """Give the share of the test number `test` = 1, 2, ...; the shares sum to delta."""
    return delta * 6.0 / (np.pi * test) ** 2


def noise_term(gp: GaussianProcess, noise_bound: float, delta: float) -> float:
    """Give R/√λ · sqrt(ln det(I + K/λ) + 2 ln(1/δ))."""
    return float(noise_bound / np.sqrt(gp.lam) * np.sqrt(gp.log_det() + 2 * np.log(1 / delta)))
