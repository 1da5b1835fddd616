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

"""The equations of dynamics.py for many states at once, with the same rounding."""
from __future__ import annotations

import numpy as np
from numpy import add, divide, multiply, subtract
from numpy.typing import NDArray
from pacsbo_ros.robots.furuta.dynamics import ONE_24TH, ONE_120TH, SIXTH  # noqa: I101
from pacsbo_ros.robots.furuta.parameters import Coefficients

Array = NDArray[np.float64]


class Integrator:
    """
    Mirror dynamics.rk4 for n states, operation by operation.

    It keeps its memory, its views and its constants as 0-d arrays: at a thousand states half of
    the time would else go into making them.
    """

    def __init__(self, angles: Array, speeds: Array, coefficients: Coefficients,
                 dt: float) -> None:
        """Start from angles and speeds, (2, n); a coefficient may be an array (n,)."""
        n = angles.shape[1]
        self.angles = angles.copy()  # (2, n)
        self.speeds = speeds.copy()  # (2, n)
        self._c = Coefficients(*map(np.array, coefficients))  # type: ignore
        self._sixth, self._two = np.array(dt / 6.0), np.array(2.0)
        self._series = tuple(map(np.array, (1.0, 0.5, SIXTH, ONE_24TH, ONE_120TH)))
        self._reaches = (np.array(0.5 * dt), np.array(0.5 * dt), np.array(dt))
        self._rates = [self.speeds, *np.empty((3, 2, n))]  # speeds at the four stages
        self._accs = list(np.empty((4, 2, n)))
        self._stage_views = [(*rate, *acc) for rate, acc in
                             zip(self._rates, self._accs, strict=True)]
        self._alpha = self.angles[1]
        self._sum = np.empty((2, n))
        self._base_s, self._base_k = np.empty((2, n))  # sine and cosine of alpha
        self._work = tuple(np.empty((5, n)))
        self._drive = np.empty(n)
        self._theta = np.empty(n)  # arm angle at a stage

    def step(self, volts: Array) -> None:
        """Advance angles and speeds in place by one step."""
        rates, accs, work = self._rates, self._accs, self._sum
        multiply(self._c.drive, volts, self._drive)
        np.sin(self._alpha, self._base_s)
        np.cos(self._alpha, self._base_k)
        self._work[0][:] = self._base_s
        self._work[1][:] = self._base_k
        self._theta[:] = self.angles[0]
        self._accelerate(0)
        for stage, reach in enumerate(self._reaches):
            rate = rates[stage + 1]
            multiply(reach, accs[stage], rate)
            add(self.speeds, rate, rate)
            self._turn(reach, self._stage_views[stage][1])
            multiply(reach, self._stage_views[stage][0], self._theta)
            add(self.angles[0], self._theta, self._theta)
            self._accelerate(stage + 1)
        for total, (d1, d2, d3, d4) in ((self.angles, rates), (self.speeds, accs)):
            add(d2, d3, work)
            multiply(self._two, work, work)
            add(d1, work, work)
            add(work, d4, work)
            multiply(self._sixth, work, work)
            add(total, work, total)

    def _turn(self, reach: Array, v: Array) -> None:
        """Mirror dynamics.turn by the angle reach v, into the first two work arrays."""
        one, half, sixth, one_24th, one_120th = self._series
        s, k, d, y, t = self._work
        multiply(reach, v, d)
        multiply(d, d, y)
        multiply(y, one_120th, t)
        subtract(sixth, t, t)
        multiply(y, t, t)
        subtract(one, t, t)
        multiply(d, t, d)  # sine
        multiply(y, one_24th, t)
        subtract(half, t, t)
        multiply(y, t, t)
        subtract(one, t, y)  # cosine
        multiply(self._base_s, y, s)
        multiply(self._base_k, d, t)
        add(s, t, s)
        multiply(self._base_k, y, k)
        multiply(self._base_s, d, t)
        subtract(k, t, k)

    def _accelerate(self, stage: int) -> None:
        """Mirror dynamics.accelerations; sine and cosine are in the first two work arrays."""
        (b0, b1, b2, b4, _, arm_damping, pendulum_damping, coulomb, omega_c_squared, cable,
         cable_rest, _) = self._c
        w, v, theta_acc, f2 = self._stage_views[stage]
        s, k, p, q, f = self._work
        multiply(b1, s, p)
        multiply(p, k, q)
        multiply(q, w, q)
        multiply(b2, k, k)  # m12
        multiply(w, w, f)
        add(f, omega_c_squared, f)
        np.sqrt(f, f)
        divide(coulomb, f, f)
        add(f, arm_damping, f)
        multiply(f, w, f)
        subtract(self._theta, cable_rest, theta_acc)
        multiply(cable, theta_acc, theta_acc)
        subtract(self._drive, theta_acc, theta_acc)
        subtract(theta_acc, f, f)
        multiply(q, w, f2)
        add(q, q, q)
        multiply(b2, s, theta_acc)
        multiply(theta_acc, v, theta_acc)
        add(q, theta_acc, q)
        multiply(q, v, q)
        subtract(f, q, f)  # f1
        multiply(b4, s, q)
        add(f2, q, f2)
        multiply(pendulum_damping, v, q)
        subtract(f2, q, f2)
        multiply(k, f2, q)
        add(q, f, q)
        multiply(p, s, p)
        add(p, b0, p)
        multiply(k, k, f)
        subtract(p, f, p)
        divide(q, p, theta_acc)
        multiply(k, theta_acc, q)
        add(q, f2, f2)
