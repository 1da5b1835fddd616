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
Equations of motion of the rotary pendulum, integrated with the classical Runge-Kutta method.

    (a0 + a1 sin^2 alpha) theta'' - a2 cos alpha alpha'' + 2 a1 sin alpha cos alpha theta' alpha'
        + a2 sin alpha alpha'^2 = tau - Dr theta' - tau_c theta' / sqrt(theta'^2 + omega_c^2)
                                  - kc (theta - theta_c)
    -a2 cos alpha theta'' + a3 alpha'' - a1 sin alpha cos alpha theta'^2 - a4 sin alpha
        = -Dp alpha'
    tau = kt (V - km theta') / Rm

where theta is the arm angle, alpha the pendulum angle (zero upright), V the motor voltage.
Positive voltage accelerates theta positively. The sign of the dry friction is smoothed with a
square root and not with a tanh, because a square root is rounded the same way by the scalar and
the vectorised arithmetic; a last digit can flip an encoder count and then the whole trajectory.
For the same reason, and because it is cheaper for many states at once, sine and cosine are taken
once per step and turned by the small angles of its stages.
Scalar floats: NumPy on four numbers would be forty times slower.

State      (theta, alpha, theta_dot, alpha_dot)      rad, rad, rad/s, rad/s
"""
from __future__ import annotations

from math import cos, sin, sqrt

from pacsbo_ros.robots.furuta.parameters import Coefficients

State = tuple[float, float, float, float]

SIXTH, ONE_24TH, ONE_120TH = 1 / 6, 1 / 24, 1 / 120


def accelerations(theta: float, s: float, k: float, theta_dot: float, alpha_dot: float,
                  volts: float, c: Coefficients) -> tuple[float, float]:
    """Return (theta'', alpha'') where s and k are sine and cosine of alpha."""
    (b0, b1, b2, b4, drive, arm_damping, pendulum_damping, coulomb, omega_c_squared, cable,
     cable_rest, _) = c
    p = b1 * s
    m12 = b2 * k
    q = p * k * theta_dot
    friction = coulomb / sqrt(theta_dot * theta_dot + omega_c_squared) + arm_damping
    f1 = (drive * volts - cable * (theta - cable_rest) - friction * theta_dot
          - (q + q + b2 * s * alpha_dot) * alpha_dot)
    f2 = q * theta_dot + b4 * s - pendulum_damping * alpha_dot
    theta_acc = (m12 * f2 + f1) / (p * s + b0 - m12 * m12)
    return theta_acc, m12 * theta_acc + f2


def volts_for_acceleration(wanted: float, theta: float, alpha: float, theta_dot: float,
                           alpha_dot: float, c: Coefficients) -> float:
    """Return the voltage that gives theta'' = wanted, the inverse of accelerations()."""
    s, k = sin(alpha), cos(alpha)
    free, _ = accelerations(theta, s, k, theta_dot, alpha_dot, 0.0, c)
    per_volt = c.drive / (c.b1 * s * s + c.b0 - (c.b2 * k) ** 2)
    return (wanted - free) / per_volt


def turn(s: float, k: float, d: float) -> tuple[float, float]:
    """Turn sine and cosine by a small angle d; the error is below d^6 / 720."""
    y = d * d
    sine = d * (1.0 - y * (SIXTH - y * ONE_120TH))
    cosine = 1.0 - y * (0.5 - y * ONE_24TH)
    return s * cosine + k * sine, k * cosine - s * sine


def rk4(state: State, volts: float, dt: float, steps: int, c: Coefficients) -> State:
    """Advance the state by steps of dt under a constant voltage."""
    theta, alpha, w, v = state
    half = 0.5 * dt
    sixth = dt / 6.0
    for _ in range(steps):
        s = sin(alpha)
        k = cos(alpha)
        w1, v1 = accelerations(theta, s, k, w, v, volts, c)
        wb = w + half * w1
        vb = v + half * v1
        w2, v2 = accelerations(theta + half * w, *turn(s, k, half * v), wb, vb, volts, c)
        wc = w + half * w2
        vc = v + half * v2
        w3, v3 = accelerations(theta + half * wb, *turn(s, k, half * vb), wc, vc, volts, c)
        wd = w + dt * w3
        vd = v + dt * v3
        w4, v4 = accelerations(theta + dt * wc, *turn(s, k, dt * vc), wd, vd, volts, c)
        theta += sixth * (w + 2.0 * (wb + wc) + wd)
        alpha += sixth * (v + 2.0 * (vb + vc) + vd)
        w += sixth * (w1 + 2.0 * (w2 + w3) + w4)
        v += sixth * (v1 + 2.0 * (v2 + v3) + v4)
    return theta, alpha, w, v


def energy(state: State, c: Coefficients) -> float:
    """Return kinetic plus potential energy in joules; zero upright where no cable pulls."""
    theta, alpha, w, v = state
    kinetic = (0.5 * (c.b0 + c.b1 * sin(alpha) ** 2) * w * w
               - c.b2 * cos(alpha) * w * v + 0.5 * v * v)
    spring = 0.5 * c.cable * (theta - c.cable_rest) ** 2
    return c.a3 * (kinetic + spring + c.b4 * (cos(alpha) - 1.0))
