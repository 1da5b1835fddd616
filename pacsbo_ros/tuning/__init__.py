"""A tuning run from safe start gains to verified best gains, with its journal. No ROS in here."""
