"""PACSBO itself: safe Bayesian optimisation that estimates the RKHS norm. No ROS in here."""
