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
Compare a step of PACSBO with the paper taken literally and with BoTorch, side by side.

All three optimise the same random functions of two parameters from the same starts, with the same
kernel, noise and candidates. BoTorch gets its constrained expected improvement, the true
hyperparameters (so it fits nothing) and the candidates in one batch. Every contestant runs in a
process of its own, so that its peak memory is its own.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
import importlib.util
import json
import os
from pathlib import Path
import subprocess
import sys
import time

from bench.bench_core import Line, literal_algorithm_3
import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.kernels import Array
from studies.worlds import make_world, NOISE, points, SIDE, World

N = 2  # parameters
SAMPLES = 30
FUNCTIONS = {'pacsbo': 40, 'botorch': 40, 'literal': 1}
Ask = Callable[[list[Array], list[float]], Array]


def pacsbo(world: World) -> Ask:
    """Return the step of PACSBO with its defaults."""
    optimizer = SafeOptimizer(Settings(
        dimension=N, constraints=0, reward_threshold=world.threshold, noise_bound=NOISE,
        length_scales=world.kernel.length_scales, candidates=SIDE[N] ** N))

    def ask(A: list[Array], y: list[float]) -> Array:
        for x, value in zip(A[len(optimizer.samples[0]):], y[len(optimizer.samples[0]):],
                            strict=True):
            optimizer.tell(x, [value])
        proposal = optimizer.ask()
        return A[-1] if isinstance(proposal, NothingToPropose) else np.array(proposal.point)
    return ask


def literal(world: World) -> Ask:
    """Return the norm bounds of a step as the paper writes them: three domains, q = 1000."""
    rng = np.random.default_rng(0)

    def ask(A: list[Array], y: list[float]) -> Array:
        X, values = np.array(A), np.array(y)
        for low, high in ((X.min(0), X.max(0)), (X.min(0) - 0.05, X.max(0) + 0.05),
                          (np.zeros(N), np.ones(N))):
            literal_algorithm_3(world.kernel, X, values, low, high, 1000, rng)
        return world.starts[0]
    return ask


def botorch(world: World) -> Ask:
    """Return the step of BoTorch: expected improvement times the probability to be safe."""
    from botorch.acquisition.analytic import LogConstrainedExpectedImprovement
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel
    import torch

    torch.set_num_threads(1)
    candidates = torch.tensor(points(N))[:, None, :]

    def ask(A: list[Array], y: list[float]) -> Array:
        X, values = torch.tensor(np.array(A)), torch.tensor(y, dtype=torch.double)
        kernel = MaternKernel(nu=1.5, batch_shape=torch.Size([2])).double()
        kernel.lengthscale = world.kernel.length_scales[0]
        Y = torch.stack([values, values - world.threshold], dim=-1)
        model = SingleTaskGP(X, Y, torch.full_like(Y, NOISE ** 2), covar_module=kernel,
                             outcome_transform=None)
        model.mean_module.constant = 0.0  # as in PACSBO: no mean is known
        acquisition = LogConstrainedExpectedImprovement(
            model, best_f=values.max(), objective_index=0, constraints={1: (0.0, None)})
        with torch.no_grad():
            best = int(torch.argmax(acquisition(candidates)))
        return candidates[best, 0].numpy()
    return ask


CONTESTANTS = {'pacsbo': pacsbo, 'literal': literal, 'botorch': botorch}


def contest(name: str) -> dict[str, float]:
    """Run one contestant in this process; give times, memory, safety and progress."""
    times, unsafe, left = [], 0, []
    for index in range(FUNCTIONS[name]):
        world = make_world('assumed', N, index)
        rng = np.random.default_rng(index)
        ask = CONTESTANTS[name](world)
        A = list(world.starts)
        true = [float(world.h(x[None])[0]) for x in A]
        y = [max(v + world.noise(A[0], rng), world.threshold) for v in true]
        start = max(true)
        failed = False
        while len(A) < (SAMPLES if name != 'literal' else 6):
            begun = time.process_time()  # others on the machine do not count
            x = ask(A, y)
            times.append(time.process_time() - begun)
            true.append(float(world.h(x[None])[0]))
            failed |= true[-1] < world.threshold
            A.append(x)
            y.append(true[-1] + world.noise(x, rng))
        unsafe += failed
        left.append((world.best - max(true)) / (world.best - start))
    return {'step': float(np.median(times)), 'unsafe': unsafe / FUNCTIONS[name],
            'left': float(np.mean(left)),
            'memory': peak_memory()}


def peak_memory() -> float:
    """Return the most memory that this program held, MiB; ru_maxrss would count its parent's."""
    status = Path('/proc/self/status').read_text()
    return int(status.split('VmHWM:')[1].split()[0]) / 1024


def apart(name: str) -> dict[str, float]:
    """Run one contestant in a process of its own."""
    done = subprocess.run(
        [sys.executable, '-m', 'bench.bench_studies', name], check=True, text=True,
        stdout=subprocess.PIPE, cwd=Path(__file__).resolve().parents[1],
        env={**os.environ, 'OMP_NUM_THREADS': '1'})
    return json.loads(done.stdout.splitlines()[-1])


def run() -> Iterator[Line]:
    """Yield name, value, unit and goal of every measurement."""
    ours, paper = apart('pacsbo'), apart('literal')
    yield 'studies.step_pacsbo', 1e3 * ours['step'], 'ms', None
    yield 'studies.step_literal', 1e3 * paper['step'], 'ms', None
    yield 'studies.literal_over_pacsbo', paper['step'] / ours['step'], 'x', '>= 100'
    yield 'studies.memory_pacsbo', ours['memory'], 'MiB', '<= 300'
    yield 'studies.memory_literal', paper['memory'], 'MiB', None
    yield 'studies.unsafe_runs_pacsbo', 100 * ours['unsafe'], '%', None
    yield 'studies.regret_left_pacsbo', ours['left'], '', None
    if importlib.util.find_spec('botorch') is None:
        print('studies.*_botorch are skipped: BoTorch is not installed. Install '
              'torch==2.13.0 first, then botorch (the extra "bench").', file=sys.stderr)
        return
    theirs = apart('botorch')
    yield 'studies.step_botorch', 1e3 * theirs['step'], 'ms', None
    yield 'studies.botorch_over_pacsbo', theirs['step'] / ours['step'], 'x', '>= 1'
    yield 'studies.memory_botorch', theirs['memory'], 'MiB', None
    yield 'studies.unsafe_runs_botorch', 100 * theirs['unsafe'], '%', None
    yield 'studies.regret_left_botorch', theirs['left'], '', None


if __name__ == '__main__':
    if len(sys.argv) > 1:
        print(json.dumps(contest(sys.argv[1])))
    else:
        for name, value, unit, goal in run():
            print(f'{name:36s} {value:10.3f} {unit:4s} {goal or ""}')
