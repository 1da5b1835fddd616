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
A number inside a message, named by its path: `error.positions[0]`, `position[elbow]`.

A path is compiled once against the message's class, which knows its fields; then it reads one
float of every message. A word in brackets is looked up in the list of names beside the field,
because the order of joints in a JointState is nobody's promise.
"""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
import math
import re
from typing import Any

from pacsbo_ros.robots.parameters.words import TaskError, unknown

STEP = re.compile(r'\.?([A-Za-z_]\w*)((?:\[[^\]]*\])?)')
NUMBERS = {'double', 'float', 'boolean', 'octet', 'char', 'byte',
           *(f'{u}int{n}' for u in ('', 'u') for n in (8, 16, 32, 64))}
ARRAY = re.compile(r'(?:sequence<(?P<item>[^,>]+)(?:,\s*\d+)?>|'
                   r'(?P<fixed>[^\[]+)\[(?P<size>\d+)\])$')
PLACE = re.compile(r'[\'"]?[A-Za-z_][\w/]*[\'"]?')  # a joint, say
NAMES = ('name', 'names', 'joint_names')  # fields that name the places of a list

Reader = Callable[[Any], float]


def split(path: str) -> list[tuple[str, str | None]]:
    """Return the steps of a path: a field and what stands in its brackets."""
    steps: list[tuple[str, str | None]] = []
    position = 0
    while position < len(path):
        match = STEP.match(path, position)
        if not match or (position == 0) == match[0].startswith('.'):
            steps = []
            break
        steps.append((match[1], match[2][1:-1].strip() if match[2] else None))
        position = match.end()
    if not steps:
        raise TaskError(f'field {path!r} is not a path; write it like error.positions[0]')
    return steps


def reader(path: str, kind: type) -> Reader:
    """Return a function that reads the field; TaskError if the message has no such number."""
    steps: list[tuple[str, int | str | None]] = []
    type_name = ''
    current: Any = kind
    parts = split(path)
    for place, (name, key) in enumerate(parts):
        fields = current.get_fields_and_field_types()
        if name not in fields:
            raise unknown(f'field {path!r}: in {_name(current)}', name, fields)
        type_name = fields[name]
        array = ARRAY.match(type_name)
        if array and key is None:
            raise TaskError(f'field {path!r}: {name} is a list; say which one, as in {name}[0]')
        if key is not None and not array:
            raise TaskError(f'field {path!r}: {name} is no list; leave [{key}] out')
        index: int | str | None = None
        if array and key is not None:
            type_name = array['item'] or array['fixed']
            index = _index(path, key, fields, array['size'])
        steps.append((name, index))
        if place + 1 < len(parts):
            if '/' not in type_name:
                raise TaskError(f'field {path!r}: {name} is a {type_name}, which has no fields')
            current = message_class(type_name)
    if type_name not in NUMBERS:
        inner = (f'; it has {", ".join(message_class(type_name).get_fields_and_field_types())}'
                 if '/' in type_name else '')
        raise TaskError(f'field {path!r} is a {type_name}, not a number{inner}')
    return _compiled(steps)


def message_class(type_name: str) -> Any:
    """Import the class of a message such as geometry_msgs/Point or geometry_msgs/msg/Point."""
    package, *_, name = type_name.split('/')
    return getattr(import_module(f'{package}.msg'), name)


def _name(kind: Any) -> str:
    return f'{kind.__module__.split(".")[0]}/{kind.__name__}'


def _index(path: str, key: str, fields: dict[str, str], size: str | None) -> int | str:
    if re.fullmatch(r'\d+', key):
        if size is not None and int(key) >= int(size):
            raise TaskError(f'field {path!r}: there are only {size} of them, from 0')
        return int(key)
    if not PLACE.fullmatch(key) or not any(n in fields for n in NAMES):
        raise TaskError(f'field {path!r}: [{key}] is not a number from 0, and the message names '
                        'no places')
    return key.strip('\'"')


def _compiled(steps: list[tuple[str, int | str | None]]) -> Reader:
    def read(message: Any) -> float:
        for name, index in steps:
            value = getattr(message, name)
            if isinstance(index, str):
                names = next((getattr(message, n) for n in NAMES if hasattr(message, n)), ())
                index = list(names).index(index) if index in names else len(value)
            if index is not None:
                if index >= len(value):
                    return math.nan  # a list that is shorter than promised
                value = value[index]
            message = value
        return float(message)
    return read


def stamp_reader(kind: Any) -> Callable[[Any], float] | None:
    """Return what reads the time in a message's header; None if it has none."""
    fields = kind.get_fields_and_field_types()
    if fields.get('header') == 'std_msgs/Header':
        return lambda m: m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec
    if fields.get('stamp') == 'builtin_interfaces/Time':
        return lambda m: m.stamp.sec + 1e-9 * m.stamp.nanosec
    return None
