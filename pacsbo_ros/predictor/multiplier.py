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
The predictor η of the rule `student`: by how much its band has to be wider, in numpy alone.

  symbol     meaning                                                              shape
  history    how the model has fared so far, see `core.history`                   (H, 5)
  x          inputs of the network, all without a scale                           (P,)
  g          its output: a quantile of the share (μ - h)/(μ - low) of the plain     scalar
             band that the truth takes up at the edge of the safe set
  c          constant that makes it right for whole runs, by number of            (D,)

Parameters
----------
    m = max(1, c·g(x)),  at most MOST

The floor is 1: where the model fares as it says, the band is that of the posterior and its
guarantee stands; a predictor, however it was trained or damaged, can only make it wider.

"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
import os
from typing import Any

import numpy as np
from pacsbo_ros.core.history import COLUMNS
from pacsbo_ros.core.kernels import Array, SHAPES
from pacsbo_ros.core.settings import Settings
from pacsbo_ros.predictor.checkpoint import decode_network, DEFAULT, encode_network, SHIPPED
from pacsbo_ros.predictor.model import Network
from pacsbo_ros.predictor.sealed import (
    CheckpointError,
    demand,
    read_range,
    require_inside,
    seal,
    unseal,
)

MAGIC = 'pacsbo_ros multiplier predictor'
FLOOR, MOST = 1.0, 10.0
LAGS = (1, 3, 8)  # samples back over which surprises are summed
CUT = 15.0  # largest difference of evidence that is told apart
INPUTS = 4 + 2 * (len(LAGS) + 1) + 3
FILE, KERNEL = 'multiplier.json', 'matern32'  # what is shipped, and trained for


def features(history: Array, dimension: int) -> Array:
    """Return the network's inputs, shape (P,)."""
    residual, growth, shorter, longer, samples = (history[:, i] for i in range(len(COLUMNS)))
    e = np.arcsinh(residual[1:]) if len(history) > 1 else np.zeros(1)
    spans = [-lag for lag in LAGS] + [None]
    return np.array([
        math.log(samples[-1]), math.log(len(history)),
        *np.clip((shorter[-1], longer[-1]), -CUT, CUT),
        *(math.sqrt(float(np.mean(e[span:] ** 2))) for span in spans),
        *(float(np.sum(growth[span:])) for span in spans),
        float(e.min()), float(e.max()), math.log(dimension)])


@dataclass(frozen=True)
class MultiplierPredictor:
    """Say by how much the band of `student` has to be wider; pure, so that runs repeat."""

    network: Network
    dimensions: tuple[int, ...]
    constants: tuple[float, ...]  # c, one for each dimension
    hash: str = ''  # noqa: A003
    path: str = ''

    def multiplier(self, history: Array, settings: Settings) -> float:
        """Return m >= 1."""
        c = self.constants[self.dimensions.index(settings.dimension)]
        return self.widened(c, self.raw(history, settings.dimension))

    def raw(self, history: Array, dimension: int) -> float:
        """Return the network's own output g >= 0."""
        return float(self.network(features(history, dimension)[None])[0])

    @staticmethod
    def widened(c: float, g: float) -> float:
        """Return the multiplier of an output."""
        return min(max(FLOOR, c * g), MOST)


@dataclass(frozen=True)
class MultiplierCheckpoint:
    """Hold a predictor and what it was made for and from."""

    predictor: MultiplierPredictor
    kernel: str
    length_scales: tuple[tuple[float, float], ...]  # trained range, for each dimension
    training: dict[str, Any]
    metrics: dict[str, Any]  # measured on functions that were never trained on

    def check_fits(self, settings: Settings) -> None:
        """Refuse settings that the predictor was not trained for."""
        eta = self.predictor
        name = eta.path or 'checkpoint'
        if settings.rule != 'student':
            raise CheckpointError(f'{name}: rule is {settings.rule!r}; this predictor is for the '
                                  "rule 'student'")
        if settings.dimension not in eta.dimensions:
            raise CheckpointError(
                f'{name}: dimension is {settings.dimension}; this predictor is for '
                f'{", ".join(map(str, eta.dimensions))}: use no predictor, or train one')
        limits = self.length_scales[eta.dimensions.index(settings.dimension)]
        for kernel in settings.kernels():
            if kernel.name != self.kernel:
                raise CheckpointError(
                    f'{name}: kernel is {kernel.name!r}; this predictor is for {self.kernel!r}: '
                    'use no predictor, or train one')
            for scale in kernel.length_scales:
                require_inside(name, 'length_scales', scale, limits)


def load_multiplier(path: str | os.PathLike[str], settings: Settings) -> MultiplierPredictor:
    """Load the predictor at the path, or 'default' for the shipped one."""
    if str(path) == DEFAULT:
        path = SHIPPED / FILE
        if not path.is_file():
            raise CheckpointError('no predictor of multipliers is shipped, docs/predictor.md says '
                                  'why; train one with train_multiplier and give its path')
    checkpoint = load_multiplier_checkpoint(path)
    checkpoint.check_fits(settings)
    return checkpoint.predictor


def save_multiplier(path: str | os.PathLike[str], checkpoint: MultiplierCheckpoint) -> str:
    """Write the checkpoint in one step; give its hash."""
    eta = checkpoint.predictor
    return seal(path, MAGIC, {
        'kernel': checkpoint.kernel,
        'dimensions': [{'dimension': n, 'constant': c, 'length_scales': list(scales)}
                       for n, c, scales in zip(eta.dimensions, eta.constants,
                                               checkpoint.length_scales, strict=True)],
        **encode_network(eta.network),
        'training': checkpoint.training,
        'metrics': checkpoint.metrics})


def load_multiplier_checkpoint(path: str | os.PathLike[str]) -> MultiplierCheckpoint:
    """Read and validate a checkpoint; CheckpointError says what is wrong with a bad one."""
    checkpoint, digest = unseal(path, MAGIC, _decode)
    predictor = replace(checkpoint.predictor, hash=digest, path=os.fspath(path))
    return replace(checkpoint, predictor=predictor)


def _decode(content: dict[str, Any]) -> MultiplierCheckpoint:
    kernel, parts = content['kernel'], content['dimensions']
    demand(kernel in SHAPES, f'kernel is {kernel!r}')
    demand(isinstance(parts, list) and len(parts) > 0, f'dimensions are {parts!r}')
    numbers, constants = [p['dimension'] for p in parts], [float(p['constant']) for p in parts]
    demand(all(type(n) is int and 1 <= n <= 6 for n in numbers)
           and len(set(numbers)) == len(numbers), f'dimensions are {numbers!r}')
    demand(all(0 < c < math.inf for c in constants), f'constants are {constants!r}')
    training, metrics = content['training'], content['metrics']
    demand(isinstance(training, dict) and isinstance(metrics, dict), 'training or metrics')
    predictor = MultiplierPredictor(
        decode_network(content, INPUTS), tuple(numbers), tuple(constants))
    return MultiplierCheckpoint(
        predictor, kernel, tuple(read_range(p['length_scales']) for p in parts), training, metrics)
