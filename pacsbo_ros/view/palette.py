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

"""The colours that rviz, the live page, the plots and the report share."""
from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

SAFE, UNSAFE = '#2aa198', '#e5484d'
BEST, CANDIDATE, BOUNDARY = '#f2b01e', '#9b6dff', '#0b3d3a'
HULL, ENLARGED = '#1c6dd0', '#6aa9f4'
IDLE, MUTED = '#8b98a5', '#5b6772'
DOMAINS = (HULL, ENLARGED, '#e07b39')  # hull, enlarged, box

# Lower bound of the tightest constraint, from nothing known to surely safe; 0 is the pale middle.
MARGIN_STOPS = ('#2a3441', '#8c5a50', '#f5e6cf', '#4fb8a8', '#0c7a70')
MARGIN_SPAN = 1.0  # the colours saturate at minus and plus this

# What the safety monitor says, by the codes of SafetyStatus; the last one is silence.
VERDICT_COLOURS = (IDLE, SAFE, UNSAFE, MUTED)
VERDICT_WORDS = ('disarmed', 'armed', 'STOPPED', 'no verdict')
SILENT = 3

# One colour for each constraint or signal, in their order; told apart by the colour-blind too.
SERIES = ('#3b9ddd', '#e6a23c', '#b07aa1', '#76b7b2', '#d37295', '#9c755f')

FUNCTIONS = ('#c9d4df', *SERIES)  # the reward, then the constraints


def verdict_colour(verdict: int) -> str:
    """Return the colour of a verdict, also of one that is not known here."""
    return VERDICT_COLOURS[verdict] if 0 <= verdict < len(VERDICT_COLOURS) else MUTED


def verdict_words(verdict: int) -> str:
    """Return a verdict in words, also one that is not known here."""
    return (VERDICT_WORDS[verdict] if 0 <= verdict < len(VERDICT_WORDS)
            else f'verdict {verdict}')


def rgb(colour: str) -> tuple[float, float, float]:
    """Return a #rrggbb colour as three numbers in [0, 1]."""
    red, green, blue = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def margin_rgb(margin: float) -> tuple[float, float, float]:
    """Return the colour of a constraint margin, by linear interpolation between the stops."""
    share = (min(max(margin / MARGIN_SPAN, -1.0), 1.0) + 1.0) / 2.0 * (len(MARGIN_STOPS) - 1)
    left = min(bisect_right(range(len(MARGIN_STOPS)), share) - 1, len(MARGIN_STOPS) - 2)
    part = share - left
    low, high = rgb(MARGIN_STOPS[left]), rgb(MARGIN_STOPS[left + 1])
    red, green, blue = (a + part * (b - a) for a, b in zip(low, high, strict=True))
    return red, green, blue


def margin_colours(margins: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the colours of many margins; the last axis is red, green, blue from 0 to 255."""
    at = np.linspace(-MARGIN_SPAN, MARGIN_SPAN, len(MARGIN_STOPS))
    stops = np.array([rgb(stop) for stop in MARGIN_STOPS])
    return np.rint(255 * np.stack([np.interp(margins, at, stops[:, i]) for i in range(3)],
                                  axis=-1)).astype(np.uint8)
