# Copyright the pacsbo_ros developers. Apache-2.0.
"""PACSBO itself: safe Bayesian optimisation that estimates the RKHS norm. No ROS in here."""

from pacsbo_ros.core.box import Box
from pacsbo_ros.core.kernels import Kernel
from pacsbo_ros.core.optimizer import Predictor, SafeOptimizer
from pacsbo_ros.core.pacsbo import Pacsbo
from pacsbo_ros.core.proposals import (
    EXPANDER,
    MAXIMISER,
    NORM_GREW,
    NOTHING_UNCERTAIN,
    SAFE_SET_EMPTY,
    Best,
    NormEstimate,
    NothingToPropose,
    Proposal,
    State,
)
from pacsbo_ros.core.rkhs import RkhsFunction, random_function
from pacsbo_ros.core.safe_sets import Band
from pacsbo_ros.core.safeopt import SafeOpt
from pacsbo_ros.core.settings import Settings

__all__ = [
    'EXPANDER',
    'MAXIMISER',
    'NORM_GREW',
    'NOTHING_UNCERTAIN',
    'SAFE_SET_EMPTY',
    'Band',
    'Best',
    'Box',
    'Kernel',
    'NormEstimate',
    'NothingToPropose',
    'Pacsbo',
    'Predictor',
    'Proposal',
    'RkhsFunction',
    'SafeOpt',
    'SafeOptimizer',
    'Settings',
    'State',
    'random_function',
]
