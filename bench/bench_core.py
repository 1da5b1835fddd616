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
Measure the optimiser: ratios from one run, so that the machine cancels out.

The yardstick for speed is Algorithm 3 taken literally: one random function after the other, each
with its own linear system, as a reader of the paper would write it down first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
import time
import tracemalloc
from typing import Any

import numpy as np
from pacsbo_ros.core import random_function, SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array, Kernel

Line = tuple[str, float, str, str | None]
STEPS = 16  # iterations of which the typical one is given


def literal_algorithm_3(kernel: Kernel, A: Array, y: Array, low: Array, high: Array, q: int,
                        rng: np.random.Generator) -> float:
    """Draw q interpolating functions of N-hat = 100 centres one by one; give mean + w."""
    norms = []
    for _ in range(q):
        tail = rng.uniform(low, high, size=(100 - len(A), A.shape[1]))
        a = rng.uniform(-1.0, 1.0, size=len(tail))
        K = kernel(A, A) + 1e-6 * np.eye(len(A))
        head = np.linalg.solve(K, y - kernel(A, tail) @ a)
        centres, alpha = np.vstack([A, tail]), np.concatenate([head, a])
        norms.append(np.sqrt(alpha @ kernel(centres, centres) @ alpha))
    w = (max(norms) - min(norms)) * np.sqrt(np.log(2 / 0.1) / (2 * q))
    return float(np.mean(norms) + w)


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Return the least time of several calls: the one that others disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


@dataclass(frozen=True)
class Steps:
    """Hold what was measured around N samples, one entry per step."""

    ours: Array  # tell and ask together, s
    floor: Array  # one product of the N x G matrix with a vector, s
    widened: np.ndarray  # did the sample widen the hull, so that the domains changed

    @property
    def typical(self) -> float:
        """Return the median time of a step."""
        return float(np.median(self.ours))


def run_once(n: int, N: int, candidates: int, ell: float, changes: dict[str, Any]) -> Steps:
    """Run an optimiser of a reward and a constraint; time every step and, after it, the floor."""
    settings = Settings(dimension=n, constraints=1, length_scales=(ell,), candidates=candidates,
                        memory_limit=1e10, **changes)
    rng = np.random.default_rng(0)
    functions = [random_function(settings.kernels()[0], 100, rng, norm=2.0) for _ in range(2)]
    optimizer = SafeOptimizer(settings)
    rows, corners = [], np.empty((0, n))
    for x in rng.uniform(0.2, 0.8, (N + STEPS // 2, n)):
        values = [functions[0](x[None])[0], 1.0 + 0.2 * functions[1](x[None])[0]]
        start = time.perf_counter()
        optimizer.tell(x, values)
        optimizer.ask()
        ours = time.perf_counter() - start
        # The same matrix in the same state of the caches as the iteration finds it.
        V = optimizer._run.rule.outputs[0].main.a
        v = np.ones(len(V))
        start = time.perf_counter()
        v @ V
        floor = time.perf_counter() - start
        before, corners = corners, optimizer.hull_vertices()
        rows.append((ours, floor, not np.array_equal(before, corners)))
    ours, floor, widened = np.array(rows[-STEPS:]).T
    return Steps(ours, floor, widened.astype(bool))


def iteration(n: int, N: int, candidates: int, ell: float, repeats: int,
              **changes: Any) -> Steps:
    """Give for every step the least time of several identical runs: others use the machine too."""
    runs = [run_once(n, N, candidates, ell, changes) for _ in range(repeats)]
    return Steps(np.min([r.ours for r in runs], axis=0),
                 np.min([r.floor for r in runs], axis=0), runs[0].widened)


def step_times(n: int, candidates: int, ell: float, repeats: int, **changes: Any) -> float:
    """Return the median processor time of a step, samples 6 to 30 of one output [ms]."""
    rng = np.random.default_rng(1)
    settings = Settings(dimension=n, constraints=0, reward_threshold=-2.5, candidates=candidates,
                        **{'length_scales': (ell,), **changes})
    h = random_function(Kernel('matern32', (ell,) * n), 100, rng, norm=2.0)
    points = rng.uniform(0.3, 0.7, (30, n))
    times = np.empty((repeats, len(points)))
    for row in times:
        optimizer = SafeOptimizer(settings)
        for i, x in enumerate(points):
            start = time.thread_time()
            optimizer.tell(x, h(x[None]))
            optimizer.ask()
            row[i] = time.thread_time() - start
    return 1e3 * float(np.median(times.min(axis=0)[5:]))


def exponent(sizes: list[int], times: list[float]) -> float:
    """Fit t ~ size^p and give p."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def run() -> Iterator[Line]:
    """Yield name, value, unit and goal of every measurement."""
    rng = np.random.default_rng(2)
    kernel = Kernel('matern32', (0.1,))
    A = rng.random((12, 1))
    y = random_function(kernel, 100, rng, norm=2.0)(A)
    once = seconds(lambda: literal_algorithm_3(
        kernel, A, y, np.zeros(1), np.ones(1), 1000, np.random.default_rng(0)), 2)
    ours = iteration(1, 12, 1000, 0.1, 20).typical
    # Three domains, two outputs: the literal algorithm runs six times an iteration.
    yield 'core.literal_algorithm_3', once, 's', None
    yield 'core.iteration_1d', 1e3 * ours, 'ms', None
    yield 'core.iteration_speedup_1d', 6 * once / ours, 'x', '>= 1000'

    steps = iteration(2, 50, 10_000, 0.3, 20)
    floor = float(np.median(steps.floor))
    yield 'core.iteration_2d', 1e3 * steps.typical, 'ms', None
    yield 'core.floor_2d', 1e3 * floor, 'ms', None
    yield 'core.iteration_over_floor_2d', steps.typical / floor, 'x', '<= 20'
    # The same product again and again finds its matrix in the cache, which no iteration does.
    V, v = rng.random((50, 10_000)), rng.random(50)
    yield 'core.iteration_over_cached_floor_2d', steps.typical / seconds(
        lambda: v @ V, 200), 'x', None
    yield 'core.widening_over_floor_2d', float(
        np.median(steps.ours[steps.widened]) / floor), 'x', None

    # Beside SafeOpt on the same grid and samples: its rule here, with the norm told, and the times
    # that its package took on a quiet machine with twelve samples, as goals.
    safeopt = {'rule': 'given', 'given_norm': (2.0,), 'domains': ('box',), 'choice': 'safeopt'}
    for n, candidates, ell, repeats, goal in (
            (1, 1000, 0.1, 20, 1.2), (2, 10_000, 0.3, 10, 4.6), (4, 0, 0.5, 5, 20.0)):
        yield (f'core.step_told_{n}d', step_times(
            n, candidates, ell, repeats, length_scale_factors=(1.0,)), 'ms', f'<= {goal}')
        yield f'core.step_default_{n}d', step_times(n, candidates, ell, repeats), 'ms', None
        yield (f'core.step_auto_{n}d', step_times(n, candidates, ell, repeats,
                                                  length_scales='auto'), 'ms', None)
        yield (f'core.step_safeopt_{n}d', step_times(n, candidates, ell, repeats, **safeopt),
               'ms', None)

    counts = [10, 25, 50, 100, 200]
    times = [iteration(2, N, 10_000, 0.3, 3).typical for N in counts]
    yield 'core.exponent_samples', exponent(counts, times), '', '<= 1.5'
    grids = [1000, 10_000, 100_000, 1_000_000]
    times = [iteration(2, 10, G, 0.3, 2, max_samples=32).typical for G in grids]
    yield 'core.exponent_candidates', exponent(grids, times), '', '<= 1.1'

    tracemalloc.start()
    run_once(2, 50, 10_000, 0.3, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield 'core.peak_memory_2d', peak / 2 ** 20, 'MiB', '<= 200'


if __name__ == '__main__':
    for name, value, unit, goal in run():
        print(f'{name:32s} {value:10.3f} {unit:4s} {goal or ""}')
