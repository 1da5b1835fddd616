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

"""The correlation of random functions against numbers that were obtained another way."""

import numpy as np
from pacsbo_ros.core.convolution import Convolution, half_integer, matern, ORDERS, tabulated
from pacsbo_ros.core.kernels import Kernel, SHAPES
import pytest
from scipy.integrate import dblquad, quad

NAMES = [name for name in (*ORDERS, 'rbf') if name in SHAPES]


def at(kernel, *point):
    return float(kernel(np.array([point]), np.zeros((1, len(point))))[0, 0])


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('r', [0.05, 0.2, 0.5])
def test_in_one_dimension_it_is_the_integral_of_two_kernels(name, r):
    kernel = Kernel(name, (0.2,))

    def product(u, shift):
        return at(kernel, u) * at(kernel, u - shift)
    wanted = [quad(product, -4, 4, args=(shift,), points=[0, shift], limit=200)[0]
              for shift in (r, 0.0)]
    assert at(Convolution(kernel), r) == pytest.approx(wanted[0] / wanted[1], abs=1e-7)


@pytest.mark.parametrize('name', NAMES)
def test_in_two_dimensions_with_two_length_scales_it_is_the_double_integral(name):
    kernel, shift = Kernel(name, (0.2, 0.5)), (0.1, 0.3)

    def product(v, u, a, b):
        d0, d1 = np.hypot(u / 0.2, v / 0.5), np.hypot((u - a) / 0.2, (v - b) / 0.5)
        return float(SHAPES[name](np.array(d0)) * SHAPES[name](np.array(d1)))
    wanted = [dblquad(product, -2, 2.2, -4, 4.4, args=s, epsabs=1e-7, epsrel=1e-5)[0]
              for s in (shift, (0.0, 0.0))]
    assert at(Convolution(kernel), *shift) == pytest.approx(wanted[0] / wanted[1], abs=1e-4)


def test_in_four_dimensions_it_is_the_covariance_of_drawn_functions():
    kernel, rng = Kernel('matern32', (0.5,) * 4), np.random.default_rng(0)
    # Centres far around the two points, so that no edge is felt.
    x, z = np.zeros((1, 4)), np.full((1, 4), 0.2)
    centres = rng.uniform(-1.6, 1.8, (4_000_000, 4))
    a, b = kernel(x, centres)[0], kernel(z, centres)[0]
    drawn = np.mean(a * b) / np.mean(a * a)
    assert at(Convolution(kernel), *z[0]) == pytest.approx(drawn, abs=0.03)


@pytest.mark.parametrize('p', [1, 3, 5])
def test_the_polynomial_agrees_with_bessel_functions(p):
    t = np.linspace(0, 30, 400)
    np.testing.assert_allclose(half_integer(p)(t), matern(p + 0.5, t), atol=1e-13)


@pytest.mark.parametrize('mu', [2.0, 4.0, 5.0, 7.0])
def test_the_table_agrees_with_bessel_functions(mu):
    t = np.random.default_rng(1).uniform(0, 80, 5000)
    t[:3] = 0.0, 1e-12, 50.0
    np.testing.assert_allclose(tabulated(mu)(t), matern(mu, t), atol=1e-10)


@pytest.mark.parametrize('n', [1, 2, 3, 4])
def test_it_is_one_at_home_and_positive_definite(n):
    C = Convolution(Kernel('matern32', (0.3,) * n))
    X = np.random.default_rng(n).random((40, n))
    M = C(X, X)
    np.testing.assert_allclose(np.diag(M), 1.0, atol=1e-12)
    assert np.linalg.eigvalsh(M).min() > -1e-9
