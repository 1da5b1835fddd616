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

"""Tune two gains of a servo by Optuna with our sampler: python with_optuna.py."""
import optuna
from pacsbo_ros.adapters.optuna_sampler import PacsboSampler
from servo import overshoot, settling_time

LIMIT = 0.25  # overshoot that must not be passed, not even while it is tuned


def objective(trial):
    """Measure once; the margin is >= 0 where it is safe, and of order one."""
    p, d = trial.suggest_float('p', 1.0, 40.0), trial.suggest_float('d', 0.5, 8.0)
    trial.set_user_attr('margins', [(LIMIT - overshoot(p, d)) / LIMIT])
    return settling_time(p, d)


sampler = PacsboSampler(lambda trial: trial.user_attrs['margins'], offset=-2.0, scale=1.0,
                        length_scales=(0.3,), candidates=900, budget=20, scale_prior=1.0)
study = optuna.create_study(direction='minimize', sampler=sampler)
for p, d in ((6.0, 4.0), (8.0, 4.0), (6.0, 4.5)):  # known to be safe
    study.enqueue_trial({'p': p, 'd': d})
study.optimize(objective, n_trials=20)

worst = max(overshoot(**trial.params) for trial in study.trials)
print(f'settles in {study.best_value:.2f} s instead of {study.trials[0].value:.2f} s with '
      f'{study.best_params}; largest overshoot on the way {worst:.2f} of {LIMIT}')
