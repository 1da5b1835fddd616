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

from dataclasses import replace

import numpy as np
from pacsbo_ros.core import Kernel, Settings
from pacsbo_ros.predictor.batch import run_batch
from pacsbo_ros.predictor.data import Family, Plan
import pytest
from studies import ideal_norm as ideal
from studies.predictor_report import _over_at_90

PLAN = Plan(Family('matern32', 1, (0.05, 0.4)), seed=43, samples=6, candidates=60,
            length_scale=0.1, lam=Settings().lam)
NUMBERS = (3, 6)


@pytest.fixture(scope='module')
def runs():
    return run_batch(PLAN, range(200))


@pytest.fixture(scope='module')
def ratios(runs):
    return {informed: np.concatenate([
        ideal.ideal_ratios(runs.take([i]), PLAN, 0.9, informed, NUMBERS)
        for i in range(len(runs))])[:, [0, 3]] for informed in (True, False)}


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


@pytest.mark.parametrize('informed', [True, False])
def test_bayes_covers_without_any_calibration(ratios, informed):
    # Three standard deviations, as if the steps and domains of a run told nothing new.
    assert np.mean(ratios[informed] >= 1.0) == pytest.approx(0.9, abs=3 * 0.3 / np.sqrt(200))


def test_who_is_told_more_is_tighter_and_the_box_is_hardest(ratios):
    told, free = (np.array([_over_at_90(ratios[who][:, 1, d]) for d in range(3)])
                  for who in (True, False))
    assert np.all(told < free)
    assert told[0] < told[1] < told[2]


def test_the_uninformed_know_nothing_of_the_centres(runs, ratios, monkeypatch):
    made = ideal.make_problem

    def elsewhere(plan, index):
        problem = made(plan, index)
        return replace(problem, h=replace(problem.h, centres=problem.h.centres[::-1] ** 2))
    monkeypatch.setattr(ideal, 'make_problem', elsewhere)
    for informed in (True, False):
        found = ideal.ideal_ratios(runs.take([0]), PLAN, 0.9, informed, NUMBERS)[:, [0, 3], 2]
        assert np.allclose(found, ratios[informed][:1, :, 2]) is not informed


def test_starts_rule_out_functions_that_are_low_there():
    across_box = np.tile(np.linspace(0.0, 1.0, 101)[:, None], 2)
    at_starts = np.array([[0.9, 0.9], [0.35, 0.1]])
    assert ideal._starts_are_safe(across_box, at_starts).tolist() == [1.0, 0.0]


def test_a_weighted_quantile_counts_the_weight():
    values = np.array([3.0, 1.0, 2.0])
    assert ideal.weighted_quantile(values, np.array([9.0, 0.0, 1.0]), 0.1) == 2.0
    assert ideal.weighted_quantile(values, np.array([9.0, 0.0, 1.0]), 0.2) == 3.0
    assert ideal.weighted_quantile(values, np.array([0.0, 1.0, 0.0]), 0.9) == 1.0


def test_larger_domains_have_larger_estimates():
    plan = replace(PLAN, family=Family('matern32', 2, (0.1, 0.6)), length_scale=0.3)
    runs = run_batch(plan, range(3))
    ratios = np.concatenate([ideal.ideal_ratios(runs.take([i]), plan, 0.9, False, (6,))
                             for i in range(3)])[:, 3]
    estimates = (ratios * runs.label[:, 3])[np.isfinite(ratios).all(axis=1)]
    assert len(estimates)  # some of the runs have come that far
    # The labels have reference points of their own: they agree to a few per cent.
    assert np.all(estimates[:, 1:] > 0.95 * estimates[:, :-1])
    assert np.all(estimates > 0.0)
