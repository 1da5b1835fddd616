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
What a network sees of trajectories, and what it should say.

  symbol   meaning                                                 shape
  X        inputs of runs at a step, on a domain                   (M, P)
  y        ln(true local norm / ‖μ_A‖)                             (M,)
"""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import DOMAINS
from pacsbo_ros.predictor.data import Trajectories
from pacsbo_ros.predictor.model import features


def group(runs: Trajectories, step: int, domain: int, window: int) -> tuple[Array, Array]:
    """Return inputs and targets of the runs that have this step, on one domain."""
    live = (runs.count[:, step] > 0) & (runs.mean_norm[:, step] > 0)
    mean_norm = runs.mean_norm[live, :step + 1]
    X = features(mean_norm, runs.r[live, :step + 1, domain], domain, runs.length_scales[live],
                 runs.lam[live], window)
    return X, np.log(runs.label[live, step, domain] / mean_norm[:, -1])


def rows(runs: Trajectories, window: int) -> tuple[Array, Array]:
    """Return inputs and targets of every step of every run on every domain."""
    parts = [group(runs, step, domain, window) for step in range(runs.count.shape[1])
             for domain in range(len(DOMAINS))]
    return (np.concatenate([X.astype(np.float32) for X, _ in parts]),
            np.concatenate([y for _, y in parts]))
