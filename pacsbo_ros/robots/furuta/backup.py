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
Catch the pendulum when gains that are tried lose it: the law behind the experiment.

Trigger. Upright, x' = A x + B V has one unstable mode with the left eigenvector w, w A = lambda w:

    h = w x,  h' = lambda h + (w B) V                 w scaled so that alpha counts once

h is an angle: where the pendulum is heading, alpha + alpha_dot / 14 s^-1 and a little of the arm.
Nothing but the voltage brings it back; lambda h / (w B) volts would hold it where it is. Good
gains answer a large heading with about twice that; gains that fall answer with less, or with so
much that they swing further every time. Known-safe gains take over when

    |h| > reach |alpha limit| and the answer of the gains that are tried is below ENOUGH times
    what would hold it, or |h| > FAR reach |alpha limit| whatever they answer.

Catch. At the control rate of the experiment, 50 Hz, known-safe gains come too late. Taken at every
sample, 200 Hz, the loop has three quarters less hold to bear, so it stands more gain: k_alpha and
k_alpha_dot times 1.5, and 0.3 k_theta, because the arm can wait. Once the heading is small again
the known-safe gains themselves take it home.

Symbol     Meaning
h          heading [rad]
w          (4,) left eigenvector of the unstable mode, w_alpha = 1
lambda     its rate [1/s]
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.linear import linearise
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.presets import CALIBRATED

REACH = 1.05  # share of the angle limit beyond which an answer has to be enough
FAR = 1.5  # times the reach, beyond which no answer is
ENOUGH = 1.5  # of the voltage that holds a heading
URGENT = 0.4  # share of the angle limit below which a heading is small again


@dataclass(frozen=True)
class Backup:
    """Say when which gains take over."""

    gains: Gains = PAPER_GAINS  # known to be safe
    reach: float = REACH  # heading, as a share of the angle limit, at which they may take over
    parameters: Parameters = field(default_factory=lambda: CALIBRATED.parameters)

    def __post_init__(self) -> None:
        if not self.reach > 0:
            raise ValueError(f'reach of the backup is {self.reach}; use a positive number')

    @cached_property
    def _mode(self) -> tuple[tuple[float, float, float, float], float]:
        A, B = linearise(self.parameters)
        rates, modes = np.linalg.eig(A)
        unstable = int(rates.real.argmax())
        w = np.linalg.inv(modes)[unstable].real
        w /= w[1]
        theta, alpha, theta_dot, alpha_dot = w.tolist()
        hold = float(rates[unstable].real / (w @ B[:, 0]))  # V/rad
        return (theta, alpha, theta_dot, alpha_dot), hold

    @property
    def weights(self) -> tuple[float, float, float, float]:
        """Return w, the weights of the heading."""
        return self._mode[0]

    @property
    def enough(self) -> float:
        """Return the volts per radian of heading with which gains have to answer it."""
        return ENOUGH * self._mode[1]

    def heading(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float) -> float:
        """Return where the pendulum is heading, in rad."""
        w = self.weights
        return w[0] * theta + w[1] * alpha + w[2] * theta_dot + w[3] * alpha_dot

    def takes_over(self, heading: float, answer: float, limit: float) -> bool:
        """Tell whether gains that answer a heading with so many volts lose the pendulum."""
        share = abs(heading) / limit
        return share > FAR * self.reach or (
            share > self.reach and answer * heading > -self.enough * (heading * heading))

    def volts(self, theta: float, alpha: float, theta_dot: float, alpha_dot: float,
              limit: float) -> float:
        """Return the voltage that catches, not yet clamped; limit is that of alpha."""
        k = self.gains.as_tuple()
        if abs(self.heading(theta, alpha, theta_dot, alpha_dot)) > URGENT * limit:
            k = 0.3 * k[0], 1.5 * k[1], k[2], 1.5 * k[3]
        return -(k[0] * theta + k[1] * alpha + k[2] * theta_dot + k[3] * alpha_dot)


class Experience:
    """Learn the backup from the episodes that went well."""

    def __init__(self, backup: Backup | None = None) -> None:
        self._first = backup or Backup()
        self._calmest = 0.0  # smallest margin of the gains that are now the backup
        self._gains = self._first.gains

    @property
    def backup(self) -> Backup:
        """Return the backup for the next episode."""
        return replace(self._first, gains=self._gains)

    def learn(self, gains: Gains, margins: tuple[float, ...]) -> None:
        """Take an episode that ran to its end; the largest smallest margin is the calmest."""
        if min(margins) > self._calmest:
            self._calmest, self._gains = min(margins), gains
