"""Judge whether the robot may move: ages, limits, the watch. No ROS in here."""
