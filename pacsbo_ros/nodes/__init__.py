"""Thin rclpy nodes: they declare parameters, wire topics, and call core and furuta."""
