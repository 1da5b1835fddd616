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

"""The posterior with the scale integrated out, against draws and against Student's t."""

import numpy as np
from pacsbo_ros.core import NothingToPropose, random_function, SafeOptimizer, Settings
from pacsbo_ros.core.averaged import energy
from pacsbo_ros.core.convolution import Convolution
from pacsbo_ros.core.correlations import Correlations
from pacsbo_ros.core.kernels import Kernel
from pacsbo_ros.core.rkhs import RkhsFunction
from pacsbo_ros.core.rules.student import StudentRule
from pacsbo_ros.core.scale import fit_scales, LOG_S, Prior
from pacsbo_ros.core.student import posteriors_of_scale, Student
import pytest
from scipy.special import ndtr, ndtri, stdtrit

KERNEL = Kernel('matern32', (0.2,))
A = np.array([[0.1], [0.25], [0.6], [0.7], [0.95]])


def model_of(points, y, r=0.0, kernel=KERNEL, prior=0.0, X=None):
    correlations = Correlations(Convolution(kernel))
    for x in points:
        correlations.add(x)
    if X is not None:
        correlations.watch(X, 16)
    model = Student(correlations)
    tell(model, np.asarray(y, dtype=float), np.broadcast_to(np.square(r), len(y)).copy(), prior)
    return model


def tell(model, y, r2, prior=0.0):
    model.update(y, r2, *posteriors_of_scale([model.correlations], y, r2, Prior(prior, 3.0)))


def fit_scale(kappa, z2, r2):
    return fit_scales(kappa[None], z2[None], r2)[0]


def drawn_values(points, count, rng, centres=300):
    """Values of random functions of the paper's kind, centres beyond the box: no edge is felt."""
    found = np.empty((count, len(points)))
    for j in range(count):
        X = rng.uniform(-1.0, 2.0, (centres, 1))
        found[j] = RkhsFunction(KERNEL, X, rng.uniform(-1, 1, centres))(points)
    return found


@pytest.fixture(scope='module')
def draws():
    return drawn_values(np.vstack([A, [[0.4]]]), 3000, np.random.default_rng(0))


@pytest.mark.parametrize('N', [2, 3, 8, 40])
@pytest.mark.parametrize('rho', [0.05, 1e-3, 1e-5])
def test_without_noise_the_factor_is_the_quantile_of_student(N, rho):
    rng = np.random.default_rng(N)
    kappa = np.exp(rng.normal(size=N))
    z2 = kappa * rng.normal(size=N) ** 2
    scale = fit_scale(kappa, z2, 0.0)
    wanted = -stdtrit(N, rho) * np.sqrt(np.sum(z2 / kappa) / N / scale.square)
    assert scale.factor(rho) == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize('N', [1, 2, 3, 10, 30])
def test_signal_and_noise_together_leave_the_band_as_seldom_as_each(N):
    scale = fit_scale(np.ones(N), np.ones(N), 0.0)
    s2, worst = scale.square * np.exp(2 * LOG_S), 0.0
    for rho in (1e-2, 1e-3, 1e-5):
        q, z = scale.factor(rho), -ndtri(rho)
        for n in scale.square * 10.0 ** np.arange(-4, 6.1, 0.25):
            reach = np.sqrt(q * q * scale.square + z * z * n)
            worst = max(worst, float(scale.p @ ndtr(-reach / np.sqrt(s2 + n))) / rho)
    assert worst <= (1.14 if N == 1 else 1.01)


def test_the_mean_is_what_regression_over_drawn_functions_finds(draws):
    known, unknown = draws[:, :-1], draws[:, -1]
    weights, *_ = np.linalg.lstsq(known, unknown, rcond=None)
    model = model_of(A, np.ones(len(A)), X=np.array([[0.4]]))
    np.testing.assert_allclose(model.a[:, 0], weights, atol=0.06)
    left = np.var(unknown - known @ weights) / np.var(unknown)
    assert model.field()[1][0] == pytest.approx(left, rel=0.1)


@pytest.mark.parametrize('rho', [0.2, 0.05, 0.01])
def test_drawn_functions_of_any_norm_leave_the_band_as_often_as_said(draws, rho):
    rng, below = np.random.default_rng(1), 0
    draws = draws[:1500] * 10.0 ** rng.uniform(-2, 2, (1500, 1))
    for values in draws:
        model = model_of(A, values[:-1])
        mu, u, _ = model.field_at(np.array([[0.4]]))
        q = model.scale.factor(rho)
        below += values[-1] < mu[0] - q * np.sqrt(model.scale.square * u[0])
    error = 4 * np.sqrt(rho * (1 - rho) / len(draws))
    assert below / len(draws) == pytest.approx(rho, abs=error + 0.1 * rho)


def test_with_noise_drawn_functions_leave_the_band_no_more_often(draws):
    rng, below, rho = np.random.default_rng(2), 0, 0.05
    size = float(np.std(draws))
    for values in draws[:1000]:
        r = 0.05 * size
        model = model_of(A, values[:-1] + r * rng.normal(size=len(A)), r)
        mu, u, n = model.field_at(np.array([[0.4]]))
        q, z = model.scale.factor(rho), 1.645
        below += values[-1] < mu[0] - np.sqrt(q * q * model.scale.square * u[0] + z * z * n[0])
    assert below / 1000 <= rho + 3 * np.sqrt(rho / 1000)


def test_repeats_say_nothing_about_the_scale():
    settings = Settings(rule='student', constraints=0, reward_threshold=0.0, noise_bound=0.01,
                        length_scales=(0.2,), candidates=50, delta=0.1, budget=1000)
    optimizer = SafeOptimizer(settings)
    factors = []
    optimizer.tell([0.4], [1.0])
    for value in (1.1, *(1.0 + 0.01 * np.random.default_rng(0).normal(size=20))):
        optimizer.tell([0.5], [value])
        factors.append(optimizer._run.rule.outputs[0].main.scale.factor(1e-3))
    assert min(factors) > 0.7 * factors[0]


def test_close_points_that_noise_cannot_tell_apart_say_little_about_the_scale():
    y = 1.0 + 0.01 * np.random.default_rng(0).normal(size=8)
    close, apart = (model_of(np.array([[0.1 + step * i] for i in range(8)]), y, 0.01).scale
                    for step in (1e-4, 0.1))
    assert close.factor(1e-3) > 1.5 * apart.factor(1e-3)


def test_growing_by_one_sample_is_the_same_as_starting_anew():
    rng, X = np.random.default_rng(3), np.random.default_rng(4).random((40, 1))
    points, y = rng.random((12, 1)), rng.normal(size=12)
    correlations = Correlations(Convolution(KERNEL))
    correlations.watch(X, 4)
    grown = Student(correlations)
    for i in range(12):
        correlations.add(points[i])
        tell(grown, y[:i + 1].copy(), np.full(i + 1, 1e-4))
    for a, b in zip(grown.field(), model_of(points, y, 0.01, X=X).field(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7, rtol=1e-6)
    for a, b in zip(grown.field(), grown.field_at(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7, rtol=1e-6)


def test_a_sample_that_is_known_to_be_noisy_counts_less():
    y, r = np.array([0.0, 1.0, 0.0, 0.1, 0.0]), np.full(5, 0.01)
    exact = model_of(A, y, r)
    r[1] = 0.5
    noisy = model_of(A, y, r)
    at = A[1:2]
    assert abs(noisy.field_at(at)[0][0] - 1.0) > 10 * abs(exact.field_at(at)[0][0] - 1.0)
    assert noisy.field_at(at)[2][0] > exact.field_at(at)[2][0]


def test_a_prior_keeps_the_scale_where_the_data_are_flat():
    flat = model_of(A[:3], [0.0, 0.001, 0.0], 0.01)
    told = model_of(A[:3], [0.0, 0.001, 0.0], 0.01, prior=0.5)
    assert told.scale.square > 20 * flat.scale.square
    assert told.scale.factor(1e-4) < flat.scale.factor(1e-4)


def test_one_start_is_enough_where_a_size_is_expected_and_never_where_none_is():
    def first(size):
        optimizer = SafeOptimizer(Settings(
            constraints=0, reward_threshold=0.0, scale_prior=size, candidates=200))
        optimizer.tell([0.5], [1.0])
        return optimizer.ask()
    assert not isinstance(first(Settings().scale_prior), NothingToPropose)
    assert isinstance(first(0.0), NothingToPropose)


@pytest.mark.parametrize(('size', 'said'), [(0.002, True), (1.0, False)])
def test_values_that_are_far_smaller_than_expected_are_told(size, said):
    optimizer = SafeOptimizer(Settings(constraints=0, reward_threshold=-1.0, candidates=100,
                                       starts=5, noise_bound=1e-4))
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        optimizer.tell([x], [size * np.sin(20 * x)])
    assert ('set scale_prior to' in ' '.join(optimizer.notices)) == said


@pytest.mark.parametrize(('n', 'ell'), [(1, 0.1), (2, 0.3)])
def test_b_is_near_the_norm_of_random_functions(n, ell):
    kernel, rng, ratios = Kernel('matern32', (ell,) * n), np.random.default_rng(5), []
    for _ in range(60):
        h = random_function(kernel, 100, rng, norm=7.0)
        points = rng.random((25, n))
        scale = model_of(points, h(points), kernel=kernel).scale
        ratios.append(scale.quantiles((0.5,))[0] / np.sqrt(energy(kernel)) / 7.0)
    assert 0.7 < np.median(ratios) < 1.4


def tuned(**changes):
    settings = Settings(**{
        'rule': 'student', 'choice': 'goal', 'constraints': 1, 'length_scales': (0.2,),
        'noise_bound': 0.01, 'candidates': 200, 'budget': 20, **changes})
    optimizer = SafeOptimizer(settings)
    for x in (0.4, 0.5, 0.55):
        optimizer.tell([x], measured(x))
    return optimizer


def measured(x):
    return [np.sin(3 * x), 0.4 - abs(x - 0.5)]


def run(optimizer, count):
    points = []
    for _ in range(count):
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        points.append(proposal.point[0])
        optimizer.tell(proposal.point, measured(proposal.point[0]))
    return points


class Anew(StudentRule):
    """Compute everything again after every sample."""

    def renew(self, samples, domains):
        for output in self.outputs:
            for model in output.models:
                model.y = np.empty(0)
        return super().renew(samples, domains)


@pytest.mark.parametrize('factors', [(1.0,), (0.25, 0.5, 1.0, 2.0, 4.0)])
def test_keeping_what_was_computed_proposes_what_computing_all_again_proposes(factors):
    kept = tuned(length_scale_factors=factors)
    anew = SafeOptimizer(kept.settings, rule=Anew)
    for x in (0.4, 0.5, 0.55):
        anew.tell([x], measured(x))
    np.testing.assert_allclose(run(kept, 12), run(anew, 12), atol=1e-9)


def test_the_band_is_the_envelope_of_what_each_length_scale_says():
    factors = (0.25, 0.5, 1.0, 2.0, 4.0)
    optimizer = tuned(length_scale_factors=factors, length_scales=(0.1,), scale_prior=0.0)
    run(optimizer, 9)
    A, Y = optimizer.samples
    A, at = np.unique(A, axis=0, return_inverse=True)
    y = np.bincount(at.ravel(), Y[:, 0]) / np.bincount(at.ravel())
    r2, X, rho = 1e-4 / np.bincount(at.ravel()), np.linspace(0, 1, 9)[:, None], (
        optimizer._run.rule._rho)
    models = [model_of(A, y, np.sqrt(r2), KERNEL.stretched(0.5 * f)) for f in factors]
    w = np.exp([m.scale.evidence for m in models]) * (1 / 16, 1 / 4, 1, 1, 1)
    w /= w.sum()
    kept = [i for i in range(len(w)) if w[i] > rho / 10]
    assert 1 < len(kept) < len(w), 'some length scale is ruled out, and more than one is left'
    rest, K = rho - sum(w[i] for i in range(len(w)) if i not in kept), len(kept)

    def end(i, part):
        mu, u, n = models[i].field_at(X)
        share = part * rest / w[i]
        q = models[i].scale.factor(share) if share < 0.5 else 0.0
        z = ndtri(min(share, 0.5))
        return mu - np.sqrt(q * q * models[i].scale.square * u + z * z * n)

    # One length scale gets what the others leave, at every point the one that helps most.
    low = np.max([np.min([end(i, 1 - 0.4 * (K - 1) / K if i == j else 0.4 / K) for i in kept],
                         axis=0) for j in kept], axis=0)
    np.testing.assert_allclose(optimizer.predict(X).low[0], low, atol=1e-6)


def test_a_scale_that_grew_is_named_as_such():
    optimizer = SafeOptimizer(Settings(constraints=0, reward_threshold=0.0, candidates=50,
                                       length_scales=(0.2,), noise_bound=0.001, starts=3))
    for x, value in ((0.3, 0.001), (0.5, 0.0), (0.7, 0.001), (0.9, 8.0)):
        optimizer.tell([x], [value])
    assert 'the estimated scale of reward grew by' in optimizer._run.rule.grew()
    assert 'norm' not in optimizer._run.rule.grew()


def test_delta_is_never_overspent_also_long_after_the_budget():
    optimizer = tuned(budget=12)
    run(optimizer, 40)
    state = optimizer.state()
    assert sum(e.amount for e in state.entries) <= state.delta
    assert state.spent > 0.8 * state.delta
    assert optimizer._run.rule._rho <= optimizer._run.rule.nominal * state.delta


def test_a_record_continues_identically():
    optimizer = tuned()
    run(optimizer, 5)
    assert SafeOptimizer.from_record(optimizer.to_record()).ask() == optimizer.ask()


def test_the_band_at_a_candidate_is_the_band_of_the_candidate():
    optimizer = tuned()
    run(optimizer, 4)
    inner = optimizer._run
    at = optimizer.predict(inner.X[::10])
    np.testing.assert_allclose(at.low, inner.band.low[:, ::10], atol=1e-6)
    np.testing.assert_allclose(at.up, inner.band.up[:, ::10], atol=1e-6)


def test_averaged_over_length_scales_the_right_one_is_found():
    rng = np.random.default_rng(6)
    h = random_function(Kernel('matern32', (0.1,)), 300, rng, norm=3.0)
    optimizer = SafeOptimizer(Settings(
        rule='student', constraints=0, reward_threshold=-100.0, length_scales=(0.4,),
        length_scale_factors=(0.25, 0.5, 1.0, 2.0, 4.0), candidates=50))
    for x in rng.random((40, 1)):
        optimizer.tell(x, h(x[None]))
    weights = optimizer._run.rule.length_scale_weights()[0]
    assert weights[0] + weights[1] > 0.95
    assert optimizer._run.rule.notices()
