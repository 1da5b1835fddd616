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
PACSBO as a sampler of Optuna.

    sampler = PacsboSampler(margins=lambda trial: trial.user_attrs['margins'], budget=30)
    study = optuna.create_study(direction='maximize', sampler=sampler)
    study.enqueue_trial({'p': 8.0, 'd': 0.8})          # a start that is known to be safe
    study.optimize(objective, n_trials=30)

The objective sets what `margins` reads: one number per constraint, >= 0 where it is safe. Values
should be of order one: give the reward's `offset` and `scale` where they are not. When nothing can
be proposed safely, the study is stopped and the reason is in `sampler.reason`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optuna
from pacsbo_ros.core import Box, NothingToPropose, SafeOptimizer, Settings

Margins = Callable[[optuna.trial.FrozenTrial], Sequence[float]]


class PacsboSampler(optuna.samplers.BaseSampler):
    """Propose safe points of a box of floats; starts come by `study.enqueue_trial`."""

    def __init__(self, margins: Margins, *, offset: float = 0.0, scale: float = 1.0,
                 seed: int = 0, **settings: Any) -> None:
        """Take the constraints' margins, the reward's scale, and settings of the core."""
        self._margins, self._offset, self._scale = margins, offset, scale
        self._seed, self._settings = seed, settings
        self._optimizer: SafeOptimizer | None = None
        self._box: Box | None = None
        self._told: set[int] = set()
        self.reason = ''  # why nothing more could be proposed

    def infer_relative_search_space(
            self, study: optuna.Study, trial: optuna.trial.FrozenTrial,
    ) -> dict[str, optuna.distributions.BaseDistribution]:
        """Return the space of the first finished trial, which has to be one of floats."""
        done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        if not done:
            return {}
        space = dict(sorted(done[0].distributions.items()))
        for name, values in space.items():
            if not isinstance(values, optuna.distributions.FloatDistribution) or values.log:
                raise ValueError(f'{name} is {values}; PacsboSampler tunes plain floats')
        return space

    def sample_relative(self, study: optuna.Study, trial: optuna.trial.FrozenTrial,
                        search_space: dict[str, optuna.distributions.BaseDistribution],
                        ) -> dict[str, Any]:
        """Tell what is new, then ask."""
        if not search_space:
            return {}
        optimizer, box = self._take_up(study, search_space)
        answer = optimizer.ask()
        if isinstance(answer, NothingToPropose):
            self.reason = answer.reason
            study.stop()
            best = optimizer.best()  # the running trial still needs a point: the best safe one
            answer_point = best.point if best is not None else optimizer.samples[0][0]
        else:
            answer_point = answer.point
        values = box.to_physical(np.asarray(answer_point))
        return dict(zip(box.names, values.tolist(), strict=True))

    def sample_independent(self, study: optuna.Study, trial: optuna.trial.FrozenTrial,
                           param_name: str,
                           param_distribution: optuna.distributions.BaseDistribution) -> Any:
        """Refuse: a value that nobody called safe is not invented."""
        raise ValueError(f'no safe start for {param_name}; call study.enqueue_trial with values '
                         'known to be safe before the first trial')

    def _take_up(self, study: optuna.Study,
                 space: dict[str, Any]) -> tuple[SafeOptimizer, Box]:
        done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        if self._optimizer is None or self._box is None:
            self._box = Box(tuple(space), tuple(d.low for d in space.values()),
                            tuple(d.high for d in space.values()))
            self._optimizer = SafeOptimizer(Settings(
                dimension=len(space), constraints=len(self._margins(done[0])),
                **self._settings), self._seed)
        sign = 1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else -1.0
        for trial in done:
            if trial.number not in self._told:
                point = self._box.to_unit([trial.params[name] for name in self._box.names])
                reward = (sign * trial.values[0] - self._offset) / self._scale
                self._optimizer.tell(point, [reward, *self._margins(trial)])
                self._told.add(trial.number)
        return self._optimizer, self._box
