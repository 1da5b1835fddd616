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
Recordings of a pendulum: voltage in, both angles out, checked before anyone believes them.

A file is CSV with the columns t, volts, theta, alpha, and `recording` (a number) if it holds more
than one; lines that begin with # are remarks. Each recording starts hanging at rest.

Symbol     Shape     Unit     Meaning
t          (n,)      s        evenly spaced
volts      (n,)      V        applied from t on
theta      (n,)      rad      arm
alpha      (n,)      rad      pendulum, zero upright, pi hanging, not wrapped
"""
from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.files import FileError, read_bytes, RECORDS
from scipy.interpolate import PchipInterpolator
from scipy.signal import savgol_filter

Array = NDArray[np.float64]

COLUMNS = ('t', 'volts', 'theta', 'alpha')
SHORTEST = 2.0  # s
FARTHEST = 1.0  # rad from zero at which the arm may start: the cable's rest is sought near zero
# Half length in s, fewest samples and order of the Savitzky-Golay filter that gives velocities: 9
# samples at 4 and 5 ms. At 50 Hz as many would smooth a swing of 5 Hz away.
SMOOTHER = (0.0178, 5, 3)
LONGEST_GAP = 0.0155  # s; what record_chirp lets pass is put on an even grid
# Recordings that come with the package; what is fitted is fitted to the others of each file.
PACKAGED = {'chirps': 'qube_chirps.csv', 'swing_ups': 'qube_swing_ups.csv'}
HELD_OUT = {'chirps': (4, 5), 'swing_ups': (3, 6, 9, 12, 15)}


class RecordingError(ValueError):
    """A recording that cannot be used, and why, in one line."""


@dataclass(frozen=True)
class Recording:
    """Hold one recording."""

    name: str
    t: Array
    volts: Array
    theta: Array
    alpha: Array

    def __post_init__(self) -> None:
        fault = _fault(self.t, self.volts, self.theta, self.alpha)
        if fault:
            raise RecordingError(f'{self.name}: {fault}')

    @property
    def period(self) -> float:
        """Return the sampling period in s."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))

    @property
    def duration(self) -> float:
        """Return the length in s."""
        return float(self.t[-1] - self.t[0])

    def states(self) -> Array:
        """Return smoothed angles and velocities, (4, n): the device's own filters would lag."""
        length = smoother_length(self.period)
        return np.stack([savgol_filter(angle, length, SMOOTHER[2], deriv=deriv, delta=self.period)
                         for deriv in (0, 1) for angle in (self.theta, self.alpha)])


def smoother_length(period: float) -> int:
    """Return the samples of the smoother."""
    half, fewest, _ = SMOOTHER
    return max(fewest, 2 * round(half / period) + 1)


def evenly(t: Array, volts: Array, theta: Array, alpha: Array) -> tuple[Array, ...]:
    """Return the samples on an even grid if they jitter; of the held voltage the mean counts."""
    columns = t, volts, theta, alpha
    if not all(np.isfinite(column).all() for column in columns) or len(t) < 3:
        return columns
    steps = np.diff(t)
    period = float(np.median(steps))
    if (steps <= 0).any() or steps.max() > max(1.5 * period, LONGEST_GAP):
        return columns
    if np.abs(t - np.linspace(t[0], t[-1], len(t))).max() < 0.02 * period:
        return columns
    grid = t[0] + period * np.arange(int((t[-1] - t[0]) / period * (1 + 1e-9)) + 1)
    # Held at the grid's samples, it would be late by half a period, and the delay too short.
    charge = np.concatenate([[0.0], np.cumsum(volts[:-1] * steps)])
    after = t[-1] + period
    mean = np.diff(np.interp([*grid, grid[-1] + period], [*t, after],
                             [*charge, charge[-1] + volts[-1] * period])) / period
    return (grid, mean, *(PchipInterpolator(t, angle)(np.minimum(grid, t[-1]))
                                 for angle in (theta, alpha)))


def _fault(t: Array, volts: Array, theta: Array, alpha: Array) -> str | None:
    """Say what is wrong with a recording and how to mend it, or nothing."""
    for name, column in zip(COLUMNS, (t, volts, theta, alpha), strict=True):
        bad = ~np.isfinite(column)
        if bad.any():
            return f'{name} is not a finite number in sample {int(np.argmax(bad)) + 1}; cut it out'
    steps = np.diff(t)
    if (steps <= 0).any():
        i = int(np.argmax(steps <= 0))
        return (f'time goes from {t[i]:.6g} to {t[i + 1]:.6g} s; order the samples by time, '
                'each once')
    if len(t) < 2 or t[-1] - t[0] < SHORTEST:
        length = t[-1] - t[0] if len(t) else 0.0
        return f'it lasts {length:.3g} s; record 10 s'
    period = float(np.median(steps))
    if period > 0.05:
        return (f'samples are {period:.3g} s apart; t is in seconds, and 50 ms is the coarsest '
                'that can be used')
    if np.abs(steps - period).max() > 0.5 * period:
        i = int(np.argmax(np.abs(steps - period)))
        return (f'the samples at {t[i]:.6g} and {t[i + 1]:.6g} s are {steps[i] * 1e3:.3g} ms '
                f'apart, the others {period * 1e3:.3g} ms; samples are missing, record again')
    if np.abs(volts).max() > 60:
        return (f'volts reach {np.abs(volts).max():.4g}; more than 60 V looks like millivolts, '
                'divide by 1000')
    if abs(abs(alpha[0]) - math.pi) > 0.3:
        for name, column in (('volts', volts), ('theta', theta)):
            if abs(abs(column[0]) - math.pi) < 0.05:
                return (f'{name} starts at {column[0]:.4g}, as alpha of a hanging pendulum does; '
                        f'the columns {name} and alpha look swapped')
    turned = np.abs(alpha - alpha[0]).max()
    if turned > 8 * math.pi and abs(abs(alpha[0]) - math.pi) < 0.3:
        return (f'the pendulum turned over and over, by {turned:.3g} rad; record again with a '
                'lower voltage')
    if abs(theta[0]) > FARTHEST and np.abs(theta - theta[0]).max() < 2 * math.pi:
        return (f'theta starts at {theta[0]:.4g} rad; the arm starts in its middle, which is '
                f'zero: subtract {theta[0]:.4g} from theta')
    if np.abs(theta).max() > 2 * math.pi or turned > 8 * math.pi:
        return (f'angles reach {max(np.abs(theta).max(), np.abs(alpha).max()):.4g}; radians are '
                'expected, this looks like degrees, multiply by pi/180')
    for name, angle in (('theta', theta), ('alpha', alpha)):
        jumps = np.abs(np.diff(angle))
        if jumps.max() > 2.0:
            i = int(np.argmax(jumps))
            return (f'{name} jumps by {jumps[i]:.3g} rad at {t[i + 1]:.4g} s; it is wrapped, '
                    'unwrap it (numpy.unwrap)')
    if abs(abs(alpha[0]) - math.pi) > 0.3:
        return (f'alpha starts at {alpha[0]:.3g} rad; a recording starts hanging, which is pi '
                'here because zero is upright: add pi if yours is zero hanging')
    if np.ptp(volts) < 1e-3:
        return f'volts are {volts[0]:.3g} throughout; record under a changing voltage'
    for name, angle in (('theta', theta), ('alpha', alpha)):
        if np.ptp(angle) < 0.05:
            return (f'{name} moves by {np.ptp(angle):.2g} rad only; nothing can be learnt from '
                    'that, check the encoder or raise the voltage')
    return None


def read_recordings(path: Path | str) -> tuple[Recording, ...]:
    """Read a file of one or more recordings; every fault is a RecordingError of one line."""
    path = Path(path)
    try:
        text = read_bytes(path, RECORDS).decode('utf-8-sig')
    except FileError as error:
        raise RecordingError(error) from error
    except UnicodeDecodeError as error:
        raise RecordingError(f'{path} cannot be read: it is not text') from error
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1)
             if line.strip() and not line.startswith('#')]
    names = [name.strip() for name in lines[0][1].split(',')] if lines else []
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise RecordingError(f'{path}: no column {", ".join(missing)} in its first line; need '
                             f'{",".join(COLUMNS)} (and recording, if it holds several)')
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise RecordingError(f'{path}: the column {twice[0]} is there twice; keep one')
    rows = []
    for i, line in lines[1:]:
        try:
            row = [float(cell) for cell in line.split(',')]
        except ValueError:
            raise RecordingError(f'{path}: line {i} holds something that is no number: '
                                 f'{line[:60]!r}') from None
        if len(row) != len(names):
            raise RecordingError(f'{path}: line {i} has {len(row)} cells, the first line '
                                 f'{len(names)}')
        rows.append(row)
    table = np.array(rows).reshape(-1, len(names))
    columns = [table[:, names.index(name)] for name in COLUMNS]
    if 'recording' not in names:
        return (Recording(path.stem, *evenly(*columns)),)
    number = table[:, names.index('recording')]
    if not np.isfinite(number).all():
        raise RecordingError(f'{path}: the column recording holds a number that is not finite')
    return tuple(Recording(f'{path.stem} {i:g}', *evenly(*(column[number == i]
                                                           for column in columns)))
                 for i in dict.fromkeys(number.tolist()))


def packaged(kind: str, held_out: bool) -> tuple[Recording, ...]:
    """Return the recordings of one kind that come with the package, for fitting or held out."""
    path = Path(str(files('pacsbo_ros.robots.furuta.data').joinpath(PACKAGED[kind])))
    return tuple(recording for i, recording in enumerate(read_recordings(path), 1)
                 if (i in HELD_OUT[kind]) == held_out)
