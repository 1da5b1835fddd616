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

"""Energies that grow by a row equal the explicit quadratic form, whatever the order."""

import subprocess
import sys

import numpy as np
from pacsbo_ros.core import Kernel, SafeOptimizer, Settings
from pacsbo_ros.core.energies import RESIDUAL_JITTER
from pacsbo_ros.core.whitening import Whitening
import pytest


def quadratic_forms(M, F):
    return np.einsum('iq,iq->q', F, np.linalg.solve(M, F))


def test_points_in_any_order_one_by_one_or_together_give_the_same_energy():
    rng = np.random.default_rng(0)
    X, F, noise = rng.random((40, 2)), rng.standard_normal((40, 7)), 1e-3
    M = Kernel('matern32', (0.3, 0.3))(X, X) + noise * np.eye(40)
    for order in (np.arange(40), rng.permutation(40)):
        whitening = Whitening(7)
        block, rest = order[:25], order[25:]
        whitening.add_block(np.empty((25, 0)), M[np.ix_(block, block)], F[block])
        other = Whitening(7)
        other.copy_from(whitening)
        for i in rest:
            known = order[:other.count]
            other.add(M[i, known], M[i, i], F[i], noise)
        np.testing.assert_allclose(other.square, quadratic_forms(M, F), rtol=1e-9)
        np.testing.assert_allclose(other.L @ other.L.T, M[np.ix_(order, order)], atol=1e-12)
        np.testing.assert_allclose(
            whitening.square, quadratic_forms(M[np.ix_(block, block)], F[block]), rtol=1e-9)


@pytest.mark.parametrize('n', [1, 2, 4])
def test_local_energies_of_the_library_equal_explicit_forms_all_through_a_run(n):
    settings = Settings(rule='scale_free', dimension=n, constraints=0, reward_threshold=-1e6,
                        length_scales=0.3, candidates=300, library_size=100, reference_points=12)
    optimizer, rng = SafeOptimizer(settings), np.random.default_rng(n)
    kernel, lam = settings.kernels()[0], settings.lam
    for x in rng.uniform(0.2, 0.8, (14, n)):
        optimizer.tell(x, [0.3])
        run = optimizer._run
        (energies,) = run.rule._energies
        A, _ = optimizer.samples
        points = [A]
        for domain in ('hull', 'enlarged'):
            inside = run.domains().masks[domain] & (
                ~run.domains().masks['hull'] if domain == 'enlarged' else True)
            order = run.rule._order[inside[run.rule._order]][:settings.reference_points]
            points.append(run.X[order])
            U = np.vstack(points)
            noise = np.full(len(U), RESIDUAL_JITTER)
            noise[:len(A)] = lam
            found = energies._local[domain].whitening.square
            np.testing.assert_allclose(found, quadratic_forms(
                kernel(U, U) + np.diag(noise), energies.library.evaluate(U)), rtol=1e-5)


def test_the_core_does_not_load_what_it_rarely_needs():
    code = 'import sys, pacsbo_ros.core; sys.exit("scipy.stats" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
