# Copyright the pacsbo_ros developers. Apache-2.0.
"""Rules that turn samples into bands; importing them enters them in `rule.RULES`."""

from pacsbo_ros.core.rule import RULES
from pacsbo_ros.core.rules import (  # noqa: F401, entered in the order of the tables
    bernstein,
    cantelli,
    given,
    hoeffding,
    mean,
    none,
    scale_free,
    scenario,
    student,
)

# What needs neither a predictor nor a known norm.
COMPLETE = tuple(name for name in RULES if name not in ('none', 'given'))
