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

"""Hull membership against a linear programme; flat hulls; the enlargement."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.core.domains import Hull
import pytest
from scipy.optimize import linprog


def lp_inside(A, x):
    """Find convex weights with A^T w = x: the definition of the hull."""
    N = len(A)
    found = linprog(np.zeros(N), A_eq=np.vstack([A.T, np.ones(N)]),
                    b_eq=np.append(x, 1.0), bounds=(0, None), method='highs')
    return found.status == 0


@pytest.mark.parametrize('n', [1, 2, 3, 4, 6])
def test_membership_equals_a_linear_programme(n):
    rng = np.random.default_rng(n)
    for N in (n + 1, n + 4, 20):
        A = rng.random((N, n))
        weights = rng.dirichlet(np.full(N, 0.3), size=20)
        X = np.vstack([weights @ A, rng.random((20, n)), A.mean(0) + 0.3 * (
            rng.random((20, n)) - 0.5)])
        ours = Hull(A, 0.1).innermost(X) == 0
        assert ours.tolist() == [lp_inside(A, x) for x in X]
        assert np.all(ours[:20])


@given(seed=st.integers(0, 10 ** 6), n=st.integers(1, 4), rank=st.integers(0, 3),
       N=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_flat_hulls_hold_their_points_and_nothing_beside_them(seed, n, rank, N):
    rng = np.random.default_rng(seed)
    rank = min(rank, n - 1, N - 1)
    base = rng.uniform(0.3, 0.7, n)
    A = base + rng.uniform(-0.2, 0.2, (N, rank)) @ np.linalg.qr(
        rng.standard_normal((n, n)))[0][:rank]
    hull = Hull(A, 0.1)
    inside = rng.dirichlet(np.ones(N), size=10) @ A
    assert np.all(hull.innermost(inside) == 0)
    assert np.all(hull.innermost(A) == 0)
    centre = A - A.mean(0)
    normal = np.linalg.svd(np.vstack([centre, np.zeros(n)]))[2][-1]
    assert np.all(hull.innermost(inside + 0.01 * normal) == 1)
    assert np.all(hull.innermost(inside + 0.9 * normal) == 2)
    assert len(hull.vertices()) >= 1


def test_one_dimension_grows_by_five_percent_at_each_end():
    hull = Hull(np.array([[0.4], [0.6], [0.5]]), 0.1)
    X = np.array([[0.349], [0.351], [0.4], [0.6], [0.649], [0.651]])
    assert hull.innermost(X).tolist() == [2, 1, 0, 0, 1, 2]
    np.testing.assert_allclose(hull.vertices(enlarged=True).ravel(), [0.35, 0.65])


@given(seed=st.integers(0, 10 ** 6), N=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_enlarged_hull_holds_the_hull_with_a_margin(seed, N):
    rng = np.random.default_rng(seed)
    A = rng.uniform(0.1, 0.9, (N, 2))
    hull = Hull(A, 0.1)
    X = rng.dirichlet(np.ones(N), size=30) @ A
    direction = rng.standard_normal((30, 2))
    near = X + 0.0499 * direction / np.linalg.norm(direction, axis=1)[:, None]
    assert np.all(hull.innermost(near) <= 1)
    corners = hull.vertices(enlarged=True)
    assert np.all(hull.innermost(0.999999 * corners + 0.000001 * A.mean(0)) <= 1)
    assert np.all((corners >= -1e-9) & (corners <= 1 + 1e-9))


def test_a_sample_inside_leaves_the_hull_alone_and_one_outside_grows_it():
    rng = np.random.default_rng(0)
    A = rng.random((10, 3))
    hull = Hull(A, 0.1)
    assert hull.with_sample(A.mean(0)) is hull
    corner = np.ones(3)
    grown = hull.with_sample(corner)
    assert grown.innermost(np.array([corner]))[0] == 0
    X = rng.random((500, 3))
    assert np.all(grown.innermost(X)[hull.innermost(X) == 0] == 0)
