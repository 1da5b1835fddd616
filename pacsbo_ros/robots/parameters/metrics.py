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

r"""
What a recorded signal is worth: one number per window.

    t  (n,)  s since the window began, increasing      y  (n,)  the signal
    T = t[-1] - t[0]                                   e = target - y, e0 = e[0]

All integrals are trapezoidal, so that unevenly stamped samples weigh by their time.

rms             sqrt(∫ y² dt / T)
peak            max |y|
mean            ∫ y dt / T
iae, itae       ∫ |y| dt, ∫ t |y| dt
chatter         Σ |y[k+1] - y[k]| / T: how much the signal goes to and fro each second
share_of_time   share of T with |y| > bound
overshoot       how far y went beyond its target, as a share of the way from y[0] to it
rise_time       from 10 % to 90 % of that way; T if it never got there
settling_time   until |e| stays within band · |e0|; T if it never does

A signal that is itself an error has the target 0, which is the default.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.parameters.units import Dimension, product
from pacsbo_ros.robots.parameters.windows import WindowError

LEAST_WAY = 0.01  # to the target, as a share of the farthest from it: less is no step
Array = NDArray[np.float64]
SECOND: Dimension = (('s', 1),)


def _integral(t: Array, y: Array) -> float:
    return float(np.sum(np.diff(t) * (y[1:] + y[:-1])) / 2)


def _span(t: Array) -> float:
    return float(t[-1] - t[0])


def rms(t: Array, y: Array) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(_integral(t, y * y) / _span(t)))


def peak(t: Array, y: Array) -> float:
    """Return the largest absolute value."""
    return float(np.max(np.abs(y)))


def mean(t: Array, y: Array) -> float:
    """Return the time average."""
    return _integral(t, y) / _span(t)


def iae(t: Array, y: Array) -> float:
    """Return the integral of the absolute value."""
    return _integral(t, np.abs(y))


def itae(t: Array, y: Array) -> float:
    """Return the integral of time × absolute value."""
    since = t - t[0]
    return _integral(t, since * np.abs(y))


def chatter(t: Array, y: Array) -> float:
    """Return the total variation per second."""
    return float(np.sum(np.abs(np.diff(y)))) / _span(t)


def share_of_time(t: Array, y: Array, bound: float) -> float:
    """Return the share of the time in which |y| is above the bound."""
    a, b = np.abs(y[:-1]) - bound, np.abs(y[1:]) - bound
    high, low = np.maximum(a, b), np.minimum(a, b)
    step = np.where(high > low, high - low, 1.0)
    above = np.where(low > 0, 1.0, np.where(high <= 0, 0.0, high / step))
    return float(np.sum(np.diff(t) * above)) / _span(t)


def _way(y: Array, target: float, metric: str) -> float:
    """Return the way from the first value to the target; 0 if nothing ever left the target."""
    way, most = target - y[0], float(np.max(np.abs(y - target)))
    if abs(way) < LEAST_WAY * most:
        raise WindowError(f'{metric} needs a way to the target, but the signal begins at '
                          f'{y[0]:.4g}, its target is {target:g}, and it goes {most:.3g} away')
    return float(way)


def overshoot(t: Array, y: Array, target: float = 0.0) -> float:
    """Return the way beyond the target as a share of the way to it."""
    way = _way(y, target, 'overshoot')
    return max(0.0, float(np.max((y - target) / way))) if way else 0.0


def rise_time(t: Array, y: Array, target: float = 0.0) -> float:
    """Return the time from 10 % to 90 % of the way to the target."""
    way = _way(y, target, 'rise_time')
    if not way:
        return 0.0
    share = (y - y[0]) / way
    begun, arrived = _crossing(t, share, 0.1), _crossing(t, share, 0.9)
    return _span(t) if begun is None or arrived is None else arrived - begun


def _crossing(t: Array, share: Array, level: float) -> float | None:
    """Return when a share first reaches a level, between the samples too."""
    reached = np.flatnonzero(share >= level)
    if not len(reached):
        return None
    k = int(reached[0])
    if k == 0:
        return float(t[0])
    part = (level - share[k - 1]) / (share[k] - share[k - 1])
    return float(t[k - 1] + part * (t[k] - t[k - 1]))


def settling_time(t: Array, y: Array, target: float = 0.0, band: float = 0.02) -> float:
    """Return the time after which the error stays within a share of its first value."""
    _way(y, target, 'settling_time')
    error = np.abs(target - y)
    outside = np.flatnonzero(error > band * error[0])
    if not len(outside):
        return 0.0
    k = int(outside[-1])
    if k + 1 == len(t):
        return _span(t)
    # Where the line between the samples enters the band.
    part = (error[k] - band * error[0]) / (error[k] - error[k + 1])
    return float(t[k] - t[0] + part * (t[k + 1] - t[k]))


@dataclass(frozen=True)
class Metric:
    """A metric, the numbers it takes beside the signal, and the unit of what it gives."""

    function: Callable[..., float]
    required: int = 0
    optional: int = 0
    per_signal: int = 1  # exponent of the signal's unit
    seconds: int = 0  # exponent of s

    def dimension(self, signal: Dimension) -> Dimension:
        """Return the dimension of the metric of a signal of this dimension."""
        result: Dimension = signal if self.per_signal else ()
        for _ in range(abs(self.seconds)):
            result = product(result, SECOND, 1 if self.seconds > 0 else -1)
        return result


METRICS = {
    'rms': Metric(rms), 'peak': Metric(peak), 'mean': Metric(mean),
    'iae': Metric(iae, seconds=1), 'itae': Metric(itae, seconds=2),
    'chatter': Metric(chatter, seconds=-1),
    'share_of_time': Metric(share_of_time, required=1, per_signal=0),
    'overshoot': Metric(overshoot, optional=1, per_signal=0),
    'rise_time': Metric(rise_time, optional=1, per_signal=0, seconds=1),
    'settling_time': Metric(settling_time, optional=2, per_signal=0, seconds=1),
}
