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
PACSBO as a generator of Xopt (3 and newer).

    vocs = VOCS(variables={'p': [1.0, 40.0], 'd': [0.0, 4.0]}, objectives={'reward': 'MAXIMIZE'},
                constraints={'overshoot': ['LESS_THAN', 0.2]})
    X = Xopt(vocs=vocs, evaluator=Evaluator(function=measure),
             generator=XoptPacsbo(vocs=vocs, scales={'overshoot': 0.1}))
    X.evaluate_data([{'p': 8.0, 'd': 0.8}])     # starts that are known to be safe
    X.step()

The constraints of the VOCS are what has to stay safe. `scales` gives the size of a difference that
matters, by the names of outputs: values should be of order one for the model. `settings` are those
of the core.
"""
from __future__ import annotations

import math
from typing import Any, ClassVar

from gest_api.vocs import (
    BoundsConstraint,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
)
from pacsbo_ros.adapters.generator import PacsboGenerator
from pydantic import Field, PrivateAttr
from xopt.generator import Generator

REWARD = 'reward'  # of the rows that the model is told


class XoptPacsbo(Generator):
    """Generate safe points one at a time; what the data hold before the first are the starts."""

    name: ClassVar[str] = 'pacsbo'
    supports_single_objective: bool = True
    supports_constraints: bool = True
    scales: dict[str, float] = Field(default_factory=dict,
                                     description='size of a difference that matters, by output')
    settings: dict[str, Any] = Field(default_factory=dict, description='settings of the core')
    seed: int = 0
    _inner: PacsboGenerator = PrivateAttr()
    _told: int = PrivateAttr(default=0)

    def model_post_init(self, context: Any, /) -> None:
        """Make the model that is asked."""
        super().model_post_init(context)
        outputs = {*self.vocs.objectives, *self.vocs.constraints}
        if unknown := set(self.scales) - outputs:
            raise ValueError(f'scales name {", ".join(sorted(unknown))}; the outputs are '
                             f'{", ".join(sorted(outputs))}')
        self._inner = PacsboGenerator(
            {name: tuple(v.domain) for name, v in self.vocs.variables.items()}, REWARD,
            [f'margin {i}' for i in range(len(self._margins({})))], self.seed, **self.settings)

    def generate(self, n_candidates: int) -> list[dict[str, float]]:
        """Tell what is new, then ask; raises NothingSafe with the reason."""
        rows = [] if self.data is None else self.data.to_dict('records')
        self._inner.ingest([self._row(row) for row in rows[self._told:]])
        self._told = len(rows)
        return self._inner.suggest(n_candidates)

    def _row(self, data: dict[str, Any]) -> dict[str, float]:
        """Return a row of data as the model takes it: inputs, reward, margins."""
        (name, objective), = self.vocs.objectives.items()
        sign = 1.0 if isinstance(objective, MaximizeObjective) else -1.0
        row = {v: data[v] for v in self.vocs.variables}
        row[REWARD] = sign * data[name] / self.scales.get(name, 1.0)
        row |= {f'margin {i}': m for i, m in enumerate(self._margins(data))}
        for output, value in row.items():
            if not math.isfinite(value):
                raise ValueError(f'{output} of an evaluation is {value}; what was measured there '
                                 'is not known to be safe, so give a number')
        return row

    def _margins(self, data: dict[str, Any]) -> list[float]:
        """Return the distances to the constraints, >= 0 where it is safe."""
        margins = []
        for name, constraint in self.vocs.constraints.items():
            value, scale = data.get(name, math.nan), self.scales.get(name, 1.0)
            low, high = _bounds(constraint)
            margins += [distance / scale for bound, distance in (
                (low, value - low), (high, high - value)) if math.isfinite(bound)]
        return margins


def _bounds(constraint: Any) -> tuple[float, float]:
    """Return what a value has to lie between."""
    if isinstance(constraint, BoundsConstraint):
        low, high = constraint.range
        return low, high
    if isinstance(constraint, GreaterThanConstraint):
        return constraint.value, math.inf
    if isinstance(constraint, LessThanConstraint):
        return -math.inf, constraint.value
    raise ValueError(f'constraint {constraint!r} is neither a bound nor a range')
