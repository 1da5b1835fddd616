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
PACSBO as a generator that is asked for points and given data, as in Xopt and its kin.

    generator = PacsboGenerator({'p': (1.0, 40.0), 'd': (0.0, 4.0)}, 'reward', ['overshoot'])
    generator.ingest([{'p': 8.0, 'd': 0.8, 'reward': 0.3, 'overshoot': 0.2}])   # a safe start
    points = generator.suggest()  # [{'p': ..., 'd': ...}]

Rows are plain dictionaries by name; a data frame gives them by `to_dict('records')`. Constraints
are margins, >= 0 where it is safe.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pacsbo_ros.core import Box, NothingToPropose, SafeOptimizer, Settings


class NothingSafe(RuntimeError):
    """Nothing can be proposed; the message says why and what would help."""


class PacsboGenerator:
    """Suggest safe points by name, learn from rows of data."""

    def __init__(self, variables: Mapping[str, tuple[float, float]], objective: str,
                 constraints: Sequence[str], seed: int = 0, **settings: Any) -> None:
        """Take ranges by name, the name of what is maximised, and the names of the margins."""
        self.box = Box(tuple(variables), tuple(low for low, _ in variables.values()),
                       tuple(high for _, high in variables.values()))
        self.objective, self.constraints = objective, tuple(constraints)
        self.optimizer = SafeOptimizer(Settings(
            dimension=len(variables), constraints=len(self.constraints), **settings), seed)

    def ingest(self, rows: Iterable[Mapping[str, float]]) -> None:
        """Learn from measured rows; those before the first suggestion are the safe starts."""
        for row in rows:
            missing = {*self.box.names, self.objective, *self.constraints} - set(row)
            if missing:
                raise ValueError(f'a row has no {", ".join(sorted(missing))}; give all columns')
            point = self.box.to_unit([row[name] for name in self.box.names])
            self.optimizer.tell(point, [row[self.objective],
                                        *(row[name] for name in self.constraints)])

    def suggest(self, count: int = 1) -> list[dict[str, float]]:
        """Return the next point; one at a time, because safety rests on what the last one gave."""
        if count != 1:
            raise ValueError(f'{count} points asked for; a safe method gives one at a time')
        answer = self.optimizer.ask()
        if isinstance(answer, NothingToPropose):
            raise NothingSafe(answer.reason)
        values = self.box.to_physical(np.asarray(answer.point))
        return [dict(zip(self.box.names, values.tolist(), strict=True))]
