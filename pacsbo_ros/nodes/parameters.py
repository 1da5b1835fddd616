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

"""One table declares, checks and documents the parameters of a node."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

Type = RosParameter.Type
DECIMALS, TEXTS = Type.DOUBLE_ARRAY, Type.STRING_ARRAY  # kinds of what has to be given
OF_ROS = ('use_sim_time', 'start_type_description_service', 'qos_overrides')


class StartError(Exception):
    """A node cannot start; the message says why and what to do, in one line."""


@dataclass(frozen=True)
class Parameter:
    """Describe one parameter: its default gives the type, its range is enforced by ROS."""

    name: str
    default: Any  # or one of the kinds below: it has to be given
    description: str  # one sentence, with the unit
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False  # may be changed while the node runs

    @property
    def required(self) -> bool:
        """Tell whether it has no default."""
        return isinstance(self.default, Type)

    def descriptor(self) -> ParameterDescriptor:
        """Return what ROS and rqt_reconfigure need to know."""
        result = ParameterDescriptor(description=self.description, read_only=not self.live)
        if self.choices:
            result.additional_constraints = 'one of ' + ', '.join(self.choices)
        if self.lower is not None and self.upper is not None:
            if isinstance(self.default, int):
                result.integer_range.append(
                    IntegerRange(from_value=int(self.lower), to_value=int(self.upper)))
            else:
                result.floating_point_range.append(
                    FloatingPointRange(from_value=self.lower, to_value=self.upper))
        return result


@dataclass(frozen=True)
class Group:
    """Describe parameters that come once for every name a user chooses: group.name.parameter."""

    name: str
    parameters: tuple[Parameter, ...]


def declare(node: Node, table: Sequence[Parameter],
            groups: Sequence[Group] = ()) -> SimpleNamespace:
    """
    Declare all parameters of a table and return their values by name.

    A group's value is a mapping from the users' names to their parameters. A parameter that is
    given but not in the tables is a mistake: StartError names the nearest one.
    """
    values = {parameter.name: _declare(node, parameter) for parameter in table}
    for group in groups:
        given = sorted({tuple(name.split('.'))[1] for name in node._parameter_overrides
                        if name.startswith(f'{group.name}.')})
        values[group.name] = {name: SimpleNamespace(**{
            p.name: _declare(node, p, f'{group.name}.{name}.') for p in group.parameters})
            for name in given}
    known = {*values, *(name for name in node._parameters)}
    for name in node._parameter_overrides:
        if name not in known and name.split('.')[0] not in OF_ROS:
            raise StartError(f'parameter {name} is unknown{nearest(name, known)}')
    return SimpleNamespace(**values)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a question that ends an error: the nearest right word, or all of them."""
    names = sorted(known)
    near = get_close_matches(word, names, 1, 0.5)
    return f'; did you mean {near[0]}?' if near else f'; there are {", ".join(names)}'


def _declare(node: Node, parameter: Parameter, prefix: str = '') -> Any:
    name = prefix + parameter.name
    try:
        value = node.declare_parameter(name, parameter.default, parameter.descriptor()).value
    except (InvalidParameterValueException, InvalidParameterTypeException,
            ParameterUninitializedException) as error:
        given = node._parameter_overrides.get(name)
        raise StartError(f'parameter {name} is {given.value if given else None!r}; '
                         f'{_allowed(parameter)}') from error
    if value is None:
        raise StartError(f'parameter {name} is missing; {_allowed(parameter)}')
    if parameter.choices and value not in parameter.choices:
        raise StartError(f'parameter {name} is {value!r}; {_allowed(parameter)}')
    return value


KINDS = {bool: 'true or false', int: 'a whole number', float: 'a number with a decimal point',
         str: 'a text', list: 'a list of decimals like [1.0, 2.0]'}
GIVEN = {DECIMALS: 'a list of decimals like [1.0, 2.0]', TEXTS: 'a list of names'}


def problem_with(parameter: Parameter, value: Any, name: str = '') -> str:
    """Say why a parameter cannot have a value that stands in a file; empty if it can."""
    name = name or parameter.name
    if value is None and parameter.required:
        return f'parameter {name} is missing; {_allowed(parameter)}'
    if parameter.default is TEXTS:
        fits = isinstance(value, list) and all(isinstance(v, str) for v in value)
    elif parameter.default is DECIMALS or isinstance(parameter.default, list):
        fits = isinstance(value, list) and all(isinstance(v, float) for v in value)
    else:
        fits = type(value) is type(parameter.default) and (
            parameter.lower is None or parameter.lower <= value <= parameter.upper) and (
            not parameter.choices or value in parameter.choices)
    return '' if fits else f'parameter {name} is {value!r}; {_allowed(parameter)}'


def _allowed(parameter: Parameter) -> str:
    """Say what a parameter may be."""
    kind = (GIVEN[parameter.default] if parameter.required
            else KINDS[type(parameter.default)])
    if parameter.choices:
        return f'choose one of {", ".join(parameter.choices)}'
    if parameter.lower is not None:
        return f'give {kind} from {parameter.lower:g} to {parameter.upper:g}'
    return f'give {kind} ({parameter.description})'


def markdown(table: Sequence[Parameter]) -> str:
    """Return the table for the documentation."""
    rows = ['| parameter | default | range | meaning |', '|---|---|---|---|']
    for p in table:
        span = ' / '.join(p.choices) or (
            f'{p.lower:g} … {p.upper:g}' if p.lower is not None else '')
        default = ('has to be given' if p.required else
                   f'`{p.default}`' if p.default != '' else '')
        live = ' (live)' if p.live else ''
        rows.append(f'| `{p.name}` | {default} | {span} | {p.description}{live} |')
    return '\n'.join(rows)
