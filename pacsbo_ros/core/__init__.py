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

"""PACSBO itself: safe Bayesian optimisation that estimates the RKHS norm. No ROS in here."""

from pacsbo_ros.core import choices, rules
from pacsbo_ros.core.band import Band
from pacsbo_ros.core.box import Box
from pacsbo_ros.core.choice import CHOICES
from pacsbo_ros.core.kernels import Kernel
from pacsbo_ros.core.ledger import Entry
from pacsbo_ros.core.optimizer import SafeOptimizer
from pacsbo_ros.core.proposals import (
    Best,
    ESTIMATE_GREW,
    EXPANDER,
    MAXIMISER,
    NOISE_UNKNOWN,
    NormEstimate,
    NOTHING_UNCERTAIN,
    NothingToPropose,
    Proposal,
    REPEAT,
    SAFE_SET_EMPTY,
    State,
)
from pacsbo_ros.core.rkhs import random_function, RkhsFunction
from pacsbo_ros.core.rule import Predictor, RULES
from pacsbo_ros.core.settings import Settings

__all__ = [
    'CHOICES',
    'ESTIMATE_GREW',
    'EXPANDER',
    'MAXIMISER',
    'NOISE_UNKNOWN',
    'NOTHING_UNCERTAIN',
    'REPEAT',
    'RULES',
    'SAFE_SET_EMPTY',
    'Band',
    'Best',
    'Box',
    'Entry',
    'Kernel',
    'NormEstimate',
    'NothingToPropose',
    'Predictor',
    'Proposal',
    'RkhsFunction',
    'SafeOptimizer',
    'Settings',
    'State',
    'choices',
    'random_function',
    'rules',
]
