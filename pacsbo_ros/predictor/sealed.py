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
Files of numbers that can be trusted or are refused: JSON with base64 arrays, data only.

    {"magic": "...", "version": 1, "sha256": "...", "content": {...}}

The hash is that of the content written with sorted keys and no white space. Reading one can run
nothing; size, magic, version and hash are checked here, the content by whoever asked for it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.files import FileError, parse_json, read_bytes

VERSION = 1
LARGEST_FILE = 2_000_000  # bytes; a checkpoint has a tenth of this
SLACK = 1e-9  # relative, on the limits of the trained ranges
T = TypeVar('T')


class CheckpointError(ValueError):
    """Say what is wrong with a checkpoint, or why it does not fit, and what to do."""


def seal(path: str | os.PathLike[str], magic: str, content: dict[str, Any]) -> str:
    """Write the content in one step, so that no reader sees half of it; give its hash."""
    digest = _digest(content)
    text = json.dumps({'magic': magic, 'version': VERSION, 'sha256': digest, 'content': content},
                      indent=1, sort_keys=True, allow_nan=False)
    target = Path(path)
    part = target.with_name(target.name + '.part')
    part.write_text(text + '\n', encoding='utf-8')
    os.replace(part, target)
    return digest


def unseal(path: str | os.PathLike[str], magic: str,
           decode: Callable[[dict[str, Any]], T]) -> tuple[T, str]:
    """Read, check and decode a file; give its hash too. CheckpointError says what is wrong."""
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
    if not isinstance(data, dict) or not isinstance(data.get('magic'), str):
        raise CheckpointError(f'{name}: not a predictor checkpoint (magic is missing)')
    if data['magic'] != magic:
        raise CheckpointError(f'{name}: not a predictor checkpoint of the kind that is needed: '
                              f'it says {data["magic"][:60]!r}, and {magic!r} was expected')
    version = data.get('version')
    if type(version) is not int or version < 1:
        raise CheckpointError(f'{name}: version is {version!r}; a positive number was expected')
    if version > VERSION:
        raise CheckpointError(
            f'{name}: version is {version}, from the future; this program reads up to '
            f'{VERSION}: update pacsbo_ros')
    content = data.get('content')
    try:
        if not isinstance(content, dict) or data.get('sha256') != _digest(content):
            raise CheckpointError('the content does not have the stated hash')
        return decode(content), data['sha256']
    except CheckpointError as error:
        raise CheckpointError(f'{name}: corrupt: {error}') from error
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError,
            binascii.Error) as error:
        raise CheckpointError(f'{name}: corrupt: {error!r}') from error


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(',', ':'), allow_nan=False)
    return hashlib.sha256(text.encode('utf-8')).hexdigest()


def demand(holds: bool, problem: str) -> None:
    """Refuse content that makes no sense."""
    if not holds:
        raise CheckpointError(problem)


def require_inside(name: str, what: str, value: float, limits: tuple[float, float]) -> None:
    """Refuse a setting outside the range that was trained for."""
    low, high = limits
    if not low * (1 - SLACK) <= value <= high * (1 + SLACK):
        raise CheckpointError(
            f'{name}: {what} is {value:g}; this predictor was trained between {low:g} and '
            f'{high:g}: choose a value inside or train one')


def read_range(pair: Any) -> tuple[float, float]:
    """Read a range of positive numbers."""
    low, high = (float(x) for x in pair)
    demand(0 < low <= high < math.inf, f'a range is {pair!r}')
    return low, high


def pack(array: Array) -> dict[str, Any]:
    """Write an array in single precision."""
    data = np.ascontiguousarray(array, dtype='<f4')
    return {'shape': list(data.shape), 'float32': base64.b64encode(data.tobytes()).decode()}


def unpack(packed: dict[str, Any]) -> Array:
    """Read an array of finite numbers."""
    shape = packed['shape']
    demand(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape),
           f'shape is {shape!r}')
    data = np.frombuffer(base64.b64decode(packed['float32'], validate=True), dtype='<f4')
    demand(data.size == math.prod(shape), f'{data.size} numbers for shape {shape}')
    demand(bool(np.all(np.isfinite(data))), 'a number is not finite')
    return data.reshape(shape).astype(float)
