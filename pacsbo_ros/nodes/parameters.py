# Copyright the pacsbo_ros developers. Apache-2.0.
"""One table declares, checks and documents the parameters of a node."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node


class StartError(Exception):
    """A node cannot start; the message says why and what to do, in one line."""


@dataclass(frozen=True)
class Parameter:
    """Describe one parameter: its default gives the type, its range is enforced by ROS."""

    name: str
    default: Any
    description: str  # one sentence, with the unit
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False  # may be changed while the node runs

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


def declare(node: Node, table: Sequence[Parameter]) -> SimpleNamespace:
    """Declare all parameters of a table and return their values by name."""
    values = {}
    for parameter in table:
        try:
            value = node.declare_parameter(
                parameter.name, parameter.default, parameter.descriptor()).value
        except (InvalidParameterValueException, InvalidParameterTypeException,
                ParameterUninitializedException) as error:
            given = node._parameter_overrides.get(parameter.name)
            raise StartError(
                f'parameter {parameter.name} is {given.value if given else None!r}; '
                f'{_allowed(parameter)}') from error
        if parameter.choices and value not in parameter.choices:
            raise StartError(f'parameter {parameter.name} is {value!r}; {_allowed(parameter)}')
        values[parameter.name] = value
    return SimpleNamespace(**values)


KINDS = {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'a text',
         list: 'a list'}


def _allowed(parameter: Parameter) -> str:
    """Say what a parameter may be."""
    kind = KINDS[type(parameter.default)]
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
        default = f'`{p.default}`' if p.default != '' else ''
        live = ' (live)' if p.live else ''
        rows.append(f'| `{p.name}` | {default} | {span} | {p.description}{live} |')
    return '\n'.join(rows)
