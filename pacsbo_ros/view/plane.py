# Copyright the pacsbo_ros developers. Apache-2.0.
"""
What the model believes over the plane of the first two tuned gains, at one moment of a run.

Symbol    Field     Shape            Meaning
l         margin    (rows, columns)  lower bound of the tightest constraint; >= 0 is safe
mu_0      reward    (rows, columns)  predicted reward
K         samples   (n, 2)           gains tried so far

A row has one value of the second gain, a column one of the first; gains in physical units.
"""
from __future__ import annotations

from dataclasses import dataclass, fields
import math
from pathlib import Path
from typing import Any

from contourpy import contour_generator
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GainPlane:
    """Hold the map of the gain plane and everything that is drawn on it."""

    run_id: str
    iteration: int  # episodes told so far
    names: tuple[str, str]
    lower: tuple[float, float]  # corner of the box
    upper: tuple[float, float]  # opposite corner
    margin: Array
    reward: Array
    hull: Array  # (n, 2), convex hull of the samples
    enlarged: Array  # (n, 2), enlarged hull
    samples: Array
    sample_reward: Array  # (n,)
    sample_outcome: NDArray[np.int64]  # (n,), codes of furuta.Outcome
    sample_safe: NDArray[np.bool_]  # (n,)

    @classmethod
    def from_message(cls, m: Any) -> GainPlane:
        """Read the ROS message GainMap; ValueError if its sizes do not fit."""
        shape = (m.rows, m.columns)
        if min(shape) < 2:
            raise ValueError(f'gain map of {m.rows} by {m.columns} points; need 2 by 2 or more')

        def pairs(values: Any) -> Array:
            return np.asarray(values, float).reshape(-1, 2)

        return cls(m.run_id, m.iteration, tuple(m.names), tuple(map(float, m.lower)),
                   tuple(map(float, m.upper)),
                   np.asarray(m.constraint_lower, float).reshape(shape),
                   np.asarray(m.reward_mean, float).reshape(shape), pairs(m.hull),
                   pairs(m.enlarged), pairs(m.samples), np.asarray(m.sample_reward, float),
                   np.asarray(m.sample_outcome, int), np.asarray(m.sample_safe, bool))

    @classmethod
    def load(cls, path: Path) -> GainPlane:
        """Read a plane that save() wrote."""
        with np.load(path, allow_pickle=False) as data:
            values = {f.name: data[f.name] for f in fields(cls)}
        for name in ('names', 'lower', 'upper'):
            values[name] = tuple(values[name].tolist())
        return cls(**{**values, 'run_id': str(values['run_id']),
                      'iteration': int(values['iteration'])})

    def save(self, path: Path) -> None:
        """Write the plane in one step, so that a reader never sees half of it."""
        values = {f.name: np.asarray(getattr(self, f.name)) for f in fields(self)}
        values['margin'] = values['margin'].astype(np.float32)
        values['reward'] = values['reward'].astype(np.float32)
        temporary = path.with_name(f'.{path.name}.tmp')
        with temporary.open('wb') as file:
            np.savez_compressed(file, **values)
        temporary.replace(path)

    def axis(self, i: int, count: int | None = None) -> Array:
        """Return the grid along gain i, or `count` points from end to end."""
        return np.linspace(self.lower[i], self.upper[i], count or self.margin.shape[1 - i])

    @property
    def best(self) -> int | None:
        """Return the index of the best safe sample; None if there is none."""
        if not self.sample_safe.any():
            return None
        return int(np.argmax(np.where(self.sample_safe, self.sample_reward, -np.inf)))

    @property
    def safe_share(self) -> float:
        """Return the share of the plane that is safe."""
        return float((self.margin >= 0).mean())

    def close_up(self) -> tuple[Array, Array]:
        """Return two corners around all that was tried, with room to grow, within the box."""
        known = np.vstack([self.samples, self.enlarged, self.hull])
        lower, upper = np.array(self.lower), np.array(self.upper)
        if not len(known):
            return lower, upper
        least = 0.15 * (upper - lower)
        room = np.maximum(0.35 * np.ptp(known, axis=0), least / 2)
        return (np.maximum(known.min(axis=0) - room, lower),
                np.minimum(known.max(axis=0) + room, upper))

    def boundary(self) -> list[Array]:
        """Return the border of the safe set as lines of (n, 2) gains."""
        generator = contour_generator(self.axis(0), self.axis(1), self.margin)
        return [np.asarray(line) for line in generator.lines(0.0)]

    def margin_at(self, gains: Array) -> Array:
        """Return the margin at (n, 2) gains, bilinear between the grid points."""
        rows, columns = self.margin.shape
        share = (np.asarray(gains, float) - self.lower) / np.subtract(self.upper, self.lower)
        x = np.clip(share[:, 0], 0, 1) * (columns - 1)
        y = np.clip(share[:, 1], 0, 1) * (rows - 1)
        i, j = np.minimum(x.astype(int), columns - 2), np.minimum(y.astype(int), rows - 2)
        u, v = x - i, y - j
        m = self.margin
        return ((1 - u) * (1 - v) * m[j, i] + u * (1 - v) * m[j, i + 1]
                + (1 - u) * v * m[j + 1, i] + u * v * m[j + 1, i + 1])


def unit(name: str) -> str:
    """Return the unit of a gain."""
    return 'V·s/rad' if name.endswith('_dot') else 'V/rad'


def label(name: str) -> str:
    """Return the name of a gain as people write it, with its unit."""
    greek = name.replace('k_', '').replace('theta', 'θ').replace('alpha', 'α')
    return f'k{greek.replace("_dot", "̇")} [{unit(name)}]'


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers from low to high."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((s * power for s in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - rough))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 10) for k in range(first, math.floor(high / step + 1e-9) + 1)]
