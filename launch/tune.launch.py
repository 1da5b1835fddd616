# Copyright the pacsbo_ros developers. Apache-2.0.
"""Tune any robot: a task file (task:=FILE), or a robot in Python (robot:=module:Class)."""
from pacsbo_ros.nodes import bringup, launching


def generate_launch_description():
    return launching.description(bringup.TUNE_ARGUMENTS)
