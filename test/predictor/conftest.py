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

"""Small predictors of both kinds, with random weights."""

import numpy as np
from pacsbo_ros.predictor.checkpoint import Checkpoint
from pacsbo_ros.predictor.model import Calibration, feature_count, Network, NormPredictor
from pacsbo_ros.predictor.multiplier import INPUTS, MultiplierCheckpoint, MultiplierPredictor
import pytest

WINDOW = 5


def network(inputs, rng):
    return Network(rng.standard_normal(inputs), 0.5 + rng.random(inputs),
                   (rng.standard_normal((inputs, 4)), rng.standard_normal((4, 1))),
                   (rng.standard_normal(4), rng.standard_normal(1)))


@pytest.fixture(scope='session')
def small_checkpoint():
    """Make a checkpoint of norms, for two parameters and a window of five."""
    def made(seed=0):
        rng = np.random.default_rng(seed)
        net = network(feature_count(WINDOW), rng)
        calibration = Calibration(np.array([0.1, 0.3]), 0.5 + rng.random((2, 3, WINDOW)), 0.9)
        return Checkpoint(NormPredictor(net, calibration, WINDOW), 'matern32', 2, (0.1, 0.5),
                          (0.001, 0.05), {'seed': seed}, {})
    return made


@pytest.fixture(scope='session')
def some_predictor():
    """Make a predictor of multipliers, for one and two parameters."""
    def made(seed=0, constants=(2.0, 3.0)):
        return MultiplierPredictor(network(INPUTS, np.random.default_rng(seed)), (1, 2),
                                   constants)
    return made


@pytest.fixture(scope='session')
def some_checkpoint(some_predictor):
    """Make the checkpoint of that predictor."""
    def made(seed=0):
        return MultiplierCheckpoint(some_predictor(seed), 'matern32',
                                    ((0.05, 0.2), (0.15, 0.6)), {'seed': seed}, {})
    return made
