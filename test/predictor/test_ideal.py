# Copyright the pacsbo_ros developers. Apache-2.0.
import numpy as np
import pytest

from pacsbo_ros.core import Kernel, Settings
from pacsbo_ros.predictor import ideal
from pacsbo_ros.predictor.batch import run_batch
from pacsbo_ros.predictor.data import Family, Plan
from pacsbo_ros.predictor.report import _over_at_90

PLAN = Plan(Family('matern32', 1, (0.05, 0.4)), seed=43, samples=6, candidates=60,
            length_scale=0.1, lam=Settings().lam)
NUMBERS = (3, 6)


@pytest.fixture(scope='module')
def ratios():
    runs = run_batch(PLAN, range(200))
    singles = [runs.take(slice(i, i + 1)) for i in range(len(runs))]
    return {told: np.concatenate([ideal.ideal_ratios(run, PLAN, 0.9, told, NUMBERS)
                                  for run in singles])[:, [0, 3]] for told in (True, False)}


def test_draws_have_the_textbook_moments(monkeypatch):
    monkeypatch.setattr(ideal, 'SCALES', np.array([0.7]))
    monkeypatch.setattr(ideal, 'DRAWS', 40_000)
    rng = np.random.default_rng(0)
    A, C, y, noise = rng.random((3, 1)), rng.random((5, 1)), np.array([1.0, -0.4, 0.3]), 0.2
    kernel = Kernel('matern32', (0.3,))
    a = ideal.draw_coefficients(kernel, A, y, C, noise, rng)
    # The posterior of Bayesian linear regression, in its usual form by precisions.
    K = kernel(A, C)
    covariance = np.linalg.inv(K.T @ K / noise ** 2 + np.eye(5) / 0.7 ** 2)
    assert a.mean(axis=0) == pytest.approx(covariance @ K.T @ y / noise ** 2, abs=0.02)
    assert np.cov(a.T) == pytest.approx(covariance, abs=0.02)


def test_the_scale_is_learnt_from_the_measurements():
    rng = np.random.default_rng(1)
    A, C = np.linspace(0, 1, 25)[:, None], rng.random((100, 1))
    kernel = Kernel('matern32', (0.1,))
    for scale in (0.05, 2.0):
        y = scale * kernel(A, C) @ rng.standard_normal(100)
        a = ideal.draw_coefficients(kernel, A, y, C, 1e-3 * scale, rng)
        # 25 measurements tell a scale to about 1/sqrt(2·25).
        assert np.median(a.std(axis=1)) == pytest.approx(scale, rel=0.45)


@pytest.mark.parametrize('told', [True, False])
def test_bayes_covers_without_any_calibration(ratios, told):
    covered = np.mean(ratios[told] >= 1.0, axis=0)
    # Four standard deviations of 200 runs, and 0.03 for normal instead of uniform coefficients.
    assert np.min(covered) >= 0.9 - 4 * 0.3 / np.sqrt(200) - 0.03
    assert np.max(covered) <= 0.9 + 4 * 0.3 / np.sqrt(200) + 0.03


def test_who_is_told_more_is_tighter_and_the_box_is_hardest(ratios):
    told, free = (np.array([_over_at_90(ratios[who][:, 1, d]) for d in range(3)])
                  for who in (True, False))
    assert np.all(told < free)
    assert told[0] < told[1] < told[2]
