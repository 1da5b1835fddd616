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

"""Tune two gains of a servo by Xopt with our generator: python with_xopt.py."""
from pacsbo_ros.adapters.xopt_generator import XoptPacsbo
from servo import overshoot, settling_time
from xopt import Evaluator, VOCS, Xopt

LIMIT = 0.25  # overshoot that must not be passed, not even while it is tuned


def measure(inputs):
    """Measure once."""
    return {'seconds': settling_time(**inputs), 'overshoot': overshoot(**inputs)}


vocs = VOCS(variables={'p': [1.0, 40.0], 'd': [0.5, 8.0]}, objectives={'seconds': 'MINIMIZE'},
            constraints={'overshoot': ['LESS_THAN', LIMIT]})
generator = XoptPacsbo(vocs=vocs, scales={'overshoot': LIMIT},
                       settings={'length_scales': (0.3,), 'candidates': 900, 'budget': 20,
                                 'scale_prior': 1.0})
xopt = Xopt(generator=generator, evaluator=Evaluator(function=measure))
xopt.evaluate_data([{'p': 6.0, 'd': 4.0}, {'p': 8.0, 'd': 4.0}, {'p': 6.0, 'd': 4.5}])  # safe
while len(xopt.data) < 20:
    xopt.step()

best = xopt.data.loc[xopt.data['seconds'].idxmin()]
print(f'settles in {best["seconds"]:.2f} s instead of {xopt.data["seconds"].iloc[0]:.2f} s with '
      f'p {best["p"]:.1f}, d {best["d"]:.1f}; largest overshoot on the way '
      f'{xopt.data["overshoot"].max():.2f} of {LIMIT}')
