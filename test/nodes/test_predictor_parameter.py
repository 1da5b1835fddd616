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

"""Which predictor the optimiser's node asks."""
from types import SimpleNamespace

import numpy as np
from pacsbo_ros.core import SafeOptimizer, Settings
from pacsbo_ros.nodes.tuning_parameters import make_predictor
from pacsbo_ros.predictor import MultiplierPredictor, NormPredictor
from pacsbo_ros.predictor.model import Network
from pacsbo_ros.predictor.multiplier import INPUTS, MultiplierCheckpoint, save_multiplier
import pytest


def asked(checkpoint='default', method='pacsbo'):
    return SimpleNamespace(predictor_checkpoint=checkpoint, method=method)


@pytest.fixture
def checkpoint(tmp_path):
    network = Network(np.zeros(INPUTS), np.ones(INPUTS), (np.ones((INPUTS, 1)),), (np.ones(1),))
    path = tmp_path / 'multiplier.json'
    save_multiplier(path, MultiplierCheckpoint(
        MultiplierPredictor(network, (2,), (1.0,)), 'matern32', ((0.1, 0.6),), {}, {}))
    return str(path)


@pytest.mark.parametrize('n', [1, 2, 3, 4, 5, 6])
def test_by_default_any_number_of_gains_works(n):
    settings = Settings(dimension=n, length_scales=(0.4,))
    predictor, digest = make_predictor(asked(), settings)
    assert (predictor is None) == (digest == '')
    SafeOptimizer(settings, predictor=predictor).tell([0.5] * n, [0.1, 0.2])


def test_a_file_is_used_for_student(checkpoint):
    settings = Settings(dimension=2, length_scales=(0.3,))
    predictor, digest = make_predictor(asked(checkpoint), settings)
    assert isinstance(predictor, MultiplierPredictor)
    assert len(digest) == 64


def test_a_file_that_does_not_fit_or_is_of_the_other_kind_is_refused(checkpoint):
    with pytest.raises(ValueError, match=r'^predictor_checkpoint: .*dimension is 1'):
        make_predictor(asked(checkpoint), Settings())
    with pytest.raises(ValueError, match='of the kind that is needed'):
        make_predictor(asked(checkpoint, 'paper'), Settings.paper(dimension=2))


@pytest.mark.parametrize(('n', 'scale'), [(1, 0.1), (2, 0.3), (4, 0.5)])
def test_the_paper_has_its_own_predictor_by_default(n, scale):
    settings = Settings.paper(dimension=n, length_scales=(scale,))
    predictor, digest = make_predictor(asked(method='paper'), settings)
    assert isinstance(predictor, NormPredictor)
    assert len(digest) == 64


def test_nothing_is_loaded_for_safeopt_or_an_empty_name():
    for p in (asked(''), asked(method='safeopt')):
        assert make_predictor(p, Settings()) == (None, '')
