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

"""Learned helpers of the rules: trained, calibrated, shipped. No ROS, no torch to use them."""

from pacsbo_ros.predictor.checkpoint import DEFAULT, load_predictor
from pacsbo_ros.predictor.model import NormPredictor
from pacsbo_ros.predictor.multiplier import load_multiplier, MultiplierPredictor
from pacsbo_ros.predictor.sealed import CheckpointError

__all__ = ['DEFAULT', 'CheckpointError', 'MultiplierPredictor', 'NormPredictor',
           'load_multiplier', 'load_predictor']
