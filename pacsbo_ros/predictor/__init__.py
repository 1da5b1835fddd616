# Copyright the pacsbo_ros developers. Apache-2.0.
"""Learned helpers of the rules: trained, calibrated, shipped. No ROS, no torch to use them."""

from pacsbo_ros.predictor.checkpoint import DEFAULT, load_predictor
from pacsbo_ros.predictor.model import NormPredictor
from pacsbo_ros.predictor.multiplier import load_multiplier, MultiplierPredictor
from pacsbo_ros.predictor.sealed import CheckpointError

__all__ = ['DEFAULT', 'CheckpointError', 'MultiplierPredictor', 'NormPredictor',
           'load_multiplier', 'load_predictor']
