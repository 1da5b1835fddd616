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
How well a loop forgets a push or a step, from the trace of one episode.

Two answers, because a loop can be lost in two ways. The largest deviation tells neither: it is
that of the push until the loop is lost.

    decay_rate   small signals: the slowest pole of a model fitted to the whole trace
    swing_left   large signals: the largest later swing over the first one after the push

The model is x[k+1] = A1 x[k] + A2 x[k-1] + B1 u[k] + B2 u[k-1], ridge least squares. The second
lag stands for what is not measured: delay, filters. With the loop closed, u = -F x,

    z[k+1] = M z[k],  z[k] = (x[k], x[k-1]),  rho = max |eig M|,  rate = -ln(rho) / period

Without saturation u = -F x holds on the trace too, A and B cannot be told apart, and need not be:
M is the same for every split. With saturation they can, and M is the loop that is not saturated.
The noise of the rate follows from the covariance of the fit, S kron C, to first order:

    d lambda = l dW' G v,  g = Re(conj(lambda)/|lambda| G v l'),  var rho = sum of (g' C g) * S

It is right for disturbances of the motion and up to four times too large for noise that is only
measured: never too small.

Symbol     Shape           Meaning
T, n, m    -               rows of the trace; signals; commands
R, W       (rows, p), (p, n)   regressors x[k], x[k-1], u[k], u[k-1]; coefficients; p = 2 (n + m)
C, S       (p, p), (n, n)  inverse of R'R with the ridge; covariance of the residuals
F          (m, n)          feedback
G          (p, 2 n)        regressors from z with the loop closed
l, v       (2 n,)          left and right eigenvector of the slowest pole, l v = 1
"""
from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LAGS = 2
RIDGE = 1e-6  # of the mean squared regressor: keeps A and B apart where the trace does not
SPARE_ROWS = 10  # rows beyond the number of coefficients below which nothing is fitted


@dataclass(frozen=True)
class Estimate:
    """Hold a number and its standard deviation."""

    value: float
    noise: float


def decay_rate(signals: ArrayLike, commands: ArrayLike, feedback: ArrayLike | None,
               period: float, push: int | None = None) -> Estimate | None:
    """
    Return how fast the closed loop forgets, in 1/s; negative if it grows; None if untold.

    signals (T, n) and commands (T, m) as sent, one row per period; push: the row after which
    something outside the model moved the robot. Without feedback (a law that is not linear) the
    commands are left out and the model is that of the loop as it ran, saturation included.
    None: too few rows, or a trace without motion.
    """
    x = np.asarray(signals, float)
    u = np.asarray(commands, float)[:, :0 if feedback is None else None]
    n, p = x.shape[1], LAGS * (x.shape[1] + u.shape[1])
    k = np.arange(LAGS - 1, len(x) - 1)
    if push is not None:
        k = k[(k < push) | (k > push + LAGS)]
    if len(k) < p + SPARE_ROWS:
        return None
    size_x, size_u = np.sqrt((x * x).mean(0)), np.sqrt((u * u).mean(0))
    if not (size_x > 0).all() or not (size_u > 0).all():
        return None
    x, u = x / size_x, u / size_u
    R = np.hstack([s[k - lag] for s in (x, u) for lag in range(LAGS)])
    C = np.linalg.inv(R.T @ R + RIDGE * len(k) * np.eye(p))
    W = C @ (R.T @ x[k + 1])
    residual = x[k + 1] - R @ W
    S = residual.T @ residual / (len(k) - p)

    G = np.eye(p, LAGS * n)
    if feedback is not None:
        F = np.asarray(feedback, float).reshape(-1, n) * size_x / size_u[:, None]
        for lag in range(LAGS):
            row = LAGS * n + lag * len(F)
            G[row:row + len(F), lag * n:(lag + 1) * n] = -F
    M = np.eye(LAGS * n, k=-n)
    M[:n] = W.T @ G
    poles, right = np.linalg.eig(M)
    slowest = int(np.abs(poles).argmax())
    pole, rho = poles[slowest], float(np.abs(poles[slowest]))
    if not 0 < rho < math.inf:
        return None
    try:
        left = np.linalg.inv(right)[slowest, :n]
    except np.linalg.LinAlgError:  # a pole of multiplicity two that is no two: no first order
        return Estimate(-math.log(rho) / period, math.inf)
    g = np.real(np.conj(pole) / rho * np.outer(G @ right[:, slowest], left))
    noise = math.sqrt(max(0.0, float(((g.T @ C @ g) * S).sum())))
    return Estimate(-math.log(rho) / period, noise / (rho * period))


def swing_left(signal: ArrayLike, push: int, window: int, before: int) -> Estimate | None:
    """
    Return the largest later swing over the first one after the push; 1 or more: it does not die.

    The first swing is the largest deviation within `window` rows after the push; a later one is
    how far the signal comes back, to either side, from the smallest it was since. The peaks are as
    uncertain as what the push met: the root mean square of the `before` rows before it. None: the
    trace ends before the window.
    """
    s = np.asarray(signal, float)
    after = s[push:]
    if len(after) <= window:
        return None
    first = int(np.abs(after[:window]).argmax())
    peak = abs(float(after[first]))
    if peak == 0:
        return None
    swung = after[first:] * math.copysign(1.0, after[first])
    smallest = np.minimum.accumulate(np.maximum(swung, 0.0))  # 0 once it has turned
    later = float((np.abs(swung) - smallest).max())
    met = float(np.sqrt(np.square(s[max(0, push - before):push]).mean())) if push else 0.0
    left = later / peak
    return Estimate(left, met / peak * math.hypot(1.0, left))
