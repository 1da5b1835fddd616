# Copyright the pacsbo_ros developers. Apache-2.0.
"""Any node's ROS parameters as a robot: task file, expressions, metrics, windows; no ROS here."""
