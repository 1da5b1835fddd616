"""Robots: what a robot is, and the robots that come along. No ROS in here."""
