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
Checkpoints of norm predictors: sealed files, data only; reading one can run nothing.

A file is believed only after size, magic, version, hash, names, shapes and finiteness have been
checked, and used only if it was made for the kernel, dimension, length scales and λ at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import os
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core.kernels import SHAPES
from pacsbo_ros.core.settings import DOMAINS, Settings
from pacsbo_ros.predictor.model import Calibration, feature_count, Network, NormPredictor
from pacsbo_ros.predictor.sealed import (
    CheckpointError,
    demand,
    pack,
    read_range,
    require_inside,
    seal,
    unpack,
    unseal,
)

MAGIC = 'pacsbo_ros norm predictor'
LARGEST_WINDOW = 1000
SHIPPED = Path(__file__).resolve().parent / 'checkpoints'
DEFAULT = 'default'


@dataclass(frozen=True)
class Checkpoint:
    """Hold a predictor and what it was made for and from."""

    predictor: NormPredictor
    kernel: str
    dimension: int
    length_scales: tuple[float, float]  # trained range [unit-cube lengths]
    lam: tuple[float, float]  # trained range of λ/k(x, x)
    training: dict[str, Any]  # seed, numbers of functions, command, ...
    metrics: dict[str, Any]  # measured on functions that were never trained on

    def check_fits(self, settings: Settings) -> None:
        """Refuse settings that the predictor was not trained for."""
        name = self.predictor.path or 'checkpoint'
        if settings.dimension != self.dimension:
            raise CheckpointError(
                f'{name}: dimension is {settings.dimension}; this predictor is for '
                f'{self.dimension}; train one with train_predictor')
        kernels = settings.kernels()
        if any(k != kernels[0] for k in kernels):
            raise CheckpointError(
                f'{name}: output_kernels differ between the outputs; a predictor needs one '
                'kernel for all of them: share it or use no predictor')
        if kernels[0].name != self.kernel:
            raise CheckpointError(
                f'{name}: kernel is {kernels[0].name!r}; this predictor is for {self.kernel!r}; '
                'train one with train_predictor')
        for scale in kernels[0].length_scales:
            require_inside(name, 'length_scales', scale, self.length_scales)
        require_inside(name, 'lam/output_scale', settings.lam / kernels[0].output_scale,
                       self.lam)
        if settings.window < self.predictor.window:
            raise CheckpointError(
                f'{name}: window is {settings.window}; this predictor looks at the last '
                f'{self.predictor.window} iterations: set at least that')


def load_predictor(path: str | os.PathLike[str], settings: Settings) -> NormPredictor:
    """Load the predictor at the path, or 'default' for the shipped one that fits the settings."""
    if str(path) == DEFAULT:
        path = shipped_path(settings)
    checkpoint = load_checkpoint(path)
    checkpoint.check_fits(settings)
    return checkpoint.predictor


def shipped_path(settings: Settings) -> Path:
    """Return the path of the shipped checkpoint for the kernel and dimension of the settings."""
    kernel = settings.kernels()[0].name
    path = SHIPPED / checkpoint_name(kernel, settings.dimension)
    if not path.is_file():
        have = ', '.join(sorted(p.stem for p in SHIPPED.glob('*.json'))) or 'none'
        raise CheckpointError(
            f'no predictor is shipped for kernel {kernel!r} and dimension '
            f'{settings.dimension} (shipped: {have}); train one with train_predictor and give '
            'its path, or use no predictor')
    return path


def checkpoint_name(kernel: str, dimension: int) -> str:
    """Return the file name of the checkpoint of a family."""
    return f'{kernel}_n{dimension}.json'


def save_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> str:
    """Write the checkpoint in one step; give its hash."""
    return seal(path, MAGIC, _encode(checkpoint))


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read and validate a checkpoint; CheckpointError says what is wrong with a bad one."""
    checkpoint, digest = unseal(path, MAGIC, _decode)
    predictor = replace(checkpoint.predictor, hash=digest, path=os.fspath(path))
    return replace(checkpoint, predictor=predictor)


def _encode(checkpoint: Checkpoint) -> dict[str, Any]:
    predictor = checkpoint.predictor
    network, calibration = predictor.network, predictor.calibration
    return {
        'kernel': checkpoint.kernel,
        'dimension': checkpoint.dimension,
        'length_scales': list(checkpoint.length_scales),
        'lam': list(checkpoint.lam),
        'window': predictor.window,
        'domains': list(DOMAINS),
        **encode_network(network),
        'calibration': {
            'coverage': calibration.coverage,
            'length_scales': pack(calibration.length_scales),
            'kappa': pack(calibration.kappa)},
        'training': checkpoint.training,
        'metrics': checkpoint.metrics,
    }


def _decode(content: dict[str, Any]) -> Checkpoint:
    kernel, dimension, window = content['kernel'], content['dimension'], content['window']
    demand(kernel in SHAPES, f'kernel is {kernel!r}')
    demand(type(dimension) is int and 1 <= dimension <= 6, f'dimension is {dimension!r}')
    demand(type(window) is int and 1 <= window <= LARGEST_WINDOW, f'window is {window!r}')
    demand(content['domains'] == list(DOMAINS), f'domains are {content["domains"]!r}')
    P = feature_count(window)
    network = decode_network(content, P)
    part = content['calibration']
    grid, kappa = unpack(part['length_scales']), unpack(part['kappa'])
    coverage = float(part['coverage'])
    demand(grid.ndim == 1 and len(grid) > 0 and bool(np.all(grid > 0))
           and bool(np.all(np.diff(grid) > 0)), 'calibration: length scales have to ascend')
    demand(kappa.shape == (len(grid), len(DOMAINS), window), 'calibration: kappa has no fit')
    demand(bool(np.all(kappa > 0)), 'calibration: a kappa is not positive')
    demand(0 < coverage < 1, f'coverage is {coverage}')
    predictor = NormPredictor(
        network, Calibration(grid, kappa, coverage), window)
    training, metrics = content['training'], content['metrics']
    demand(isinstance(training, dict) and isinstance(metrics, dict), 'training or metrics')
    return Checkpoint(predictor, kernel, dimension, read_range(content['length_scales']),
                      read_range(content['lam']), training, metrics)


def encode_network(network: Network) -> dict[str, Any]:
    """Return the numbers of a network."""
    return {'inputs': {'mean': pack(network.mean), 'scale': pack(network.scale)},
            'layers': [{'weight': pack(weight), 'bias': pack(bias)}
                       for weight, bias in zip(network.weights, network.biases, strict=True)]}


def decode_network(content: dict[str, Any], inputs: int) -> Network:
    """Read a network with so many inputs and one output."""
    mean, scale = unpack(content['inputs']['mean']), unpack(content['inputs']['scale'])
    demand(mean.shape == scale.shape == (inputs,), f'inputs: {inputs} numbers were expected')
    demand(bool(np.all(scale > 0)), 'inputs: a scale is not positive')
    weights = tuple(unpack(layer['weight']) for layer in content['layers'])
    biases = tuple(unpack(layer['bias']) for layer in content['layers'])
    width = inputs
    for weight, bias in zip(weights, biases, strict=True):
        demand(weight.ndim == 2 and weight.shape[0] == width, 'layers do not fit each other')
        width = weight.shape[1]
        demand(bias.shape == (width,), 'a bias does not fit its layer')
    demand(len(weights) > 0 and width == 1, 'the last layer has to have one output')
    return Network(mean, scale, weights, biases)
