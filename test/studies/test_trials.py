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

"""The plants against the twenty real trials."""
import numpy as np
from pacsbo_ros.robots.furuta.presets import CALIBRATED, IDEAL
from studies.trials import agreement_of_sets, compare, CYCLING, load_trials, main


def test_the_trials_come_with_the_package():
    trials = load_trials()
    assert len(trials) == 20
    assert trials[0].gains.tuned() == (-2.3000000000000003, 40.0)
    assert (trials[0].reward, trials[0].max_abs_alpha) == (0.934, 0.371)
    assert sum(trial.max_abs_alpha > CYCLING for trial in trials) == 7


def test_the_calibrated_plant_agrees_with_at_least_eighteen_trials():
    comparison = compare(CALIBRATED, repeats=20)
    assert comparison.agrees.sum() >= 18
    assert comparison.mean_absolute_error < 0.08


def test_the_agreement_holds_for_fresh_starts_in_the_median_set():
    assert np.median(agreement_of_sets(CALIBRATED)) >= 18


def test_the_ideal_plant_misses_every_limit_cycle():
    comparison = compare(IDEAL, repeats=20)
    cycling = np.array([trial.max_abs_alpha > CYCLING for trial in comparison.trials])
    assert np.array_equal(comparison.agrees, ~cycling)
    assert comparison.mean_absolute_error > compare(CALIBRATED).mean_absolute_error


def test_the_report_says_that_three_numbers_were_fitted(capsys):
    main()
    report = ' '.join(capsys.readouterr().out.split())
    assert 'Three numbers of the calibrated plant were fitted' in report
    assert 'calibrated: ' in report
    assert 'fresh sets of 20 repeats' in report
    assert 'ideal: 13 of 20 trials agree' in report
    assert report.count('mean absolute error of max|alpha|') == 2
