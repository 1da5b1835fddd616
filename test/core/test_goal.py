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

"""The goal choice: what it measures, with which rules, and when it stops."""

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.proposals import EXPANDER, MAXIMISER, NOTHING_UNCERTAIN
import pytest

PROBLEM = {'choice': 'goal', 'constraints': 2, 'length_scales': (0.3,), 'noise_bound': 0.001,
           'candidates': 200, 'budget': 25}


def measured(x):
    """Let the reward rise to the right, the first constraint end at 0.8, the second idle."""
    return [x, 2.0 * (0.8 - x), 3.0]


def started(rule, **changes):
    optimizer = SafeOptimizer(Settings(**{**PROBLEM, 'rule': rule, **changes}))
    for x in (0.2, 0.3, 0.35):
        optimizer.tell([x], measured(x))
    return optimizer


def tell_next(optimizer):
    proposal = optimizer.ask()
    if not isinstance(proposal, NothingToPropose):
        optimizer.tell(proposal.point, measured(proposal.point[0]))
    return proposal


@pytest.mark.parametrize('rule', ['student', 'scale_free', 'mean'])
def test_with_every_rule_it_climbs_to_the_constraint_and_not_beyond(rule):
    optimizer, points = started(rule), []
    for _ in range(20):
        proposal = tell_next(optimizer)
        if isinstance(proposal, NothingToPropose):
            break
        points.append(proposal.point[0])
    assert 0.7 < max(points) <= 0.8


def test_a_goal_that_is_not_safe_is_learnt_about_from_a_safe_point():
    optimizer = started('student')
    for _ in range(5):
        proposal = tell_next(optimizer)
        assert proposal.role == EXPANDER
        assert all(low >= 0 for low in proposal.lower[1:])


def test_a_goal_that_is_safe_is_measured():
    optimizer = SafeOptimizer(Settings(**{**PROBLEM, 'rule': 'student', 'scale_prior': 1.0}))
    for x in np.linspace(0, 1, 6):
        optimizer.tell([x], [1.0 - (x - 0.47) ** 2, 50.0, 50.0])
    proposal = optimizer.ask()
    assert proposal.role == MAXIMISER
    assert abs(proposal.point[0] - 0.47) < 0.15


def test_it_stops_when_nothing_better_than_the_tolerance_can_be_reached():
    settings = Settings(**{**PROBLEM, 'rule': 'student', 'constraints': 1, 'tolerance': 0.05,
                           'budget': 60})
    optimizer = SafeOptimizer(settings)
    for x in np.linspace(0.05, 0.95, 5):
        optimizer.tell([x], [1.0 - (x - 0.4) ** 2, 1.0])
    for _ in range(55):
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        x = proposal.point[0]
        optimizer.tell([x], [1.0 - (x - 0.4) ** 2, 1.0])
    assert isinstance(proposal, NothingToPropose)
    assert proposal.code == NOTHING_UNCERTAIN
    assert abs(optimizer.best().point[0] - 0.4) < 0.25


def test_without_a_reward_it_enlarges_what_is_known_to_be_safe():
    optimizer = SafeOptimizer(Settings(**{
        **PROBLEM, 'rule': 'student', 'reward': False, 'constraints': 1}))
    for x in (0.2, 0.3, 0.35):
        optimizer.tell([x], [0.8 - x])
    before = optimizer.state().safe_share['box']
    for _ in range(8):
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        optimizer.tell(proposal.point, [0.8 - proposal.point[0]])
    assert optimizer.state().safe_share['box'] > before + 0.2
