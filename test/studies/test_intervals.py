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

"""The intervals of identify hold the truth of simulated devices."""
import numpy as np
from pacsbo_ros.robots.furuta.chirp import Chirp
from pacsbo_ros.robots.furuta.identify import FREE
import pytest
from studies.intervals import main, one


@pytest.mark.parametrize('seed', [100, 101])
def test_a_noisy_chirp_tells_the_cable_and_its_intervals_hold(seed):
    # From smoothed starts taken for exact, three of six stiffnesses and rest angles were missed.
    true, found, _ = one(seed, Chirp())
    known = np.isfinite(found.halfwidth)
    assert (abs(found.values - true) < found.halfwidth)[known].sum() >= known.sum() - 1
    for name, share in (('cable_stiffness', 0.2), ('cable_rest', 0.1), ('arm_inertia', 0.05)):
        i = [f.name for f in FREE].index(name)
        assert abs(found.values[i] - true[i]) < found.halfwidth[i] < share * FREE[i].spread


def test_the_study_prints_a_row_for_each_number(capsys):
    assert main(['--devices', '1', '--first', '100', '--seconds', '4']) == 0
    printed = capsys.readouterr().out
    assert all(f.name in printed for f in FREE)
    assert 'of CPU each' in printed
