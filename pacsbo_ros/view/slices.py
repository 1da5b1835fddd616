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
What the model believes around the best values, at one moment of a run.

One tuned value: one curve. Two: the plane. Three and more: a slice for every pair, the other
values at their best.

Symbol        Field    Shape               Meaning
mu, l, u      margin   (3, rows, columns)  tightest constraint: mean, lower and upper bound
mu, l, u      reward   (3, rows, columns)  reward, the same
K             samples  (n, d)              values tried so far
              best     (d,)                the values through which the slices go

A row has one value of the second axis, a column one of the first; values in their own units.
"""
from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.files import read_arrays
from pacsbo_ros.view.numbers import number
from pacsbo_ros.view.plane import between, Plane

Array = NDArray[np.float64]

MEAN, LOWER, UPPER = 0, 1, 2
LARGEST = 1e6  # bounds that are not known yet may be infinite; nobody can draw that
NEAR = 0.03  # of the box: a sample that is nearer than this to a slice counts as on it


@dataclass(frozen=True)
class Slice:
    """Hold one slice; `x` and `y` are the places of its axes among the tuned values."""

    x: int
    y: int  # equal to x if only one value is tuned
    reward: Array
    margin: Array
    safe: NDArray[np.bool_]  # (rows, columns), members of the safe set
    hull: Array  # (n, 2), corners of the hull of the samples' projection, in order
    enlarged: Array  # (n, 2), of the enlarged hull


@dataclass(frozen=True)
class Slices:
    """Hold all slices of one moment and everything that is drawn on them."""

    run_id: str
    iteration: int  # episodes told so far
    names: tuple[str, ...]
    units: tuple[str, ...]
    lower: tuple[float, ...]  # corner of the box
    upper: tuple[float, ...]  # opposite corner
    best: Array
    slices: tuple[Slice, ...]
    samples: Array
    sample_reward: Array  # (n,)
    sample_margin: Array  # (n,), the tightest one
    sample_outcome: NDArray[np.int64]  # (n,), codes of Outcome
    sample_safe: NDArray[np.bool_]  # (n,)
    sample_margins: Array  # (n, constraints); no columns if not known
    sample_peaks: Array  # (n, signals); no columns if not known

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        d, n = len(self.names), len(self.samples)
        for name in ('units', 'lower', 'upper', 'best'):
            if len(getattr(self, name)) != d:
                raise ValueError(f'{name} has {len(getattr(self, name))} items for {d} values')
        if not d or not self.slices:
            raise ValueError('there is no slice')
        for name in ('sample_reward', 'sample_margin', 'sample_outcome', 'sample_safe',
                     'sample_margins', 'sample_peaks'):
            if len(getattr(self, name)) != n:
                raise ValueError(f'{name} has {len(getattr(self, name))} items for {n} samples')
        for s in self.slices:
            if not (0 <= s.x < d and 0 <= s.y < d and (s.x != s.y or d == 1)):
                raise ValueError(f'a slice along {s.x} and {s.y} of {d} values')
            if s.safe.shape[1] < 2 or (d > 1 and s.safe.shape[0] < 2):
                raise ValueError(f'a slice of {s.safe.shape[0]} by {s.safe.shape[1]} points')
        numbers = (self.lower, self.upper, self.best, self.samples, self.sample_reward,
                   *(a for s in self.slices for a in (s.reward, s.margin, s.hull, s.enlarged)))
        if not all(np.isfinite(np.asarray(a)).all() for a in numbers):
            raise ValueError('it has a number that is not finite')
        if not all(a < b for a, b in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f'a box from {self.lower} to {self.upper}')

    @classmethod
    def from_message(cls, m: Any) -> Slices:
        """Read the ROS message GainMap; ValueError if its parts do not fit together."""
        d, n = len(m.names), len(m.sample_reward)

        def table(values: Any, rows: int) -> Array:
            return np.asarray(values, float).reshape(rows, -1 if rows else 0)

        return cls(
            m.run_id, m.iteration, tuple(m.names), tuple(m.units), tuple(map(float, m.lower)),
            tuple(map(float, m.upper)), np.asarray(m.best, float),
            tuple(_slice(item) for item in m.slices),
            np.asarray(m.samples, float).reshape(n, d), np.asarray(m.sample_reward, float),
            np.asarray(m.sample_margin, float), np.asarray(m.sample_outcome, int),
            np.asarray(m.sample_safe, bool), table(m.sample_margins, n),
            table(m.sample_peaks, n))

    @classmethod
    def load(cls, path: Path) -> Slices:
        """Read what save() wrote; ValueError or KeyError if it is something else."""
        data = read_arrays(path)
        values: dict[str, Any] = {f.name: data[f.name] for f in fields(cls)
                                  if f.name != 'slices'}
        slices: list[dict[str, Any]] = [
            {f.name: data[f'{i}_{f.name}'] for f in fields(Slice)}
            for i in range(int(data['count']))]
        values['slices'] = tuple(Slice(**{**s, 'x': int(s['x']), 'y': int(s['y'])})
                                 for s in slices)
        for name in ('names', 'units', 'lower', 'upper'):
            values[name] = tuple(values[name].tolist())
        return cls(**{**values, 'run_id': str(values['run_id']),
                      'iteration': int(values['iteration'])})

    def save(self, path: Path) -> None:
        """Write the file in one step, so that a reader never sees half of it."""
        values: dict[str, Any] = {f.name: np.asarray(getattr(self, f.name))
                                  for f in fields(self) if f.name != 'slices'}
        for i, item in enumerate(self.slices):
            values |= {f'{i}_{f.name}': np.asarray(getattr(item, f.name)) for f in fields(item)}
            for name in ('reward', 'margin'):
                values[f'{i}_{name}'] = values[f'{i}_{name}'].astype(np.float32)
        temporary = path.with_name(f'.{path.name}.tmp')
        with temporary.open('wb') as file:
            np.savez_compressed(file, **values, count=np.asarray(len(self.slices)))
        temporary.replace(path)

    @property
    def is_curve(self) -> bool:
        """Tell whether only one value is tuned."""
        return len(self.names) == 1

    @property
    def best_sample(self) -> int | None:
        """Return the index of the sample with the best values; None if it is not there."""
        fits = self.sample_safe & (self.samples == self.best).all(axis=1)
        return int(np.argmax(np.where(fits, self.sample_reward, -np.inf))) if fits.any() else None

    @property
    def best_expected(self) -> float:
        """Return the reward that the model expects of the best values."""
        s = self.slices[0]
        x, y = ((self.best[i] - self.lower[i]) / (self.upper[i] - self.lower[i])
                for i in (s.x, s.y))
        if self.is_curve:
            mean = s.reward[MEAN, 0]
            return float(np.interp(x, np.linspace(0, 1, len(mean)), mean))
        return float(between(s.reward[MEAN], np.array([[x, y]]))[0])

    @property
    def pairs(self) -> tuple[str, ...]:
        """Return the names of all slices."""
        return tuple(self.names[s.x] if s.x == s.y else f'{self.names[s.x]}, {self.names[s.y]}'
                     for s in self.slices)

    def axis(self, i: int, count: int) -> Array:
        """Return `count` numbers from end to end of value i."""
        return np.linspace(self.lower[i], self.upper[i], count)

    def plane(self, index: int = 0) -> Plane:
        """Return one slice with the projections of all samples, ready to be drawn."""
        s = self.slices[index]
        two = [s.x, s.y]
        others = [i for i in range(len(self.names)) if i not in two]
        span = np.subtract(self.upper, self.lower)
        away = np.abs((self.samples - self.best) / span)[:, others].max(axis=1, initial=0.0)
        names, units = (tuple(item[i] for i in two) for item in (self.names, self.units))
        lower, upper = (tuple(item[i] for i in two) for item in (self.lower, self.upper))
        return Plane(
            self.iteration, names, units, lower, upper,
            margin=s.margin[LOWER], safe=s.safe, hull=s.hull, enlarged=s.enlarged,
            samples=self.samples[:, two], sample_reward=self.sample_reward,
            sample_safe=self.sample_safe, on_slice=away <= NEAR, best=self.best[two],
            best_reward=(float('nan') if self.best_sample is None
                         else float(self.sample_reward[self.best_sample])),
            best_expected=self.best_expected)

    def sentence(self, index: int = 0) -> str:
        """Say what of a picture is slice and what is projection."""
        if self.is_curve:
            return ('Line: what the model expects. Band: what it is sure of. Dots: episodes. '
                    'A margin of 0 or more is safe.')
        if len(self.names) == 2:
            outside = self.plane().margin_at(self.best[None])[0] < 0
            return ('Colour: lower bound of the tightest margin. Inside the line values are '
                    'safe with high probability.' + (
                        ' The star is outside: it was tried, and was safe.' if outside else ''))
        s = self.slices[index]
        rest = ', '.join(f'{name} = {number(self.best[i])}' for i, name in enumerate(self.names)
                         if i not in (s.x, s.y))
        return (f'Colour and line are a slice through the best values, with {rest}. Dots and '
                'hulls are projections: pale dots had other values there.')


def _slice(m: Any) -> Slice:
    shape = (m.rows, m.columns)

    def bands(*parts: Any) -> Array:
        return np.clip([np.asarray(p, float).reshape(shape) for p in parts], -LARGEST, LARGEST)

    return Slice(m.x, m.y, bands(m.reward_mean, m.reward_lower, m.reward_upper),
                 bands(m.margin_mean, m.margin_lower, m.margin_upper),
                 np.asarray(m.safe, bool).reshape(shape), outline(m.hull), outline(m.enlarged))


def outline(points: Any) -> Array:
    """Return the corners of the convex hull of points x0, y0, x1, y1, ... in order."""
    known = sorted({(float(x), float(y)) for x, y in np.asarray(points, float).reshape(-1, 2)})

    def chain(items: list[tuple[float, float]]) -> list[tuple[float, float]]:
        # Andrew's monotone chain: keep left turns only.
        kept: list[tuple[float, float]] = []
        for p in items:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    corners = known if len(known) < 3 else chain(known) + chain(known[::-1])
    return np.array(corners).reshape(-1, 2)


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
