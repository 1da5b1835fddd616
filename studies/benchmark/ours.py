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

"""Our own methods and SafeOpt, by the core of the package."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.core.settings import factors
from pacsbo_ros.predictor import CheckpointError, load_predictor
from pacsbo_ros.predictor.multiplier import load_multiplier_checkpoint, MultiplierPredictor
from studies.baselines import CONSTANT_BETA, constant_beta
from studies.benchmark.method import method, Told, Unable
from studies.worlds import SIDE

MULTIPLIERS = Path(__file__).parents[2] / 'docs' / 'predictor' / 'multiplier.json'


def _problem(told: Told) -> dict[str, Any]:
    """Return the settings that describe the problem."""
    n = told.dimension
    return {'dimension': n, 'constraints': told.constraints,
            'reward_threshold': None if told.constraints else told.threshold,
            'starts': told.starts, 'budget': told.budget,
            'kernel': told.kernel.name, 'length_scales': told.kernel.length_scales,
            'noise_bound': told.noise_bound, 'candidates': SIDE[n] ** n if n in SIDE else 0}


@lru_cache
def _multipliers() -> MultiplierPredictor:
    """Read the predictor once."""
    return load_multiplier_checkpoint(MULTIPLIERS).predictor


class _Core:
    """Ask and tell an optimiser of the core."""

    def __init__(self, settings: Settings, seed: int, **options: Any) -> None:
        self._optimizer = SafeOptimizer(settings, seed, **options)

    def ask(self) -> Array | None:
        """Return its proposal."""
        answer = self._optimizer.ask()
        return None if isinstance(answer, NothingToPropose) else np.array(answer.point)

    def tell(self, x: Array, y: Array) -> None:
        """Pass values on."""
        self._optimizer.tell(x, y)


@method('pacsbo')
def default(told: Told, seed: int) -> _Core:
    """Return the default of the package."""
    return _Core(Settings(**_problem(told)), seed)


@method('pacsbo, size told')
def sized(told: Told, seed: int) -> _Core:
    """Return the default with values of size one expected, as a kernel of variance one is."""
    return _Core(Settings(**_problem(told), scale_prior=1.0), seed)


@method('pacsbo, ℓ from data')
def averaged(told: Told, seed: int) -> _Core:
    """Return the default that takes the told length scale for a first guess."""
    return _Core(Settings(**_problem(told), length_scale_factors=factors(told.dimension)), seed)


@method('pacsbo with multipliers')
def multiplied(told: Told, seed: int) -> _Core:
    """Return the default with the trained predictor of multipliers."""
    predictor = _multipliers()
    if told.dimension not in predictor.dimensions:
        known = ', '.join(map(str, predictor.dimensions))
        raise Unable(f'the predictor knows {known} parameters')
    return _Core(Settings(**_problem(told)), seed, predictor=predictor)


@method('pacsbo as in the paper')
def paper(told: Told, seed: int) -> _Core:
    """Return the paper's choices with its predictor."""
    settings = Settings.paper(**_problem(told))
    try:
        return _Core(settings, seed, predictor=load_predictor('default', settings))
    except CheckpointError as error:
        raise Unable(f'no predictor: {error}') from error


def _safeopt(told: Told, seed: int, B: float) -> _Core:
    if not np.isfinite(B):
        raise Unable('the norm is not known')
    settings = Settings(**_problem(told), rule='scale_free', choice='safeopt')
    return _Core(settings.with_norm(B), seed)


@method('SafeOpt, B = norm')
def safeopt_true(told: Told, seed: int) -> _Core:
    """Return SafeOpt with the true norm."""
    return _safeopt(told, seed, told.norm)


@method('SafeOpt, B = 10')
def safeopt_ten(told: Told, seed: int) -> _Core:
    """Return SafeOpt with a guessed norm."""
    return _safeopt(told, seed, 10.0)


@method('SafeOpt, B = 2.5')
def safeopt_small(told: Told, seed: int) -> _Core:
    """Return SafeOpt with a guess that is too small for the functions of LoSBO's study."""
    return _safeopt(told, seed, 2.5)


@method('SafeOpt, β = 2')
def safeopt_beta(told: Told, seed: int) -> _Core:
    """Return SafeOpt as its users run it."""
    settings = Settings(**_problem(told), rule='scale_free', choice='safeopt')
    return _Core(constant_beta(settings).with_norm(CONSTANT_BETA), seed)
