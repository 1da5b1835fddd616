# Copyright the pacsbo_ros developers. Apache-2.0.
"""The norm predictor of Algorithm 1: trained, calibrated, shipped. No ROS, no torch to use it."""

from pacsbo_ros.predictor.checkpoint import CheckpointError, load_predictor
from pacsbo_ros.predictor.model import NormPredictor

__all__ = ['CheckpointError', 'NormPredictor', 'load_predictor']
