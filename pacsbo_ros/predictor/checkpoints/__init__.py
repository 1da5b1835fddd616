# Copyright the pacsbo_ros developers. Apache-2.0.
"""The shipped predictors, as package data."""
