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

"""What training data and a prediction cost."""
from collections.abc import Iterator
import time

import numpy as np
from pacsbo_ros.core import Settings
from pacsbo_ros.executors import executor_factory
from pacsbo_ros.predictor import load_predictor
from pacsbo_ros.predictor.data import Family, Plan
from pacsbo_ros.predictor.train import RECIPES
from pacsbo_ros.predictor.workers import collect, Task, work

RELEASED = 0.4  # s, what a function of Algorithm 1 costs in the released code on one core
FUNCTIONS = 1000
SAMPLES = 12
CHUNK = 50
CALLS = 2000


def tasks(functions: int) -> list[Task]:
    recipe = RECIPES[1]
    plan = Plan(Family('matern32', 1, (recipe.length_scales[0], recipe.length_scales[-1])),
                seed=5, samples=SAMPLES, candidates=recipe.candidates)
    return [Task(plan, i, i + CHUNK) for i in range(0, functions, CHUNK)]


def wall_time(workers: int, functions: int) -> float:
    """Return the seconds that warm workers need."""
    pool = executor_factory(workers)
    # Starting Python and importing is not what is measured; the pool stays warm.
    collect(work, tasks(4 * CHUNK), pool)
    start = time.perf_counter()
    collect(work, tasks(functions), pool)
    return time.perf_counter() - start


def run() -> Iterator[tuple[str, float, str, str | None]]:
    start = time.process_time()
    for task in tasks(FUNCTIONS):
        work(task)
    cost = (time.process_time() - start) / FUNCTIONS
    yield 'predictor.training_speedup', RELEASED / cost, 'x', '>= 20'
    yield 'predictor.functions_per_second_per_core', 1.0 / cost, '1/s', '>= 50'
    one, two = wall_time(1, FUNCTIONS // 2), wall_time(2, FUNCTIONS // 2)
    yield 'predictor.scaling_1_to_2_workers', one / two, 'x', None

    settings = Settings()
    eta = load_predictor('default', settings)
    history = np.column_stack([np.linspace(1.0, 2.0, 25), np.linspace(1.5, 3.0, 25)])
    eta(history, settings, 'box')
    start = time.process_time()
    for _ in range(CALLS):
        eta(history, settings, 'box')
    yield 'predictor.inference', 1e3 * (time.process_time() - start) / CALLS, 'ms', '<= 1'
    start = time.process_time()
    for _ in range(20):
        load_predictor('default', settings)
    yield 'predictor.loading', 1e3 * (time.process_time() - start) / 20, 'ms', None
