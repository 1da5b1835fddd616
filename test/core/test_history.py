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

"""The hook for a learned multiplier of the band, and the history that it sees."""

import numpy as np
from pacsbo_ros.core import NothingToPropose, SafeOptimizer, Settings
from pacsbo_ros.core.history import COLUMNS, LEAST_MULTIPLIER
import pytest


class Says:
    """Give one and the same multiplier, and keep what was shown."""

    def __init__(self, word=1.0):
        self.word, self.seen = word, []

    def multiplier(self, history, settings):
        self.seen.append(history.copy())
        return self.word


def tuned(predictor=None, size=1.0, steps=4, **changes):
    settings = Settings(**{
        'constraints': 1, 'length_scales': (0.2,), 'noise_bound': 0.01 * size, 'candidates': 100,
        'budget': 20, 'starts': 3, 'tolerance': 1e-3 * size, 'scale_prior': 0.0, **changes})
    optimizer = SafeOptimizer(settings, predictor=predictor)
    for x in (0.4, 0.5, 0.55):
        optimizer.tell([x], measured(x, size))
    for _ in range(steps):
        proposal = optimizer.ask()
        if isinstance(proposal, NothingToPropose):
            break
        optimizer.tell(proposal.point, measured(proposal.point[0], size))
    return optimizer


def measured(x, size=1.0):
    return [size * np.sin(3 * x), size * (0.4 - abs(x - 0.5))]


X = np.linspace(0, 1, 7)[:, None]


@pytest.mark.parametrize('factors', [(1.0,), (0.25, 0.5, 1.0, 2.0, 4.0)])
def test_a_multiplier_of_one_changes_nothing(factors):
    plain, told = (tuned(p, length_scale_factors=factors) for p in (None, Says(1.0)))
    np.testing.assert_allclose(told.predict(X).low, plain.predict(X).low, rtol=1e-9)
    assert told.ask() == plain.ask()


def test_a_larger_multiplier_widens_the_band_and_a_tiny_one_counts_as_the_least():
    def widths(word):
        band = tuned(Says(word), steps=0, length_scale_factors=(1.0,)).predict(X)
        return band.up - band.low
    plain = widths(1.0)
    far = [0, 1, 5, 6]  # next to the samples it is the noise that makes the width
    np.testing.assert_allclose(widths(2.0)[:, far], 2.0 * plain[:, far], rtol=0.01)
    np.testing.assert_allclose(widths(1e-6)[:, far], LEAST_MULTIPLIER * plain[:, far], rtol=0.01)


def test_the_history_has_one_row_per_sample_from_the_last_start_on_and_is_cut_to_the_window():
    says = Says()
    optimizer = tuned(says, window=3)
    outputs = optimizer.settings.outputs
    shapes = [h.shape for h in says.seen[::outputs]]
    assert shapes == [(min(i + 1, 3), len(COLUMNS)) for i in range(5)]
    first, last = says.seen[0][0], says.seen[-1][-1]
    assert first[0] == first[1] == 0.0
    assert first[4] == 3.0
    assert last[4] == optimizer.state().samples


def test_the_history_has_no_scale():
    small, large = Says(), Says()
    tuned(small), tuned(large, size=1024.0)
    for a, b in zip(small.seen, large.seen, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_a_surprise_shows_in_residual_and_growth():
    says = Says()
    optimizer = tuned(says)
    optimizer.tell([0.45], [5.0, 0.3])
    reward = says.seen[-2][-1]
    assert reward[0] > 10.0
    assert reward[1] > 0.5


@pytest.mark.parametrize('word', [float('nan'), 0.0, -1.0, float('inf')])
def test_nonsense_is_refused_and_the_tell_changes_nothing(word):
    says = Says()
    optimizer = tuned(says)
    before, says.word = optimizer.to_record(), word
    with pytest.raises(ValueError, match='positive number'):
        optimizer.tell([0.45], measured(0.45))
    assert optimizer.to_record() == before


def test_a_predictor_of_the_other_kind_is_refused():
    with pytest.raises(ValueError, match='guesses norms'):
        SafeOptimizer(Settings(), predictor=lambda history, settings, domain: 1.0)
    with pytest.raises(ValueError, match='multipliers'):
        SafeOptimizer(Settings(rule='scale_free'), predictor=Says())
