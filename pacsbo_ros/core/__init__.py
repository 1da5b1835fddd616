# Copyright the pacsbo_ros developers. Apache-2.0.
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
