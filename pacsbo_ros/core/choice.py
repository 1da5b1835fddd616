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
The interface of a choice: which of the safe candidates is measured next.

A choice looks at a `View` and gives the index of a candidate and its role, or None when nothing is
worth measuring. It may be used with every rule: it sees bands and covariances, not norms. To write
one: a file in `choices/` with a function under `@choice('name')`, imported in `choices/__init__`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.rule import Rule
from pacsbo_ros.core.samples import Samples
from pacsbo_ros.core.settings import Settings


@dataclass(frozen=True)
class View:
    """Hold what a choice may look at; it may change nothing of it."""

    settings: Settings
    seed: int
    samples: Samples
    rule: Rule  # for covariance, nugget and groups
    band: Band
    S: np.ndarray  # (G,) known to be safe
    X: Array  # (G, n) candidates
    h_min: Array  # (m,) thresholds, -inf for a free reward


Choice = Callable[[View], tuple[int, str] | None]
CHOICES: dict[str, Choice] = {}


def choice(name: str) -> Callable[[Choice], Choice]:
    """Enter a choice under a name of the settings."""
    def enter(made: Choice) -> Choice:
        CHOICES[name] = made
        return made
    return enter
