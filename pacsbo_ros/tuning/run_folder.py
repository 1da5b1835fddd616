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

"""The folder that a run leaves behind: parameters, journal, best gains, plots."""
from __future__ import annotations

from datetime import datetime
import os
from pathlib import Path
from typing import Any

from pacsbo_ros.tuning.trial import Told
from pacsbo_ros.tuning.tuning import Problem
from pacsbo_ros.tuning.verification import Gain
import yaml

JOURNAL = 'episodes.jsonl'
PARAMETERS = 'parameters.yaml'
BEST_GAINS = 'best_gains.yaml'


class RunFolder:
    """Name the files of one run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Use an existing folder or make one."""
        self.path = Path(path).expanduser().resolve()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f'run folder {self.path}: {error.strerror}; choose another '
                             'run_dir') from error

    @classmethod
    def new(cls, parent: str | os.PathLike[str] = 'runs') -> RunFolder:
        """Make a folder named after the present time, never one that exists."""
        base = Path(parent).expanduser() / datetime.now().strftime('%Y%m%d-%H%M%S')
        path, count = base, 1
        while path.exists():
            count += 1
            path = base.with_name(f'{base.name}-{count}')
        return cls(path)

    @property
    def run_id(self) -> str:
        """Return the name of the run."""
        return self.path.name

    @property
    def journal(self) -> Path:
        """Return the path of the journal."""
        return self.path / JOURNAL

    @property
    def best_gains(self) -> Path:
        """Return the path of the best gains."""
        return self.path / BEST_GAINS

    def write_parameters(self, parameters: dict[str, Any]) -> None:
        """Save the resolved parameters as a ROS parameter file."""
        self._write(PARAMETERS, yaml.safe_dump(parameters, sort_keys=False))

    def write_best_gains(self, problem: Problem, best: Told, verified: Told, gain: Gain) -> None:
        """Save all values, the best of what was tuned among them, as a ROS parameter file."""
        head = [f'# Best safely evaluated values of run {self.run_id} on {problem.robot.name}.',
                f'# found in episode {_words(problem, best)}',
                f'# verified in episode {_words(problem, verified)}',
                f'# mean reward of the verification {gain.words(problem.robot.reward.unit)}',
                f'# tuned: {", ".join(problem.box.names)}; the others as in every episode']
        nodes: dict[str, Any] = {}
        for name, value in problem.complete(best.trial.values).items():
            tunable = problem.robot.tunable(name)
            node = tunable.node or problem.robot.name
            section = nodes.setdefault(node if node.startswith('/') else f'/**/{node}',
                                       {'ros__parameters': {}})
            section['ros__parameters'][tunable.parameter or name] = value
        self._write(BEST_GAINS, '\n'.join(head) + '\n' + yaml.safe_dump(nodes, sort_keys=False))

    def _write(self, name: str, text: str) -> None:
        """Replace a file in one step, so that a reader never sees half of it."""
        temporary = self.path / f'.{name}.tmp'
        temporary.write_text(text, encoding='utf-8')
        temporary.replace(self.path / name)


def _words(problem: Problem, told: Told) -> str:
    """Return number, reward and peaks of an episode."""
    m, unit = told.measured, problem.robot.reward.unit
    peaks = [f'max |{s.name}| {peak:.4f} {s.unit}'
             for s, peak in zip(problem.robot.signals, m.peaks, strict=True)
             if s.limit is not None]
    reward = f'{told.trial.iteration}: reward {m.reward:.4f} {unit}'.rstrip()
    return ', '.join([reward, *peaks])
