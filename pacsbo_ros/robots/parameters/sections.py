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

"""Read the sections of a task file: every key known, every value of its kind, or one line."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import math
from pathlib import Path
import re
import sys
from typing import Any

from pacsbo_ros.files import FileError, parse_yaml, read_bytes, TEXT
from pacsbo_ros.robots.parameters.words import TaskError, unknown

NODE = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*\Z', re.ASCII)
TYPE = re.compile(r'[A-Za-z]\w*/(srv|msg|action)/[A-Za-z]\w*\Z', re.ASCII)
WORD = re.compile(r'[A-Za-z_]\w*\Z', re.ASCII)
MISSING = object()
LARGEST = sys.float_info.max


def read_yaml(path: Path) -> Any:
    """Return what a file holds; TaskError in one line if it cannot be read."""
    try:
        return parse_yaml(read_bytes(path, TEXT), str(path))
    except FileError as error:
        raise TaskError(str(error).removeprefix(f'{path}: ')) from error


class Section:
    """One mapping of the file, whose keys are taken one by one."""

    def __init__(self, data: Any, where: str, keys: Iterable[str] | None) -> None:
        """Refuse what is no mapping and keys that are not known; None allows any name."""
        self.where = where
        if not isinstance(data, Mapping):
            raise TaskError(f'{where} is {_short(data)}; give a section with names and values')
        self._data = data
        for key in data:
            if keys is not None and key not in keys:
                raise unknown(f'key of {where}:', key, keys)
            if keys is None and not (isinstance(key, str) and WORD.match(key)):
                raise TaskError(f'{where} has the name {key!r}; use letters, digits and _')

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def value(self, key: str, default: Any = MISSING, wanted: str = 'a value') -> Any:
        """Return what stands under a key."""
        if key in self._data and self._data[key] is not None:
            return self._data[key]
        if key in self._data:
            raise TaskError(f'{self.where} lacks a value of {key!r}; give {wanted}'
                            + ('' if default is MISSING else ' or leave the key out'))
        if default is MISSING:
            raise TaskError(f'{self.where} lacks {key!r}; give {wanted}')
        return default

    def text(self, key: str, default: Any = MISSING, wanted: str = 'a text') -> str:
        """Return a text."""
        value = self.value(key, default, wanted)
        if not isinstance(value, str):
            raise TaskError(f'{key} of {self.where} is {_short(value)}; give {wanted}')
        return value

    def name(self, key: str, default: Any = MISSING, wanted: str = 'a name like /joint') -> str:
        """Return the name of a node, topic or service."""
        value = self.text(key, default, wanted)
        if not NODE.match(value):
            raise TaskError(f'{key} of {self.where} is {value!r}; give {wanted}')
        return value

    def type(self, key: str, kinds: Iterable[str]) -> str:  # noqa: A003
        """Return the type of a message, service or action."""
        example = ' or '.join(_EXAMPLES[k] for k in kinds)
        value = self.text(key, MISSING, f'a type like {example}')
        match = TYPE.match(value)
        if not match or match[1] not in kinds:
            raise TaskError(f'{key} of {self.where} is {value!r}; give a type like {example}')
        return value

    def number(self, key: str, default: Any = MISSING, lower: float = -math.inf,
               upper: float = math.inf) -> float:
        """Return a finite number within its range."""
        value = self.value(key, default, 'a number')
        return finite(value, f'{key} of {self.where}', lower, upper)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of finite numbers; a single one is a list of one."""
        value = self.value(key, MISSING, 'a list of numbers')
        items = value if isinstance(value, list) else [value]
        if not items:
            raise TaskError(f'{key} of {self.where} is empty; give at least one number')
        return tuple(finite(v, f'{key} of {self.where}') for v in items)

    def section(self, key: str, keys: Iterable[str] | None, default: Any = MISSING) -> Section:
        """Return a section below this one."""
        value = self.value(key, default, 'a section')
        inside = key if self.where == 'the task' else f'{self.where}, {key}'
        return Section(value, inside, keys)


_EXAMPLES = {'srv': 'std_srvs/srv/Trigger', 'msg': 'std_msgs/msg/Empty',
             'action': 'pkg/action/Move'}


def finite(value: Any, what: str, lower: float = -math.inf, upper: float = math.inf) -> float:
    """Return a number as a float, if it is one and within its range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = ' (YAML wants 1.0e-3)' if isinstance(value, str) and 'e' in value.lower() else ''
        raise TaskError(f'{what} is {_short(value)}; give a number{hint}')
    if not abs(value) <= LARGEST:  # a whole number of YAML may have any number of digits
        raise TaskError(f'{what} is {_short(value)}; give a finite number')
    if not lower <= value <= upper:
        span = (f'{lower:g} or more' if upper == math.inf else
                f'{upper:g} or less' if lower == -math.inf else f'{lower:g} to {upper:g}')
        raise TaskError(f'{what} is {value:g}; give {span}')
    return float(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + '...'
