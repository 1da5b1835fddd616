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

import numpy as np
from pacsbo_ros.core import Kernel, local_norms, random_function
from pacsbo_ros.core.domains import Hull
from pacsbo_ros.core.local_norms import LocalNorms, reference_points
from pacsbo_ros.core.rkhs import local_norm
import pytest


def make(n, scale, index, norm=3.0):
    h = random_function(Kernel('matern32', (scale,) * n), 100, np.random.default_rng(index), norm)
    return h, LocalNorms(h, norm, np.random.default_rng(0))


def test_a_norm_on_an_interval_agrees_with_one_on_a_much_denser_set():
    for index in range(5):
        h, truth = make(1, 0.1, index)
        found = truth.on(Hull(np.array([[0.2], [0.7]]), 0.1))
        for domain, low, high in (('hull', 0.2, 0.7), ('enlarged', 0.15, 0.75)):
            U = np.linspace(low, high, 400)[:, None]
            dense = local_norm(h.kernel, U, h(U))
            assert 0.97 * dense < found[domain] < 1.001 * dense
        assert found['box'] == 3.0


@pytest.mark.parametrize(('n', 'scale'), [(2, 0.3), (4, 0.5)])
def test_a_norm_hardly_grows_with_the_number_of_points(n, scale, monkeypatch):
    for index in range(3):
        h, truth = make(n, scale, index)
        hull = Hull(np.random.default_rng(index).uniform(0.2, 0.7, size=(12, n)), 0.1)
        found = np.array([*truth.on(hull).values()])
        monkeypatch.setattr(local_norms, 'REFERENCE', 1000)
        dense = np.array([*LocalNorms(h, 3.0, np.random.default_rng(1)).on(hull).values()])
        monkeypatch.undo()
        assert np.all(found >= 0.96 * dense)
        assert np.all(found <= 1.01 * dense)


def test_a_function_whose_centres_lie_in_the_hull_has_all_of_its_norm_there():
    truth = make(2, 0.3, 1)[1]
    corners = Hull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 0.1)
    assert truth.on(corners)['hull'] == pytest.approx(3.0, rel=1e-4)
    assert truth.on(Hull(np.array([[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]]), 0.1))['hull'] < 2.9


@pytest.mark.parametrize('A', [
    [[0.5, 0.5]], [[0.1, 0.1], [0.9, 0.9]], [[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [0.4, 0.2]]])
def test_reference_points_lie_in_their_domains_also_for_flat_hulls(A):
    hull = Hull(np.array(A), 0.1)
    inner, shell = reference_points(hull, make(2, 0.3, 0)[0], np.random.default_rng(1))
    assert np.all(hull.level(inner) <= 1e-9)
    assert len(shell) > 20
    assert np.all(hull.innermost(shell) == 1)
    assert np.all((shell >= 0) & (shell <= 1))


def test_without_a_sample_there_is_no_domain():
    with pytest.raises(ValueError, match='no sample was told'):
        make(1, 0.1, 0)[1].on(None)
