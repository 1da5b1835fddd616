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
The simulated pendulum as a problem: a reward, and margins that every episode shows anew.

  pendulum                  starts, box, limits and episodes of config/furuta.yaml
  pendulum, authors' start  the one start of the authors' newest hardware run, 20 experiments, in
                            their box, without a push; |alpha| up to 45° and |theta| up to 90°

Each experiment is a simulated episode from a random start, without a backup. It was safe if all of
its own margins were >= 0. Regret is that of the mean reward over repeats, read from a map of the
box that is kept beside this file:

    python -m studies.benchmark.pendulum                    makes the maps anew: a few minutes
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
import math
from pathlib import Path

import numpy as np
from pacsbo_ros.core import Kernel
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import preset
from pacsbo_ros.robots.furuta.running import run_episode
from scipy.interpolate import RegularGridInterpolator
from studies.benchmark.problem import Problem, Trial
from studies.gain_map import gain_map
from studies.pendulum import read_config
from studies.reachable import reachable_best
from studies.trials import load_trials

MAPS = Path(__file__).with_name('pendulum.npz')
GRID, REPEATS = 51, 8  # gains per axis of the maps, random starts of each
NEVER = -1e6  # reward of gains that are not safe


@dataclass(frozen=True)
class Kind:
    """Hold an experiment: where it starts, what it may do, what a method is told of it."""

    lower: tuple[float, float]  # V/rad
    upper: tuple[float, float]
    starts: tuple[tuple[float, ...], ...]  # V/rad
    limits: Limits
    settings: EpisodeSettings
    constraints: int  # the first ones of scaling.CONSTRAINTS
    length_scales: tuple[float, float]  # of the unit box
    budget: int


@cache
def kinds() -> dict[str, Kind]:
    """Return both experiments."""
    bench = read_config()
    box, scales = bench.problem.box, bench.problem.settings.length_scales
    first = load_trials()[0].gains
    ours = Kind(box.lower, box.upper, bench.problem.start, bench.limits, bench.settings, 4,
                scales, bench.episodes)
    theirs = replace(
        ours, lower=(-10.0, 0.0), upper=(0.0, 100.0), starts=((first.k_theta, first.k_alpha),),
        limits=Limits(alpha=math.pi / 4, theta=math.pi / 2),
        settings=replace(bench.settings, push=None), constraints=2,
        length_scales=(0.6 * scales[0], 0.4 * scales[1]), budget=20)  # the same in V/rad
    return dict(zip(KINDS, (ours, theirs), strict=True))


KINDS = ('pendulum', "pendulum, authors' start")


@dataclass(frozen=True)
class PendulumProblem(Problem):
    """Simulate an episode for every experiment."""

    kind: Kind | None = None

    def experiment(self, x: Array, samples: int, rng: np.random.Generator) -> Trial:
        """Try gains from a random start."""
        kind = self.kind
        assert kind is not None
        low, high = np.array(kind.lower), np.array(kind.upper)
        gains = PAPER_GAINS.with_tuned((low + x * (high - low)).tolist(), ('k_theta', 'k_alpha'))
        result = run_episode(SimulatedDriver(preset('calibrated')), gains, kind.limits,
                             kind.settings, seed=int(rng.integers(2 ** 31)))
        told = np.array(result.values[:1 + kind.constraints])
        return Trial(float(self.h(np.atleast_2d(x))[0]), float(told[1:].min()), told)


def make_map(kind: Kind) -> tuple[Array, Array]:
    """Simulate the box: mean reward and least margin of all repeats, both (g, g)."""
    box = tuple(zip(kind.lower, kind.upper, strict=True))
    found = gain_map(GRID, REPEATS, preset('calibrated'), kind.limits, kind.settings, box)
    values = found.values[..., :1 + kind.constraints]
    return values[..., 0].mean(axis=2), values[..., 1:].min(axis=(2, 3))


@cache
def known(name: str) -> tuple[RegularGridInterpolator, Array, Array, Array]:
    """Return the reward as a function, the points of the map, their rewards and margins."""
    number = KINDS.index(name)
    with np.load(MAPS) as file:
        reward, margin = (file[f'{what}_{number}'].astype(float) for what in ('reward', 'margin'))
    axis = np.linspace(0.0, 1.0, GRID)
    X = np.stack(np.meshgrid(axis, axis, indexing='ij'), axis=-1).reshape(-1, 2)
    return RegularGridInterpolator((axis, axis), reward), X, reward.ravel(), margin


def pendulum(name: str, index: int) -> Problem:
    """Return the pendulum; the index draws nothing but the starts of its episodes."""
    kind = kinds()[name]
    h, X, reward, margin = known(name)
    low, high = np.array(kind.lower), np.array(kind.upper)
    starts = (np.array(kind.starts) - low) / (high - low)
    H = np.where(margin.ravel() >= 0, reward, NEVER)
    steepest = max(float(np.abs(np.diff(margin, axis=axis)).max()) for axis in (0, 1))
    return PendulumProblem(
        name, h, 0.0, starts, kind.budget, lambda x, rng: 0.0, 0.08,
        Kernel('matern32', kind.length_scales), math.nan, steepest * (GRID - 1), float(H.max()),
        reachable_best(X, H, NEVER / 2, starts, h(starts), GRID), constraints=kind.constraints,
        kind=kind)


def main() -> None:
    """Make the maps."""
    made: dict[str, Array] = {}
    for number, kind in enumerate(kinds().values()):
        made[f'reward_{number}'], made[f'margin_{number}'] = (
            a.astype(np.float32) for a in make_map(kind))
    np.savez_compressed(MAPS, **made)


if __name__ == '__main__':
    main()
