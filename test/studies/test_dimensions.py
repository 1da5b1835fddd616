# Copyright the pacsbo_ros developers. Apache-2.0.
"""Ten parameters: the default climbs, stays safe, and does not count the faces of a hull."""

import pytest
from studies.dimensions import BEST, hartmann, run


def test_with_ten_parameters_the_default_climbs_and_stays_safe():
    found = run('gaussian', 0, samples=25, candidates=2000)
    assert found['unsafe'] == 0
    assert found['best'][-1] > found['best'][2] + 0.1


def test_the_best_of_hartmanns_function_is_where_it_should_be():
    assert hartmann(BEST) == pytest.approx(3.32237, abs=1e-4)
