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

"""Numbers with their units as people write them; angles are shown in degrees."""
# flake8: noqa: A005
from __future__ import annotations

from collections.abc import Iterable
import math
import re

IN_DEGREES = {'rad': '°', 'rad/s': '°/s', 'rad/s^2': '°/s²'}
SMALL, LARGE = 1e-4, 1e7  # numbers beyond are written with a power of ten
NOTHING = 1e-12  # what is smaller is left over from rounding
RAISED = str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹')


def written(unit: str) -> str:
    """Return a unit as people write it: powers are raised, and it is never broken in two."""
    raised = re.sub(r'\^(-?\d+)', lambda found: found[1].translate(RAISED), unit)
    return raised.replace(' ', '\xa0')


def shown_unit(unit: str) -> str:
    """Return the unit in which a quantity is shown."""
    return IN_DEGREES.get(unit, written(unit))


def shown(value: float, unit: str) -> float:
    """Return a value in the unit in which it is shown."""
    return math.degrees(value) if unit in IN_DEGREES else value


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many digits that count, and a real minus sign."""
    if not math.isfinite(value):
        return '–'
    if abs(value) < NOTHING:
        return '0'
    if not SMALL <= abs(value) < LARGE:
        mantissa, power = f'{value:.{digits - 1}e}'.split('e')
        return f'{mantissa}·10{str(int(power)).translate(RAISED)}'.replace('-', '−')
    rounded = float(f'{value:.{digits}g}')
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    # All digits before the point are given: 1720 is read at once, 1.72e+03 is not.
    return f'{value:.{decimals}f}'.replace('-', '−')


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """Return a value with its unit."""
    text, name = number(shown(value, unit), digits), shown_unit(unit)
    return text if not name or text == '–' else text + ('' if name[0] == '°' else '\xa0') + name


def label(name: str, unit: str) -> str:
    """Return a name with the unit in which its values are shown."""
    return f'{name} [{shown_unit(unit)}]' if unit else name


def tuned_label(name: str, unit: str) -> str:
    """Return a tuned value's name with its own unit: it is what a person would type."""
    return f'{name} [{written(unit)}]' if unit else name


def values_text(values: Iterable[float]) -> str:
    """Return values in brackets."""
    return '(' + ', '.join(map(number, values)) + ')'


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers from low to high."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((s * power for s in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - rough))
    first = math.ceil(low / step - 1e-9)
    return [float(f'{k * step:.10g}') for k in range(first, math.floor(high / step + 1e-9) + 1)]
