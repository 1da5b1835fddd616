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
Linearisation about upright and the discrete linear-quadratic regulator.

    x' = A x + B V        x = (theta, alpha, theta_dot, alpha_dot)
    V = -K x              minimises the sum of x' Q x + V' R V over samples

Symbol     Shape     Meaning
A, B       (4, 4), (4, 1)   continuous or sampled system
Q, R       (4, 4), (1, 1)   weights
K          (4,)             gains, in state order
"""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.parameters import Parameters
from scipy.linalg import expm, solve_discrete_are

Array = NDArray[np.float64]


def linearise(parameters: Parameters) -> tuple[Array, Array]:
    """Return A and B upright; dry friction, which has no linear part, is left out."""
    c = parameters.coefficients
    mass = np.array([[c.b0, -c.b2], [-c.b2, 1.0]])
    stiffness = np.array([[-c.cable, 0.0], [0.0, c.b4]])
    damping = np.diag([-c.arm_damping, -c.pendulum_damping])
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = np.linalg.solve(mass, stiffness)
    A[2:, 2:] = np.linalg.solve(mass, damping)
    B = np.zeros((4, 1))
    B[2:, 0] = np.linalg.solve(mass, [c.drive, 0.0])
    return A, B


def discretise(A: Array, B: Array, period: float) -> tuple[Array, Array]:
    """Sample the system with a zero-order hold of the given period in seconds."""
    if not 0 < period < np.inf:
        raise ValueError(f'sampling period is {period} s; use a positive number')
    n, m = B.shape
    block = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * period)
    return block[:n, :n], block[:n, n:]


def lqr(parameters: Parameters, q: ArrayLike = (1.0, 10.0, 0.0, 0.0), r: float = 0.01,
        period: float = 0.02) -> Gains:
    """Return the gains that are optimal for the linear plant held over the period."""
    weights = np.asarray(q, float)
    if weights.shape != (4,) or not (weights >= 0).all() or not r > 0:
        raise ValueError(f'LQR weights q {weights}, r {r}: give four numbers of zero or '
                         'more and a positive one')
    A, B = discretise(*linearise(parameters), period)
    R = np.array([[r]])
    P = solve_discrete_are(A, B, np.diag(weights), R)
    return Gains.from_sequence(np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0])
