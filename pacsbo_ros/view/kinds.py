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

"""The kinds of episodes that every history tells apart, and the mark of each."""
from __future__ import annotations

from typing import NamedTuple

from pacsbo_ros.view import palette


class Kind(NamedTuple):
    """One kind of episode: its name in legends, and how it is drawn."""

    name: str
    colour: str
    symbol: str  # of ECharts
    marker: str  # of matplotlib


SAFE = Kind('safe', palette.SAFE, 'circle', 'o')
BEST_AGAIN = Kind('best again', palette.BEST, 'diamond', 'D')
START_AGAIN = Kind('best start again', palette.CANDIDATE, 'rect', 's')
UNSAFE = Kind('unsafe', palette.UNSAFE, 'triangle', 'X')
KINDS = (SAFE, BEST_AGAIN, START_AGAIN, UNSAFE)


def kind_of(safe: bool, role: str) -> Kind:
    """Return the kind of an episode that was tried for some reason."""
    if not safe:
        return UNSAFE
    return {'verification': BEST_AGAIN, 'comparison': START_AGAIN}.get(role, SAFE)
