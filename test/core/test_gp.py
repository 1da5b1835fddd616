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

"""Gaussian process and kernels against scikit-learn and explicit formulas."""

import numpy as np
from pacsbo_ros.core.gp import GaussianProcess, Posterior
from pacsbo_ros.core.kernels import Kernel
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, RBF

SHAPES = {
    'matern32': lambda ell: Matern(ell, nu=1.5),
    'matern52': lambda ell: Matern(ell, nu=2.5),
    'rbf': lambda ell: RBF(ell),
}


@pytest.mark.parametrize('name', SHAPES)
@pytest.mark.parametrize('n', [1, 2, 3])
def test_kernel_equals_scikit_learn(name, n):
    rng = np.random.default_rng(n)
    ell = rng.uniform(0.05, 1.0, n)
    X, Z = rng.random((20, n)), rng.random((30, n))
    theirs = ConstantKernel(2.5) * SHAPES[name](ell)
    np.testing.assert_allclose(Kernel(name, tuple(ell), 2.5)(X, Z), theirs(X, Z), atol=1e-8)


@pytest.mark.parametrize('name', SHAPES)
def test_posterior_equals_scikit_learn_after_every_sample(name):
    rng = np.random.default_rng(0)
    ell, lam, n = (0.2, 0.4), 0.01, 2
    A, Y, X = rng.random((25, n)), rng.standard_normal((25, 3)), rng.random((50, n))
    gp = GaussianProcess(Kernel(name, ell, 1.7), lam, 3)
    posterior = Posterior(gp, X)
    for count, (x, y) in enumerate(zip(A, Y, strict=True), start=1):
        posterior.extend(gp.add(x, y))
        theirs = GaussianProcessRegressor(
            ConstantKernel(1.7) * SHAPES[name](ell), alpha=lam, optimizer=None)
        mean, std = theirs.fit(A[:count], Y[:count]).predict(X, return_std=True)
        np.testing.assert_allclose(posterior.mu.T, mean, atol=1e-8)
        np.testing.assert_allclose(posterior.sigma ** 2, std[:, 0] ** 2, atol=1e-8)
        np.testing.assert_allclose(gp.posterior(X)[0].T, mean, atol=1e-8)


def test_norms_and_determinant_equal_explicit_quadratic_forms():
    rng = np.random.default_rng(1)
    kernel, lam = Kernel('matern32', (0.1,)), 0.005
    gp = GaussianProcess(kernel, lam, 2)
    A, Y = rng.random((40, 1)), rng.standard_normal((40, 2))
    for x, y in zip(A, Y, strict=True):
        gp.add(x, y)
    K = kernel(A, A)
    Q = np.linalg.inv(K + lam * np.eye(40))
    np.testing.assert_allclose(
        gp.mean_norms() ** 2, np.diag(Y.T @ Q @ K @ Q @ Y), rtol=1e-8)
    np.testing.assert_allclose(gp.data_norms() ** 2, np.diag(Y.T @ Q @ Y), rtol=1e-8)
    np.testing.assert_allclose(gp.weights(), Q @ Y, rtol=1e-7)
    sign, log_det = np.linalg.slogdet(np.eye(40) + K / lam)
    assert sign == 1
    assert gp.log_det() == pytest.approx(log_det)


def test_replaced_candidates_are_those_of_a_fresh_posterior():
    rng = np.random.default_rng(2)
    gp = GaussianProcess(Kernel('rbf', (0.3, 0.3)), 0.01, 1)
    posterior = Posterior(gp, rng.random((30, 2)))
    for _ in range(20):
        posterior.extend(gp.add(rng.random(2), rng.standard_normal(1)))
    posterior.replace(slice(10, 20), rng.random((10, 2)))
    posterior.extend(gp.add(rng.random(2), rng.standard_normal(1)))
    fresh = Posterior(gp, posterior.X)
    np.testing.assert_allclose(posterior.mu, fresh.mu, atol=1e-10)
    np.testing.assert_allclose(posterior.var, fresh.var, atol=1e-10)


@pytest.mark.parametrize('name', SHAPES)
def test_many_and_duplicated_samples_stay_finite(name):
    rng = np.random.default_rng(3)
    X = rng.random((100_000, 2))
    gp = GaussianProcess(Kernel(name, (0.3, 0.3)), 1e-4, 1)
    posterior = Posterior(gp, X)
    A = rng.random((200, 2))
    A[50:100] = A[:50]  # duplicates
    A[100:150] = A[:50] + 1e-9  # nearly duplicates
    for x in A:
        posterior.extend(gp.add(np.clip(x, 0, 1), np.sin(9 * x[:1])))
    assert np.all(np.isfinite(posterior.mu))
    assert np.all(posterior.sigma >= 0)
    assert posterior.var.min() > -1e-9
    assert np.isfinite(gp.log_det())
    assert np.all(np.isfinite(gp.mean_norms()))
    mean, var = gp.posterior(X[:100])
    np.testing.assert_allclose(posterior.mu[:, :100], mean, atol=1e-6)
    assert np.all(var >= 0)
