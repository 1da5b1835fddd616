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
How well the model of one output has fared so far, in numbers without a scale.

  column     meaning
  residual   (y - μ(x))/sqrt(σ²(x) + r²) of the newest sample, by the model before it
  growth     ln of ŝ by which the newest sample made the scale larger
  shorter    ln p(y | half the length scales) - ln p(y | the model)
  longer     ln p(y | twice the length scales) - ln p(y | the model)
  samples    N, told so far, starts included

One row per sample from the last start on, the oldest first; in the first row, that of the starts,
residual and growth are 0. "The model" averages over `length_scale_factors`; with one factor it is
the length scale that was told. Multiplying all values by a number changes no column.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import Settings

COLUMNS = ('residual', 'growth', 'shorter', 'longer', 'samples')
RIVALS = (0.5, 2.0)  # factors of the told length scales that the model is compared with
LEAST_MULTIPLIER = 0.5  # a multiplier below it counts as this


@runtime_checkable
class Multiplier(Protocol):
    """A predictor for the rule `student`: by how much its band is to be wider or narrower."""

    def multiplier(self, history: Array, settings: Settings) -> float:
        """
        Return the factor on the quantile q of one output, finite and > 0; 1 changes nothing.

        history: shape (H, len(COLUMNS)), at most `settings.window` rows and at least one, not
        padded; to be read only. It is called for every output after every sample. No state may be
        kept: the same history must give the same answer, or a record would not continue
        identically.
        """


class Histories:
    """Keep the history of every output, and ask a predictor about it."""

    def __init__(self, settings: Settings, asked: object) -> None:
        if asked is not None and not isinstance(asked, Multiplier):
            raise ValueError("rule is 'student', and the predictor guesses norms; give one with "
                             'multiplier(history, settings), or none')
        self.settings, self.asked = settings, asked
        self.rows: list[list[tuple[float, ...]]] = [[] for _ in range(settings.outputs)]

    def multiplier(self, output: int, residual: float, growth: float, shorter: float,
                   longer: float, samples: int) -> float:
        """Append a row to the history of an output, and give the multiplier of its band."""
        assert self.asked is not None
        rows = self.rows[output]
        rows.append((residual, growth, shorter, longer, float(samples)))
        window = np.array(rows[-self.settings.window:])
        word = float(self.asked.multiplier(window, self.settings))
        if not 0.0 < word < np.inf:
            raise ValueError(f'predictor gave the multiplier {word}; give a positive number; '
                             f'history {window.tolist()}')
        return max(word, LEAST_MULTIPLIER)
