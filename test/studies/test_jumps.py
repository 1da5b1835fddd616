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

"""Jumps: methods at equal regret, and who could not know."""

import numpy as np
from studies.jumps import at_level, curve, table


def run(unsafe_at, left, **changes):
    return {'world': 'jump', 'n': 1, 'method': 'mine', 'starts': 'three', 'code': 'x',
            'unsafe': int(unsafe_at > 0), 'unsafe_at': unsafe_at, 'blind': unsafe_at == 5,
            'left_at': {str(m): left(m) for m in (4, 5, 6, 8, 10, 12, 15, 20, 25, 30)}, **changes}


RUNS = [run(0, lambda m: 0.0), run(5, lambda m: 1.0 if m < 10 else 0.0),
        run(20, lambda m: 1.0), run(0, lambda m: 1.0)]


def test_unsafe_runs_count_from_their_first_unsafe_sample_on():
    unsafe, left = curve(RUNS)
    assert unsafe.tolist() == [0.0] + 6 * [0.25] + 3 * [0.5]
    assert left.tolist() == 4 * [0.75] + 6 * [0.5]


def test_methods_are_compared_where_they_leave_as_much():
    unsafe, left = np.array([0.0, 0.1, 0.3]), np.array([0.8, 0.4, 0.2])
    assert at_level(unsafe, left, 0.6) == '5.0 %'
    assert at_level(unsafe, left, 0.1) == 'never'


def test_the_table_counts_who_could_not_know():
    assert '| 1 | mine | 4 | 50 % [6.8, 93.2] | 0.50 | 1 of 2 |' in table(RUNS)
    assert 'other' not in table([run(0, lambda m: 0.0, world='assumed', method='other')])
