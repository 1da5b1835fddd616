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
Plants as files: YAML with the fields of Plant, and those of Parameters under `parameters`.

What a file leaves out is as in the defaults of the two classes, so a file made by hand may be
short; a name that is no field is refused, because a misspelt number would silently not count.
"""
from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pacsbo_ros.files import FileError, parse_yaml, read_bytes, TEXT, write_new
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Plant
import yaml


def write_preset(plant: Plant, path: Path, remark: str) -> None:
    """Write a plant with all its numbers; never over another file."""
    text = yaml.safe_dump(asdict(plant), sort_keys=False)
    write_new(path, f'# {remark} Units: SI; docs/furuta.md.\n{text}')


def read_preset(path: Path) -> Plant:
    """Read a plant; every fault is a ValueError of one line."""
    try:
        content = parse_yaml(read_bytes(path, TEXT), str(path))
    except FileError as error:
        raise ValueError(f'preset file {error}') from error
    if not isinstance(content, dict):
        raise ValueError(f'preset file {path} holds no fields; write them as name: number')
    numbers = _checked(path, content, Plant)
    inner = numbers.pop('parameters', {})
    if not isinstance(inner, dict):
        raise ValueError(f'preset file {path}: parameters is {inner!r}; give name: number lines')
    try:
        return Plant(parameters=Parameters(**_checked(path, inner, Parameters)), **numbers)
    except ValueError as error:
        raise ValueError(f'preset file {path}: {error}') from error


def _checked(path: Path, content: dict[Any, Any], kind: type) -> dict[str, Any]:
    """Return the content if all names are fields and all values are numbers or nothing."""
    known = [field.name for field in fields(kind)]
    for name, value in content.items():
        if name not in known:
            raise ValueError(f'preset file {path}: {name!r} is no field of {kind.__name__}; '
                             f'choose among {", ".join(known)}')
        empty = value is None and name in ('encoder_counts', 'velocity_filter')
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name != 'parameters' and not (number or empty):
            raise ValueError(f'preset file {path}: {name} is {value!r}; give a number')
    return dict(content)
