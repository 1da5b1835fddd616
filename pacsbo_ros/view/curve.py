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

"""What every picture of one tuned value shows: which part, how high, and where it is safe."""
from __future__ import annotations

from typing import Any

import numpy as np
from pacsbo_ros.view.slices import LOWER, MEAN, Slices, UPPER


def close_up(item: Slices) -> tuple[float, float]:
    """Return the part of a curve around all that was tried, with room to grow."""
    s = item.slices[0]
    known = np.concatenate([item.samples[:, 0], s.hull[:, 0], s.enlarged[:, 0]])
    if not len(known):
        return item.lower[0], item.upper[0]
    room = max(0.35 * float(np.ptp(known)), 0.075 * (item.upper[0] - item.lower[0]))
    return (float(f'{max(known.min() - room, item.lower[0]):.4g}'),
            float(f'{min(known.max() + room, item.upper[0]):.4g}'))


def heights(band: Any, told: Any, threshold: float | None) -> tuple[float, float]:
    """Return what an axis must show: samples, mean and threshold, and as much band again."""
    known = np.concatenate([band[MEAN], told, [] if threshold is None else [threshold]])
    low, high = float(known.min()), float(known.max())
    room = max(high - low, 1e-3 * max(1.0, abs(low), abs(high)))
    return (float(f'{max(low - room, min(band[LOWER].min(), low - 0.1 * room)):.4g}'),
            float(f'{min(high + room, max(band[UPPER].max(), high + 0.1 * room)):.4g}'))


def safe_intervals(item: Slices) -> list[tuple[float, float]]:
    """Return from where to where the safe set of a curve goes."""
    safe = item.slices[0].safe[0]
    x = item.axis(0, len(safe))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], safe.astype(int), [0]])))
    return [(float(x[a]), float(x[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]
