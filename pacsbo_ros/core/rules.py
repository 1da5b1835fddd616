# Copyright the pacsbo_ros developers. Apache-2.0.
"""The table of norm bounds: name in the settings to class."""

from __future__ import annotations

from pacsbo_ros.core.confidence import DeltaSplit
from pacsbo_ros.core.kernels import Kernel
from pacsbo_ros.core.norm_bounds import (
    Bernstein,
    Cantelli,
    Hoeffding,
    Mean,
    NormBound,
    Scenario,
    Shown,
)
from pacsbo_ros.core.scale_free import ScaleFree
from pacsbo_ros.core.settings import NO_BOUND, Settings

RULES: dict[str, type[NormBound]] = {
    'scale_free': ScaleFree,
    'scenario': Scenario,
    'cantelli': Cantelli,
    'mean': Mean,
    'hoeffding': Hoeffding,
    'bernstein': Bernstein,
    NO_BOUND: Shown,
}


def make_bound(settings: Settings, split: DeltaSplit, kernel: Kernel, seed: int) -> NormBound:
    """Make the norm bound that the settings name."""
    return RULES[settings.norm_bound](settings, split, kernel, seed)
