# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Predictor checkpoints: JSON with base64 arrays, data only; reading one can run nothing.

    {"magic": "pacsbo_ros norm predictor", "version": 1, "sha256": "...", "content": {...}}

The hash is that of the content written with sorted keys and no white space. A file is believed
only after size, magic, version, hash, names, shapes and finiteness have been checked, and used
only if it was made for the kernel, dimension, length scales and λ at hand.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from pacsbo_ros.core.kernels import Array, SHAPES
from pacsbo_ros.core.settings import DOMAINS, Settings
from pacsbo_ros.files import FileError, parse_json, read_bytes
from pacsbo_ros.predictor.model import Calibration, feature_count, Network, NormPredictor

MAGIC = 'pacsbo_ros norm predictor'
VERSION = 1
LARGEST_FILE = 2_000_000  # bytes; a checkpoint has a tenth of this
LARGEST_WINDOW = 1000
SHIPPED = Path(__file__).resolve().parent / 'checkpoints'
DEFAULT = 'default'
SLACK = 1e-9  # relative, on the limits of the trained ranges


class CheckpointError(ValueError):
    """Say what is wrong with a checkpoint, or why it does not fit, and what to do."""


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
            _require_inside(name, 'length_scales', scale, self.length_scales)
        _require_inside(name, 'lam/output_scale', settings.lam / kernels[0].output_scale,
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
    """Give the path of the shipped checkpoint for the kernel and dimension of the settings."""
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
    """Give the file name of the checkpoint of a family."""
    return f'{kernel}_n{dimension}.json'


def save_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> str:
    """Write the checkpoint in one step, so that no reader sees half of it; give its hash."""
    content = _encode(checkpoint)
    digest = _digest(content)
    text = json.dumps({'magic': MAGIC, 'version': VERSION, 'sha256': digest, 'content': content},
                      indent=1, sort_keys=True, allow_nan=False)
    target = Path(path)
    part = target.with_name(target.name + '.part')
    part.write_text(text + '\n', encoding='utf-8')
    os.replace(part, target)
    return digest


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read and validate a checkpoint; CheckpointError says what is wrong with a bad one."""
    name = os.fspath(path)
    try:
        raw = read_bytes(path, LARGEST_FILE)
    except FileError as error:
        raise CheckpointError(str(error)) from error
    try:
        data = parse_json(raw, name, LARGEST_FILE)
    except FileError as error:
        raise CheckpointError(
            f'{error}; not a predictor checkpoint, or a truncated one') from error
    if not isinstance(data, dict) or data.get('magic') != MAGIC:
        raise CheckpointError(f'{name}: not a predictor checkpoint (magic is missing)')
    version = data.get('version')
    if type(version) is not int or version < 1:
        raise CheckpointError(f'{name}: version is {version!r}; a positive number was expected')
    if version > VERSION:
        raise CheckpointError(
            f'{name}: version is {version}, from the future; this program reads up to '
            f'{VERSION}: update pacsbo_ros')
    content: Any = data.get('content')
    try:
        _demand(isinstance(content, dict) and data.get('sha256') == _digest(content),
                'the content does not have the stated hash')
        checkpoint = _decode(content)
    except CheckpointError as error:
        raise CheckpointError(f'{name}: corrupt: {error}') from error
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError,
            binascii.Error) as error:
        raise CheckpointError(f'{name}: corrupt: {error!r}') from error
    predictor = replace(checkpoint.predictor, hash=data['sha256'], path=name)
    return replace(checkpoint, predictor=predictor)


def _require_inside(name: str, what: str, value: float, limits: tuple[float, float]) -> None:
    low, high = limits
    if not low * (1 - SLACK) <= value <= high * (1 + SLACK):
        raise CheckpointError(
            f'{name}: {what} is {value:g}; this predictor was trained between {low:g} and '
            f'{high:g}: choose a value inside or train one with train_predictor')


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(',', ':'), allow_nan=False)
    return hashlib.sha256(text.encode('utf-8')).hexdigest()


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
        'inputs': {'mean': _pack(network.mean), 'scale': _pack(network.scale)},
        'layers': [{'weight': _pack(weight), 'bias': _pack(bias)}
                   for weight, bias in zip(network.weights, network.biases, strict=True)],
        'calibration': {
            'coverage': calibration.coverage,
            'length_scales': _pack(calibration.length_scales),
            'kappa': _pack(calibration.kappa)},
        'training': checkpoint.training,
        'metrics': checkpoint.metrics,
    }


def _decode(content: dict[str, Any]) -> Checkpoint:
    kernel, dimension, window = content['kernel'], content['dimension'], content['window']
    _demand(kernel in SHAPES, f'kernel is {kernel!r}')
    _demand(type(dimension) is int and 1 <= dimension <= 6, f'dimension is {dimension!r}')
    _demand(type(window) is int and 1 <= window <= LARGEST_WINDOW, f'window is {window!r}')
    _demand(content['domains'] == list(DOMAINS), f'domains are {content["domains"]!r}')
    P = feature_count(window)
    mean, scale = _unpack(content['inputs']['mean']), _unpack(content['inputs']['scale'])
    _demand(mean.shape == scale.shape == (P,), f'inputs: {P} numbers were expected')
    _demand(bool(np.all(scale > 0)), 'inputs: a scale is not positive')
    weights = tuple(_unpack(layer['weight']) for layer in content['layers'])
    biases = tuple(_unpack(layer['bias']) for layer in content['layers'])
    width = P
    for weight, bias in zip(weights, biases, strict=True):
        _demand(weight.ndim == 2 and weight.shape[0] == width, 'layers do not fit each other')
        width = weight.shape[1]
        _demand(bias.shape == (width,), 'a bias does not fit its layer')
    _demand(len(weights) > 0 and width == 1, 'the last layer has to have one output')
    part = content['calibration']
    grid, kappa = _unpack(part['length_scales']), _unpack(part['kappa'])
    coverage = float(part['coverage'])
    _demand(grid.ndim == 1 and len(grid) > 0 and bool(np.all(grid > 0))
            and bool(np.all(np.diff(grid) > 0)), 'calibration: length scales have to ascend')
    _demand(kappa.shape == (len(grid), len(DOMAINS), window), 'calibration: kappa has no fit')
    _demand(bool(np.all(kappa > 0)), 'calibration: a kappa is not positive')
    _demand(0 < coverage < 1, f'coverage is {coverage}')
    predictor = NormPredictor(
        Network(mean, scale, weights, biases), Calibration(grid, kappa, coverage), window)
    training, metrics = content['training'], content['metrics']
    _demand(isinstance(training, dict) and isinstance(metrics, dict), 'training or metrics')
    return Checkpoint(predictor, kernel, dimension, _range(content['length_scales']),
                      _range(content['lam']), training, metrics)


def _demand(holds: bool, problem: str) -> None:
    if not holds:
        raise CheckpointError(problem)


def _range(pair: Any) -> tuple[float, float]:
    low, high = (float(x) for x in pair)
    _demand(0 < low <= high < math.inf, f'a range is {pair!r}')
    return low, high


def _pack(array: Array) -> dict[str, Any]:
    data = np.ascontiguousarray(array, dtype='<f4')
    return {'shape': list(data.shape), 'float32': base64.b64encode(data.tobytes()).decode()}


def _unpack(packed: dict[str, Any]) -> Array:
    shape = packed['shape']
    _demand(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape),
            f'shape is {shape!r}')
    data = np.frombuffer(base64.b64decode(packed['float32'], validate=True), dtype='<f4')
    _demand(data.size == math.prod(shape), f'{data.size} numbers for shape {shape}')
    _demand(bool(np.all(np.isfinite(data))), 'a number is not finite')
    return data.reshape(shape).astype(float)
