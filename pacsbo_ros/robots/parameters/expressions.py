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
Rewards and constraints as short expressions over a recorded window.

    -itae(error) - 0.01 * chatter(effort)        0.2 - overshoot(error)

Python's grammar is parsed, never run: only what stands in the white list below has a meaning.
A name is a signal and only stands inside a metric; a metric makes a number of it.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import operator
from typing import Any, NoReturn

import numpy as np
from pacsbo_ros.robots.parameters.metrics import METRICS
from pacsbo_ros.robots.parameters.sections import LARGEST
from pacsbo_ros.robots.parameters.units import Dimension, product, words
from pacsbo_ros.robots.parameters.windows import Series, together, WindowError
from pacsbo_ros.robots.parameters.words import TaskError, unknown

LONGEST = 500  # characters
FUNCTIONS: dict[str, Callable[..., float]] = {
    'abs': abs, 'min': min, 'max': max, 'sqrt': math.sqrt, 'exp': math.exp, 'log': math.log}
OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv}


@dataclass(frozen=True)
class Kind:
    """What a part of an expression is; an unknown dimension fits everything."""

    is_signal: bool
    dimension: Dimension | None


NUMBER = Kind(False, None)  # a number that is written down carries the unit that is missing


class Expression:
    """A checked expression: a number for every window."""

    def __init__(self, text: str, signals: Mapping[str, Dimension], what: str) -> None:
        """Parse and check; TaskError with one line names what is wrong."""
        self.text, self._what, self._signals = text, what, signals
        if not isinstance(text, str) or not text.strip():
            raise TaskError(f'{what} is {text!r}; give an expression such as -iae(error)')
        if len(text) > LONGEST:
            raise TaskError(f'{what} has {len(text)} characters; {LONGEST} are the most')
        try:
            self._tree = ast.parse(text.strip(), mode='eval').body
            kind = self._kind(self._tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, TaskError):
                raise
            raise TaskError(f'{what} {text!r} cannot be read: {_first_line(error)}') from error
        if kind.is_signal:
            self._refuse('is a signal, not a number; put it into a metric, for example '
                         f'rms({text})')
        self.dimension = kind.dimension

    @property
    def signals(self) -> set[str]:
        """Return the names of the signals that are used."""
        return {n.id for n in ast.walk(self._tree)
                if isinstance(n, ast.Name) and n.id in self._signals}

    def __call__(self, window: Mapping[str, Series]) -> float:
        """Return the value of a window; NaN where it has none (a division by zero)."""
        try:
            value = self._value(self._tree, window)
        except WindowError:
            raise
        except (ZeroDivisionError, OverflowError, ValueError):
            return math.nan
        return float(value) if isinstance(value, (int, float)) else math.nan

    def at_rest(self) -> float:
        """Return the value with every metric at zero: of a limit minus a metric, the limit."""
        try:
            return float(self._value(self._tree, None))
        except (ZeroDivisionError, OverflowError, ValueError):
            return math.nan

    # Checking.

    def _refuse(self, why: str) -> NoReturn:
        raise TaskError(f'{self._what} {self.text!r} {why}')

    def _kind(self, node: ast.expr) -> Kind:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) \
                and not isinstance(node.value, bool):
            if not abs(node.value) <= LARGEST:
                self._refuse('has a number that is not finite')
            return NUMBER
        if isinstance(node, ast.Name):
            if node.id in self._signals:
                return Kind(True, self._signals[node.id])
            known = [*self._signals, *METRICS, *FUNCTIONS]
            if node.id in known:
                self._refuse(f'has {node.id} without its brackets')
            raise unknown(f'{self._what} {self.text!r}: name', node.id, known)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return self._kind(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return self._kind_of_two(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._kind_of_call(node.func.id, node.args)
        self._refuse(f'has {ast.unparse(node)!r}; there are names of signals, metrics, numbers, '
                     '+ - * / and brackets')

    def _kind_of_two(self, node: ast.BinOp) -> Kind:
        a, b = self._kind(node.left), self._kind(node.right)
        signal = a.is_signal or b.is_signal
        if (isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant)
                and node.right.value == 0):
            self._refuse('divides by zero')
        if isinstance(node.op, (ast.Mult, ast.Div)):
            if a.dimension is None or b.dimension is None:
                return Kind(signal, None)
            sign = 1 if isinstance(node.op, ast.Mult) else -1
            return Kind(signal, product(a.dimension, b.dimension, sign))
        if None not in (a.dimension, b.dimension) and a.dimension != b.dimension:
            verb = 'adds' if isinstance(node.op, ast.Add) else 'subtracts'
            self._refuse(f'{verb} {words(a.dimension or ())} and {words(b.dimension or ())}; '
                         'give one of them a weight, as in 0.1 * ...')
        return Kind(signal, a.dimension if a.dimension is not None else b.dimension)

    def _kind_of_call(self, name: str, arguments: list[ast.expr]) -> Kind:
        kinds = [self._kind(a) for a in arguments]
        if name in METRICS:
            metric = METRICS[name]
            least, most = 1 + metric.required, 1 + metric.required + metric.optional
            if not least <= len(kinds) <= most:
                count = str(least) if least == most else f'{least} to {most}'
                self._refuse(f'gives {name} {len(kinds)} values; it takes {count}')
            if not kinds[0].is_signal:
                self._refuse(f'gives {name} a number; its first value is a signal')
            if any(k.is_signal for k in kinds[1:]):
                self._refuse(f'gives {name} two signals; write {name}(a - b)')
            signal = kinds[0].dimension
            if signal is None and metric.per_signal:
                return NUMBER
            return Kind(False, metric.dimension(signal or ()))
        if name in FUNCTIONS:
            if (len(kinds) < 2) if name in ('min', 'max') else (len(kinds) != 1):
                self._refuse(f'gives {name} {len(kinds)} values')
            if any(k.is_signal for k in kinds) and name != 'abs':
                self._refuse(f'gives {name} a signal; put it into a metric first')
            return kinds[0] if name in ('abs', 'min', 'max') else NUMBER
        raise unknown(f'{self._what} {self.text!r}: function', name, [*METRICS, *FUNCTIONS])

    # Computing.

    def _value(self, node: ast.expr, window: Mapping[str, Series] | None) -> Any:
        """Return the number or signal of a part; without a window all metrics are zero."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return window[node.id] if window is not None else 0.0
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, window)
            return _map(operator.neg, value) if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return _combine(OPERATORS[type(node.op)], self._value(node.left, window),
                            self._value(node.right, window))
        name, arguments = node.func.id, node.args  # type: ignore[attr-defined]
        if name in METRICS and window is None:
            return 0.0
        values = [self._value(a, window) for a in arguments]
        if name in METRICS:
            return METRICS[name].function(values[0].t, values[0].y, *values[1:])
        if name == 'abs':
            return _map(abs, values[0])
        return FUNCTIONS[name](*values)


def _map(function: Callable, value: Any) -> Any:
    return Series(value.t, function(value.y)) if isinstance(value, Series) else function(value)


def _combine(function: Callable, a: Any, b: Any) -> Any:
    if isinstance(a, Series) and isinstance(b, Series):
        a, b = together(a, b)
    if not isinstance(a, Series) and not isinstance(b, Series):
        return function(a, b)
    t = a.t if isinstance(a, Series) else b.t
    ya, yb = (v.y if isinstance(v, Series) else v for v in (a, b))
    with np.errstate(all='ignore'):
        return Series(t, function(ya, yb))


def _first_line(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.msg:
        return error.msg  # without the name of a file that nobody has
    return (str(error).splitlines() or [type(error).__name__])[0]
