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

"""The step limit: where a new point may lie, and how the reach follows the surprises."""

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
import pytest

STEP = 0.5
ELL = 0.1


def made(rule='student', step=STEP, **changes):
    optimizer = SafeOptimizer(Settings(**{
        'rule': rule, 'choice': 'goal', 'dimension': 2, 'length_scales': (ELL,),
        'candidates': 900, 'step': step, 'noise_bound': 0.001, 'scale_prior': 0.3, **changes}))
    for x in ((0.4, 0.4), (0.5, 0.4), (0.45, 0.5)):
        optimizer.tell(x, measured(x))
    return optimizer


def measured(x):
    return [x[0] + x[1], 1.0]


@pytest.mark.parametrize('rule', ['student', 'scale_free'])
def test_no_new_point_lies_beyond_the_reach_unless_it_is_inside_the_hull(rule):
    optimizer = made(rule)
    for _ in range(6):
        reach = optimizer._run.step.reach
        A, _ = optimizer.samples
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        away = np.linalg.norm((A - proposal.point) / ELL, axis=1).min()
        assert away <= reach + 1e-9 or optimizer._run.hull.level(
            np.array([proposal.point]))[0] <= 1e-9
        optimizer.tell(proposal.point, measured(proposal.point))


def test_the_reach_grows_with_what_was_foreseen_and_halves_with_a_surprise():
    optimizer = made()
    before = optimizer._run.step.reach
    proposal = optimizer.ask()
    optimizer.tell(proposal.point, proposal.means)
    grown = optimizer._run.step.reach
    proposal = optimizer.ask()
    optimizer.tell(proposal.point, [proposal.means[0], proposal.lower[1] - 0.1])
    assert grown == pytest.approx(1.25 * before)
    assert optimizer._run.step.reach == pytest.approx(0.5 * grown)


def test_questions_at_any_points_agree_with_the_candidates():
    optimizer = made()
    run = optimizer._run
    np.testing.assert_array_equal(optimizer.safe(run.X), run.S)


def test_without_a_limit_the_safe_set_is_that_of_the_band():
    limited, free = made(step=0.05), made(step=0.0)
    assert limited.state().safe_share['box'] < free.state().safe_share['box']
