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

"""Random functions, closed forms against Monte Carlo, and the paper's figures."""

import numpy as np
from pacsbo_ros.core.gp import GaussianProcess
from pacsbo_ros.core.kernels import Kernel
from pacsbo_ros.core.rkhs import (
    Interpolants,
    local_norm,
    random_function,
    random_interpolant,
    reciprocal_covariance_integral,
    RkhsFunction,
)
import pytest


def model(kernel, A, y, lam, X, tail, bound):
    gp = GaussianProcess(kernel, lam, 1)
    for x, value in zip(A, y, strict=True):
        gp.add(x, np.array([value]))
    return Interpolants(gp, X, tail, bound)


def test_norm_equals_the_double_sum_of_the_definition():
    rng = np.random.default_rng(0)
    f = random_function(Kernel('matern52', (0.2, 0.3)), 7, rng, norm=3.0)
    total = sum(a * b * f.kernel(x, z)[0, 0]
                for a, x in zip(f.coefficients, f.centres, strict=True)
                for b, z in zip(f.coefficients, f.centres, strict=True))
    assert np.sqrt(total) == pytest.approx(3.0)
    assert f.norm == pytest.approx(3.0)


def test_local_norm_rises_to_the_norm_from_below():
    f = random_function(Kernel('matern32', (0.1,)), 50, np.random.default_rng(1), norm=2.0)
    sets = [np.linspace(0, 1, k)[:, None] for k in (5, 9, 17, 33, 65)]
    norms = [local_norm(f.kernel, X, f(X)) for X in sets]
    assert np.all(np.diff(norms) > 0)
    on_centres = np.vstack([f.centres, sets[1]])
    assert norms[-1] < local_norm(f.kernel, on_centres, f(on_centres)) == pytest.approx(2, 1e-4)


@pytest.mark.parametrize('nugget', [0.0, 0.01])
def test_interpolant_passes_the_samples_and_its_norm_is_the_formula(nugget):
    rng = np.random.default_rng(2)
    kernel = Kernel('matern32', (0.15,))
    A, y, X = rng.random((6, 1)), rng.standard_normal(6), rng.random((9, 1))
    rho = random_interpolant(kernel, A, y, X, 1.0, rng, nugget=nugget)
    if not nugget:
        np.testing.assert_allclose(rho(A), y, atol=1e-6)
    a = rho.coefficients[6:]
    inter = model(kernel, A, y, max(nugget, 1e-10), X, 9, 1.0)
    square = inter.mean_norms[0] ** 2 + a @ inter.S @ a + 2 * a @ inter.e[0]
    assert rho.norm ** 2 == pytest.approx(square, rel=1e-5)


def test_noisy_interpolant_stays_within_the_noise():
    rng = np.random.default_rng(3)
    A, y = rng.random((5, 2)), rng.standard_normal(5)
    rho = random_interpolant(
        Kernel('matern32', (0.3, 0.3)), A, y, rng.random((4, 2)), 1.0, rng, noise=0.05)
    gap = np.abs(rho(A) - y)
    assert np.all(gap <= 0.05 + 1e-6)
    assert gap.max() > 1e-3


@pytest.mark.parametrize('case', range(50))
def test_closed_forms_equal_monte_carlo(case):
    rng = np.random.default_rng(case)
    n = 1 + case % 3
    kernel = Kernel(('matern32', 'matern52', 'rbf')[case % 3], (rng.uniform(0.1, 0.5),) * n,
                    rng.uniform(0.5, 2.0))
    N = int(rng.integers(1, 15))
    A = rng.random((N, n))
    y = random_function(kernel, 30, rng, norm=rng.uniform(1, 5))(A)
    nugget = (1e-8, 1e-3, 1e-2)[(case // 3) % 3]
    inter = model(kernel, A, y, nugget, rng.random((200, n)),
                  int(rng.integers(3, 40)), rng.uniform(0.05, 1.5))
    norms = inter.draw(0, 4000, rng)
    squares = norms ** 2
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - inter.mean_square(0)) < 5 * error
    spread = (squares - squares.mean()) ** 2
    error = spread.std() / np.sqrt(len(spread))
    assert abs(spread.mean() - inter.variance_of_square(0)) < 5 * error
    low, high = inter.support(0)
    assert low <= norms.min() * (1 + 1e-9)
    assert norms.max() <= high
    assert norms.mean() <= np.sqrt(inter.mean_square(0)) * 1.02


@pytest.mark.parametrize('n', [1, 2, 3])
def test_scale_free_identity_equals_monte_carlo(n):
    rng = np.random.default_rng(n)
    kernel, T = Kernel('matern32', (0.2,) * n), 30
    A, X = rng.random((8, n)), rng.random((300, n))
    inter = model(kernel, A, np.zeros(8), 1e-9, X, T, 1.0)
    L = np.linalg.cholesky(kernel(A, A) + 1e-9 * np.eye(8))
    shown, norms = [], []
    for _ in range(3000):
        f = RkhsFunction(kernel, X[rng.integers(300, size=T)], rng.uniform(-1, 1, T))
        shown.append(np.sum(np.linalg.solve(L, f(A)) ** 2))
        norms.append(f.norm ** 2)
    # E‖μ_A‖² = E‖ρ‖² (1 - mean v / k(x, x))
    expected = np.mean(norms) * (1.0 - np.mean(inter.v) / kernel.output_scale)
    assert abs(np.mean(shown) - expected) < 5 * np.std(shown) / np.sqrt(3000)


def test_support_holds_every_one_of_a_million_draws():
    rng = np.random.default_rng(5)
    kernel = Kernel('matern32', (0.1,))
    A = rng.random((3, 1))
    y = random_function(kernel, 20, rng, norm=2.0)(A)
    for nugget in (1e-9, 1e-2):
        # Two tail centres come closest to the ends of the range.
        inter = model(kernel, A, y, nugget, rng.random((20, 1)), 2, 1.0)
        norms = inter.draw(0, 500_000, rng)
        low, high = inter.support(0)
        assert low <= norms.min() + 1e-12
        assert norms.max() <= high
        assert norms.max() > 0.95 * high


@pytest.mark.parametrize(('N', 'published'), [(5, 4.25), (20, 1.79), (50, 1.13)])
def test_figure_4_published_mean_lies_in_the_spread(N, published):
    rng = np.random.default_rng(N)
    kernel = Kernel('matern32', (0.1,))
    means = []
    for _ in range(200):
        h = random_function(kernel, 100, rng, norm=1.0)
        A = rng.random((N, 1))
        inter = model(kernel, A, h(A), 1e-4, rng.random((128, 1)), 100 - N, 1.0)
        means.append(inter.draw(0, 40, rng).mean())
    assert np.quantile(means, 0.01) < published < np.quantile(means, 0.99)


def test_figure_2_norm_of_the_mean_rises_from_below_with_r():
    rng = np.random.default_rng(6)
    kernel, grid = Kernel('matern32', (0.1,)), np.linspace(0, 1, 500)[:, None]
    shares, r = np.empty((60, 30)), np.empty((60, 30))
    for j in range(60):
        h = random_function(kernel, 100, rng, norm=1.0)
        gp = GaussianProcess(kernel, 1e-6, 1)
        for N in range(30):
            x = rng.random(1)
            gp.add(x, h(x[None]))
            shares[j, N] = gp.mean_norms()[0]
            r[j, N] = reciprocal_covariance_integral(
                gp.posterior(grid)[1], np.ones(500, dtype=bool))
    assert np.all(np.diff(shares, axis=1) > -1e-3)  # the nugget costs a little
    assert np.all(shares <= 1 + 1e-6)
    assert np.all(np.diff(r, axis=1) > -1e-9)
    # The published curve: 0.649 at r = 1.36, 0.809 at 3.1, 0.948 at 8.21.
    for at, published in ((1.36, 0.649), (3.1, 0.809), (8.21, 0.948)):
        there = [np.interp(at, r[j], shares[j]) for j in range(60) if r[j, -1] >= at]
        assert len(there) > 20
        assert np.min(there) < published < np.max(there)


@pytest.mark.parametrize('n', [1, 2, 3])
def test_the_error_of_the_mean_stays_within_the_hidden_norm_and_can_come_close(n):
    rng, worst = np.random.default_rng(n), 0.0
    for _ in range(50):
        kernel = Kernel('matern32', (rng.uniform(0.1, 0.5),) * n)
        gp = GaussianProcess(kernel, 10 ** rng.uniform(-4, -1), 1)
        h = random_function(kernel, rng.integers(1, 30), rng, norm=rng.uniform(1, 20))
        for x in rng.random((rng.integers(1, 20), n)):
            gp.add(x, h(x[None]))
        X = np.vstack([rng.random((200, n)), h.centres])
        mean, var = gp.posterior(X)
        hidden = np.sqrt(h.norm ** 2 - gp.data_norms()[0] ** 2)
        ratio = np.abs(h(X) - mean[0]) / (hidden * np.sqrt(var))
        worst = max(worst, ratio.max())
    assert 0.9 < worst < 1 + 1e-6


def test_reciprocal_integral_counts_the_volume_of_the_domain():
    var = np.full(1000, 0.5)
    assert reciprocal_covariance_integral(var, np.ones(1000, bool)) == pytest.approx(2.0)
    assert reciprocal_covariance_integral(var, np.arange(1000) < 250) == pytest.approx(8.0)
