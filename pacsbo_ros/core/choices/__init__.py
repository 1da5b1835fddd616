# Copyright the pacsbo_ros developers. Apache-2.0.
"""Ways to choose the next experiment; importing them enters them in `choice.CHOICES`."""

from pacsbo_ros.core.choices import goal, safeopt

__all__ = ['goal', 'safeopt']
