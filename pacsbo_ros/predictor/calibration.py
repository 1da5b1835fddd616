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
Split-conformal calibration, by number of entries, domain and length scale.

  symbol   meaning                                                        shape
  y        ln(true local norm / ‖μ_A‖)                                    (M,)
  g        the network's quantile of y                                    (M,)
  score    y/g: how far the network has to be stretched to cover          (M,)
  kappa    the ceil((M + 1)·coverage)-th smallest score of its group      (L, 3, W)

The quantile loss alone is right on average over its training data; the conformal factor makes
it right, for functions exchangeable with the calibration set, in every group by itself
(Mondrian): P(B >= norm) >= coverage whatever the network says. The score is a ratio, not a
difference, so a run that is nearly certain keeps its small margin.
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import DOMAINS
from pacsbo_ros.predictor.data import Trajectories
from pacsbo_ros.predictor.model import Calibration, LEAST_G, Network
from pacsbo_ros.predictor.rows import group

LEAST_KAPPA = 0.05
FEWEST = 60  # a group with fewer functions takes the factor of the group before it


def conformal_quantile(scores: Array, coverage: float) -> float:
    """Return the order statistic that the next exchangeable score stays below with `coverage`."""
    M = len(scores)
    rank = min(int(np.ceil((M + 1) * coverage)), M)
    return float(np.partition(scores, rank - 1)[rank - 1])


def group_scores(network: Network, window: int, runs: Trajectories, step: int,
                 domain: int) -> Array:
    """Return y/g of the runs that have this step, on one domain."""
    X, y = group(runs, step, domain, window)
    return y / np.maximum(network(X), LEAST_G)


def calibrate(
    network: Network, window: int, sets: dict[float, Trajectories], levels: dict[float, float],
) -> Calibration:
    """Calibrate on real-loop trajectories of each length scale, to the coverage of each."""
    scales = sorted(sets)
    kappa = np.empty((len(scales), len(DOMAINS), window))
    for i, scale in enumerate(scales):
        steps = sets[scale].count.shape[1]
        for d in range(len(DOMAINS)):
            for entry in range(window):
                # Beyond the window the network cannot tell the steps apart: they are pooled.
                last = steps if entry == window - 1 else min(entry + 1, steps)
                scores = np.concatenate([np.empty(0), *(
                    group_scores(network, window, sets[scale], step, d)
                    for step in range(entry, last))])
                kappa[i, d, entry] = max(conformal_quantile(scores, levels[scale]), LEAST_KAPPA) \
                    if entry == 0 or len(scores) >= FEWEST else kappa[i, d, entry - 1]
    return Calibration(np.array(scales), kappa, min(levels.values()))


def uncalibrated(window: int, scale: float, coverage: float) -> Calibration:
    """Return the calibration that changes nothing."""
    return Calibration(np.array([scale]), np.ones((1, len(DOMAINS), window)), coverage)
