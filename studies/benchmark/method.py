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
What a method is: made for a problem and a seed, asked for a point, told a value.

    @method('name')
    class Mine:
        def __init__(self, told: Told, seed: int): ...
        def ask(self) -> Array | None: ...       # None: nothing more to propose
        def tell(self, x: Array, y: Array): ...  # reward, constraints

A method is told the starts before it is asked for the first time. One that cannot run on a problem
raises `Unable` with the reason, which becomes the text of its cell.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from pacsbo_ros.core import Kernel
from pacsbo_ros.core.gp import GaussianProcess, Posterior
from pacsbo_ros.core.kernels import Array
from scipy.stats import qmc
from studies.benchmark.problem import Problem
from studies.worlds import points, SIDE


class Unable(Exception):
    """A method cannot run on a problem, and why."""


class NotInstalled(Unable):
    """A method needs a package that does not run here; its cells stay empty."""


@dataclass(frozen=True)
class Told:
    """All that a method may know; norm and lipschitz are for those that are told the truth."""

    dimension: int
    starts: int
    threshold: float
    budget: int
    noise_bound: float
    kernel: Kernel
    norm: float
    lipschitz: float
    constraints: int  # values beside the reward that have to be safe; none: the reward has to be

    @property
    def safety(self) -> slice:
        """Return the values that have to stay above the threshold."""
        return slice(1, None) if self.constraints else slice(0, 1)

    @classmethod
    def of(cls, problem: Problem) -> Told:
        """Return what a problem tells."""
        return cls(problem.starts.shape[1], len(problem.starts), problem.threshold,
                   problem.budget, problem.noise_bound, problem.kernel, problem.norm,
                   problem.lipschitz, problem.constraints)


class Method(Protocol):
    """Anything that can be asked and told."""

    def ask(self) -> Array | None:
        """Return the next point of the unit cube; None if there is none."""

    def tell(self, x: Array, y: Array) -> None:
        """Take the measured values: the reward, then the constraints."""


METHODS: dict[str, Callable[[Told, int], Method]] = {}


def method(name: str):
    """Enter a method into the table."""
    def enter(make):
        METHODS[name] = make
        return make
    return enter


@lru_cache
def grid(n: int) -> Array:
    """Return the points among which methods on a grid choose; 2^13 above four parameters."""
    if n in SIDE or n == 4:
        return points(n)
    return qmc.Sobol(n, seed=np.random.default_rng(0)).random_base2(13)


class GridModel:
    """A Gaussian process on the grid and at the starts, for the methods that are written anew."""

    def __init__(self, told: Told, lam: float | None = None) -> None:
        self.told, self.starts = told, []
        lam = max(told.noise_bound ** 2, 1e-6) if lam is None else lam
        self.gp = GaussianProcess(told.kernel, lam, 1 + told.constraints)
        self._posterior: Posterior | None = None

    def tell(self, x: Array, y: Array) -> None:
        """Take a sample."""
        row = self.gp.add(np.asarray(x, dtype=float), y)
        if self._posterior is not None:
            self._posterior.extend(row)
        else:
            self.starts.append(np.asarray(x, dtype=float))

    @property
    def posterior(self) -> Posterior:
        """Return mean and variance on the grid and at the starts, which come last."""
        if self._posterior is None:
            X = np.vstack([grid(self.told.dimension), *self.starts])
            self._posterior = Posterior(self.gp, X, self.told.budget)
        return self._posterior

    @property
    def safety_mean(self) -> Array:
        """Return the least mean of the values that have to be safe, shape (G,)."""
        return self.posterior.mu[self.told.safety].min(axis=0)
