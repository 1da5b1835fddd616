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
The authors' newest hardware run beside ours, from the same start on the calibrated plant.

    python -m studies.benchmark.hardware --runs 20

One start, 20 experiments, |alpha| up to 45°. Theirs was made once, on a device; ours is simulated
on a plant that was fitted to those very trials, so it can be compared in kind, not in digits.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from pacsbo_ros.core.kernels import Array
from studies import records
from studies.benchmark import others, ours, written  # noqa: F401, they enter their methods
from studies.benchmark.cell import play
from studies.benchmark.pendulum import KINDS, kinds
from studies.benchmark.problems import problem
from studies.trials import load_trials

NAME = KINDS[1]
METHOD = 'pacsbo, size told'


def measured(method: str, index: int) -> tuple[Array, Array]:
    """Return the raw rewards and the margins of the angle [rad] of one run."""
    kind = kinds()[NAME]
    scaling = kind.settings.scaling
    told = np.array([t.told for t in play(problem(NAME, index), method, index).trials])
    return (scaling.reward_offset + scaling.reward_scale * told[:, 0],
            kind.limits.alpha * told[:, 1] / scaling.angle_gain)


def row(name: str, runs: Sequence[tuple[Array, Array]]) -> tuple[object, ...]:
    """Write one row: medians over the runs, but the least margin of all, if none was lost."""
    first, best, index = (np.median([f(reward) for reward, _ in runs])
                          for f in (lambda r: r[0], np.max, np.argmax))
    least = min(float(margin.min()) for _, margin in runs)
    unsafe = sum(bool((margin < 0).any()) for _, margin in runs)
    return (name, len(runs), f'{first:.3f}', f'{best:.3f}', f'{index:.0f}',
            f'{least:.3f}' if least >= 0 else 'lost', f'{unsafe} of {len(runs)}')


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.benchmark.hardware',
                                     description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--methods', nargs='+', default=[METHOD, 'SafeOpt, β = 2'])
    options = parser.parse_args(arguments)
    limit = kinds()[NAME].limits.alpha
    trials = load_trials()
    theirs = (np.array([t.reward for t in trials]),
              limit - np.array([t.max_abs_alpha for t in trials]))
    rows = [row('the authors, hardware', [theirs])]
    rows += [row(f'{m}, simulated', [measured(m, i) for i in range(options.runs)])
             for m in options.methods]
    print(records.markdown(('', 'runs', 'reward of the start', 'best reward', 'found at',
                            'least margin [rad]', 'runs with a violation'), rows))


if __name__ == '__main__':
    main()
