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

"""Box and settings: mapping, round trips, and errors that name the setting and the value."""

import json

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core import Box, Kernel, Settings
from pacsbo_ros.core.candidates import candidate_count, make_candidates
import pytest

BOX = Box(('k_theta', 'k_alpha'), (-6.0, 10.0), (0.0, 50.0))


@given(st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_box_maps_there_and_back(u):
    x = BOX.to_physical(u)
    assert BOX.contains(x)
    np.testing.assert_allclose(BOX.to_unit(x), u, atol=1e-12)


def test_box_names_what_leaves_it():
    np.testing.assert_array_equal(BOX.to_physical([1.0, 0.0]), [0.0, 10.0])
    assert not BOX.contains([np.nan, 20])
    with pytest.raises(ValueError, match='k_alpha is 51'):
        BOX.validate([-1.0, 51.0])
    with pytest.raises(ValueError, match='k_theta is nan'):
        BOX.validate([np.nan, 20.0])
    with pytest.raises(ValueError, match=r'shape \(3,\)'):
        BOX.to_unit([1.0, 2.0, 3.0])


@pytest.mark.parametrize(('arguments', 'message'), [
    (((), (), ()), 'names is empty'),
    ((('a',), (1.0,), (1.0,)), r"'a' is \[1.0, 1.0\]"),
    ((('a',), (np.nan,), (1.0,)), "'a'"),
    ((('a', 'a'), (0, 0), (1, 1)), 'own name'),
    ((('a', 'b'), (0,), (1, 1)), '2, 1, 2'),
])
def test_a_bad_box_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Box(*arguments)


@pytest.mark.parametrize(('changes', 'message'), [
    ({'dimension': 0}, 'dimension is 0'),
    ({'dimension': 11}, 'dimension is 11'),
    ({'delta': 0.0}, 'delta is 0.0'),
    ({'delta': 1.0}, 'delta is 1.0'),
    ({'delta': float('nan')}, 'delta is nan'),
    ({'lam': 0.0}, 'lam is 0.0'),
    ({'noise_bound': -1.0}, 'noise_bound is -1.0'),
    ({'kernel': 'matern12'}, "kernel is 'matern12'"),
    ({'length_scales': (0.1, 0.2)}, 'length_scales'),
    ({'length_scales': (-0.1,)}, 'length_scales'),
    ({'output_scale': 0.0}, 'output_scale is 0.0'),
    ({'rule': 'guess'}, "rule is 'guess'"),
    ({'choice': 'guess'}, "choice is 'guess'"),
    ({'noise_bound': 'some'}, "noise_bound is 'some'"),
    ({'given_norm': 1.0}, "rule is 'student' and given_norm"),
    ({'output_names': ('a',)}, 'output_names'),
    ({'domains': ('box', 'hull')}, 'domains'),
    ({'domains': ('hull',)}, 'box is always'),
    ({'expander': 'lipschitz'}, "expander is 'lipschitz'"),
    ({'constraints': 0}, 'nothing says what is safe'),
    ({'reward': False, 'constraints': 0}, 'nothing is measured'),
    ({'reward': False, 'reward_threshold': 1.0}, 'reward_threshold is 1.0'),
    ({'draws_low': 500, 'draws_high': 100}, 'draws_high is 100'),
    ({'safety_factor': 1.0}, 'safety_factor is 1.0'),
    ({'caution': 1.5}, 'caution is 1.5'),
    ({'output_kernels': (Kernel('rbf', (0.1,)),)}, 'output_kernels'),
    ({'delta': 'a'}, "delta is 'a'; give a number"),
    ({'dimension': 2.5}, 'dimension is 2.5; give a whole number'),
    ({'candidates': 10.5}, 'candidates is 10.5'),
])
def test_a_bad_setting_is_named_with_its_value(changes, message):
    with pytest.raises(ValueError, match=message):
        Settings(**changes)


def test_settings_survive_json_and_refuse_unknown_names():
    settings = Settings(dimension=2, length_scales=0.2, reward_threshold=-0.5, output_kernels=(
        Kernel('rbf', (0.1, 0.2)), Kernel('matern52', (0.3, 0.4), 2.0)))
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    with pytest.raises(ValueError, match='lenght_scale'):
        Settings.from_dict({'lenght_scale': 1})


def test_paper_preset_has_the_choices_of_the_paper():
    paper = Settings.paper(dimension=2)
    assert (paper.rule, paper.kernel, paper.length_scales) == (
        'hoeffding', 'matern32', (0.1, 0.1))
    assert (paper.centres, paper.coefficient_bound, paper.caution) == (100, 1.0, 1.0)


@pytest.mark.parametrize('n', range(1, 7))
def test_memory_limit_bounds_the_candidates(n):
    settings = Settings(dimension=n, length_scales=0.3, candidates=100_000, max_samples=100,
                        memory_limit=2e6)
    count = candidate_count(settings)
    assert count * 100 * 8 <= 2e6
    X = make_candidates(settings, np.full((1, n), 0.5), 0).X
    assert len(X) <= count + 1 + 8 * n  # the start and its neighbours
    assert np.all((X >= 0) & (X <= 1))
    with pytest.raises(ValueError, match='memory_limit is 10'):
        candidate_count(settings.replace(memory_limit=10.0))
