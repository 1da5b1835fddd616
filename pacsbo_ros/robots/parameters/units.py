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
Units as people write them: 'N m s/rad', 'm/s^2', '' for a plain number.

A dimension is a tuple of (base unit, exponent), sorted. Radians count as a unit of their own, so
that an angle is never added to a plain number by mistake.
"""
from __future__ import annotations

from collections import Counter
import re

from pacsbo_ros.robots.parameters.words import TaskError, unknown

Dimension = tuple[tuple[str, int], ...]

# What each known unit is made of; prefixes are not there, because values are in SI units.
BASES: dict[str, dict[str, int]] = {
    'm': {'m': 1}, 's': {'s': 1}, 'kg': {'kg': 1}, 'A': {'A': 1}, 'K': {'K': 1},
    'rad': {'rad': 1}, 'N': {'kg': 1, 'm': 1, 's': -2}, 'Hz': {'s': -1},
    'J': {'kg': 1, 'm': 2, 's': -2}, 'W': {'kg': 1, 'm': 2, 's': -3},
    'V': {'kg': 1, 'm': 2, 's': -3, 'A': -1}, 'Pa': {'kg': 1, 'm': -1, 's': -2},
    'Ohm': {'kg': 1, 'm': 2, 's': -3, 'A': -2}, 'T': {'kg': 1, 's': -2, 'A': -1},
    'degC': {'K': 1}, 'px': {'px': 1}, 'count': {}, '1': {},
}
NOT_SI = {'deg': 'rad', '°': 'rad', 'mm': 'm', 'cm': 'm', 'km': 'm', 'ms': 's', 'us': 's',
          'g': 'kg', 'rpm': 'rad/s', 'kN': 'N', 'Nm': 'N m', 'mA': 'A', 'mV': 'V', 'min': 's',
          'h': 's', '%': '1', 'km/h': 'm/s'}
SPELT = {'°C': 'degC', 'Ω': 'Ohm', 'm²': 'm^2', 's²': 's^2', 'm³': 'm^3', 'meter': 'm',
         'metre': 'm', 'second': 's', 'sec': 's', 'newton': 'N', 'volt': 'V', 'ampere': 'A',
         'amp': 'A', 'watt': 'W', 'radian': 'rad', 'kelvin': 'K', 'celsius': 'degC', 'hertz': 'Hz'}
FACTOR = re.compile(r'([^\d\s^*/]+|1)(?:\^?(-?\d+))?$')


def dimension(unit: str) -> Dimension:
    """Return the dimension of a unit; TaskError if it cannot be one."""
    powers: Counter[str] = Counter()
    if unit.strip() == '':
        return ()
    for place, part in enumerate(unit.split('/')):
        factors = part.replace('*', ' ').replace('·', ' ').split()
        if not factors:
            raise TaskError(f'unit {unit!r} is not one; write it like N m s/rad')
        for factor in factors:
            match = FACTOR.match(factor)
            if not match:
                raise TaskError(f'unit {unit!r} has {factor!r}; write it like N m s/rad')
            name, exponent = match[1], int(match[2] or 1) * (-1 if place else 1)
            if name in NOT_SI:
                raise TaskError(f'unit {unit!r}: {name} is not an SI unit; give the values in '
                                f'{NOT_SI[name]}')
            spelt = SPELT.get(name) or SPELT.get(name.lower().removesuffix('s'))
            if name not in BASES and spelt:
                raise TaskError(f'unit {unit!r}: write {name} as {spelt}')
            if name not in BASES:
                raise unknown(f'unit {unit!r}:', name, BASES)
            for base, power in BASES[name].items():
                powers[base] += power * exponent
    return normal(powers)


def normal(powers: Counter[str]) -> Dimension:
    """Return powers as a dimension."""
    return tuple(sorted((base, power) for base, power in powers.items() if power))


def product(a: Dimension, b: Dimension, sign: int = 1) -> Dimension:
    """Return the dimension of a · b, or of a / b with sign -1."""
    powers = Counter(dict(a))
    for base, power in b:
        powers[base] += sign * power
    return normal(powers)


def words(d: Dimension) -> str:
    """Return a dimension as people read it."""
    return ' '.join(base if power == 1 else f'{base}^{power}' for base, power in d) or \
        'a plain number'
