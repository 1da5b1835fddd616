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
The models of all outputs, tested by every value, and what becomes of them after an alarm.

Two things make a model fail: it is too stiff (misfit), or the machine has changed and old values
no longer hold (drift). When the test of `surprise` gives an alarm, both explanations are tried on
all data of all outputs, and the one with the larger evidence is believed: a machine that has
changed has changed for every output, and one that is predicted as well as before speaks against
it. (A rougher edge may be one of several outputs: each may be as it was or too stiff.)

  misfit   the output's length scales become half as long
  drift    with the first surprise an epoch begins, for all outputs: what was measured before tells
           less from now on (`correlations`), and what was safe because of it is no longer

  symbol    meaning                                                              shape
  epoch     of every sample                                                      (N,)
  at        group of every sample: samples of one point in one epoch are one     (N,)
"""

from __future__ import annotations

import math

import numpy as np
from pacsbo_ros.core.averaged import Averaged
from pacsbo_ros.core.correlations import Bank
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.scale import Prior
from pacsbo_ros.core.settings import Settings
from pacsbo_ros.core.surprise import Surprise

SHORTER = 0.5
GREW = 0.1  # ln of the growth of a scale that is worth a word


class Doubts:
    """Hold the models, their tests, and what came of the alarms."""

    def __init__(self, settings: Settings, share: float) -> None:
        s = self.settings = settings
        self.banks = {k: Bank(k, s.max_samples) for k in s.kernels()}
        prior = Prior(s.scale_prior, s.scale_trust)
        self.models = [Averaged(self.banks[k], s.length_scale_factors, prior)
                       for k in s.kernels()]
        self.said: list[str] = []
        self.scales = np.empty(0)  # ŝ of every output, once there are bands
        self.growth = np.zeros(s.outputs)  # ln of what the newest sample made of it
        self._tests = [Surprise(share / s.outputs, s.budget) for _ in self.models]
        self._alarms: dict[int, int] = {}  # by output: the first sample that was a surprise
        self._epochs: list[int] = []
        self._at: list[int] = []
        self._groups: dict[tuple[tuple[float, ...], int], int] = {}

    @property
    def drifted(self) -> bool:
        """Tell whether a drift was found."""
        return bool(self._epochs) and self._epochs[-1] > 0

    def watch(self, X: Array) -> None:
        """Begin to keep posteriors on the candidates."""
        for bank in self.banks.values():
            bank.watch(X)

    def replace(self, where: slice, X: Array) -> None:
        """Put other points into a part of the candidate set."""
        for bank in self.banks.values():
            bank.replace(where, X)
        for model in (m for output in self.models for m in output.models if m.mu.size):
            model.replaced(where)

    def grew(self) -> str:
        """Say which scale grew by more than it does with most samples."""
        each = zip(self.settings.names, self.growth.tolist(), strict=True)
        return ' and '.join(f'the estimated scale of {name} grew by {math.expm1(by):.0%}'
                            for name, by in each if by > GREW)

    def notices(self) -> tuple[str, ...]:
        """Say what came of the alarms, and where length scales or size are not as expected."""
        return (*self.said, *(words for name, model in zip(
            self.settings.names, self.models, strict=True)
            for words in (*model.leaves_grid(name), *model.dwarfed(name))))

    def judge(self, samples: Samples) -> Array:
        """Test the newest sample by models that do not know it yet; give its residuals."""
        residuals = np.zeros(len(self.models))
        for i, (model, test) in enumerate(zip(self.models, self._tests, strict=True)):
            p, residuals[i] = model.surprise(samples.A[-1], float(samples.Y[-1, i]),
                                             float(samples.variances(i)[-1]))
            first = test.add(p, samples.count - 1)
            if first is not None:
                self._alarms[i] = first
        return residuals

    def add(self, samples: Samples) -> None:
        """Take over the newest sample; a repeat is no new point."""
        self._epochs.append(self._epochs[-1] if self._epochs else 0)
        if self._group(tuple(samples.A[-1].tolist()), self._epochs[-1]):
            for bank in self.banks.values():
                bank.add(samples.A[-1], self._epochs[-1])

    def update(self, samples: Samples, rho: float) -> None:
        """Take all samples into the models; after an alarm into such that explain them better."""
        for i, first in self._alarms.items():
            self._explain(samples, i, first)
        self._alarms = {}
        for i, model in enumerate(self.models):
            model.update(*samples.pooled(i, np.array(self._at)), rho)
        before, self.scales = self.scales, np.array([model.scale for model in self.models])
        if len(before):
            self.growth = np.log(self.scales / before)

    def _group(self, point: tuple[float, ...], epoch: int) -> bool:
        """Sort one sample into its group; tell whether that is a new one."""
        new = (point, epoch) not in self._groups
        self._at.append(self._groups.setdefault((point, epoch), len(self._groups)))
        return new

    def _explain(self, samples: Samples, i: int, first: int) -> None:
        at = np.array(self._at)
        misfit = sum(max(model.evidence_of(samples.pooled(j, at), by)
                         for by in ((SHORTER,) if j == i else (SHORTER, 1.0)))
                     + samples.scatter(j, at) for j, model in enumerate(self.models))
        before = self._epochs, self._at, self._groups
        self._regroup(samples, first)
        at, points = np.array(self._at), self._points()
        drift = sum(model.evidence_of(samples.pooled(j, at), points=points)
                    + samples.scatter(j, at) for j, model in enumerate(self.models))
        what = f'{self.settings.names[i]} is not what the model expected since sample {first + 1}'
        if drift > misfit:
            for bank in self.banks.values():
                bank.begin(points)
            self.models = [m.stretched(1.0) for m in self.models]
            self.said.append(f'{what}; what fits best is a drift: samples before it count less '
                             'from now on; check the machine, start anew if it was changed')
        else:
            self._epochs, self._at, self._groups = before
            self.models[i] = self.models[i].stretched(SHORTER)
            self.said.append(f'{what}; what fits best is a rougher function: its length scales '
                             f'are now {SHORTER:g} of what they were; give shorter ones')

    def _regroup(self, samples: Samples, first: int) -> None:
        """Let another epoch begin with a sample."""
        now = self._epochs[-1] + 1
        self._epochs = [now if at >= first else epoch for at, epoch in enumerate(self._epochs)]
        self._at, self._groups = [], {}
        for x, epoch in zip(samples.A.tolist(), self._epochs, strict=True):
            self._group(tuple(x), epoch)

    def _points(self) -> list[tuple[Array, int]]:
        return [(np.array(point), epoch) for point, epoch in self._groups]
