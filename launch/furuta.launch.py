# Copyright the pacsbo_ros developers. Apache-2.0.
"""Tune the pendulum: optimiser, controller, safety monitor, and what shows them."""
from pacsbo_ros.nodes import bringup, launching


def generate_launch_description():
    return launching.description(bringup.ARGUMENTS)
