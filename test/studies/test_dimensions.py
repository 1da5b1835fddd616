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

"""Ten parameters: the default climbs, stays safe, and does not count the faces of a hull."""

import pytest
from studies.dimensions import BEST, hartmann, run


def test_with_ten_parameters_the_default_climbs_and_stays_safe():
    found = run('gaussian', 0, samples=25, candidates=2000)
    assert found['unsafe'] == 0
    assert found['best'][-1] > found['best'][2] + 0.1


def test_the_best_of_hartmanns_function_is_where_it_should_be():
    assert hartmann(BEST) == pytest.approx(3.32237, abs=1e-4)
