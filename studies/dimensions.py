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
Measure the default with many parameters: a Gaussian in 10 and Hartmann's function in 6.

    python -m studies.dimensions --seeds 2          about ten seconds of computing a seed

Three starts close together, safe is what reaches half of the first start's value, 100 samples,
noise 0.01, length_scales auto, scale_prior 0.5 as the node is launched.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import time

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array
from studies import records

NOISE, SAMPLES, SHOWN = 0.01, 100, (10, 30, 60, 100)
# Hartmann's function, six parameters; its highest value is 3.322.
WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
SHARPNESS = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
                      [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
CENTRES = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886],
                           [2329, 4135, 8307, 3736, 1004, 9991],
                           [2348, 1451, 3522, 2883, 3047, 6650],
                           [4047, 8828, 8732, 5743, 1091, 381]])
BEST = np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573])


def hartmann(x: Array) -> float:
    """Return Hartmann's function, turned upside down."""
    return float(WEIGHTS @ np.exp(-(SHARPNESS * (x - CENTRES) ** 2).sum(axis=1)))


def gaussian(x: Array) -> float:
    """Return a Gaussian around the middle of the box; its highest value is 1."""
    return float(np.exp(-0.5 * ((x - 0.5) ** 2).sum() / (0.16 * len(x) / 4)))


def first_start(name: str, rng: np.random.Generator) -> Array:
    """Choose where to begin: well below the optimum, well above nothing."""
    if name == 'gaussian':
        return np.asarray(0.5 + 0.25 * rng.choice([-1, 1], 10) * rng.uniform(0.5, 1, 10))
    while True:
        x = np.clip(BEST + 0.2 * rng.normal(size=6), 0, 1)
        if 0.8 < hartmann(x) < 1.6:
            return x


FUNCTIONS: dict[str, Callable[[Array], float]] = {'gaussian': gaussian, 'hartmann': hartmann}


def run(name: str, seed: int, samples: int = SAMPLES, candidates: int = 0) -> records.Record:
    """Run the default once."""
    rng, h = np.random.default_rng(seed), FUNCTIONS[name]
    start = first_start(name, rng)
    threshold = 0.5 * h(start)
    optimizer = SafeOptimizer(Settings(
        dimension=len(start), constraints=0, reward_threshold=threshold, noise_bound=NOISE,
        length_scales='auto', scale_prior=0.5, starts=3, budget=samples,
        max_samples=samples, candidates=candidates), seed)
    best, unsafe = [], 0
    for step in (0.0, 0.05, 0.05):
        x = np.clip(start + step * rng.normal(size=len(start)), 0, 1)
        best.append(h(x))
        optimizer.tell(x, [h(x) + NOISE * rng.normal()])
    begun = time.process_time()
    while len(best) < samples:
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        x = np.array(proposal.point)
        unsafe += h(x) < threshold
        best.append(h(x))
        optimizer.tell(x, [h(x) + NOISE * rng.normal()])
    return {'best': np.maximum.accumulate(best).tolist(), 'unsafe': int(unsafe),
            'ms': 1e3 * (time.process_time() - begun) / max(len(best) - 3, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row per function and seed."""
    parser = argparse.ArgumentParser(prog='python -m studies.dimensions',
                                     description='Measure the default with many parameters.')
    parser.add_argument('--seeds', type=int, default=2)
    options = parser.parse_args(arguments)
    rows = []
    for seed in range(options.seeds):
        for name in FUNCTIONS:
            found = run(name, seed)
            best = found['best']
            rows.append((name, seed, f'{best[0]:.3f}', *(
                f'{best[min(k, len(best)) - 1]:.3f}' for k in SHOWN), found['unsafe'],
                len(best), f'{found["ms"]:.0f}'))
    print(records.markdown(('function', 'seed', 'start', *(f'best of {k}' for k in SHOWN),
                            'unsafe', 'samples', 'ms a step'), rows))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
