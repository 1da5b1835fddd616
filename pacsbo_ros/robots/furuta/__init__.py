"""The rotary (Furuta) pendulum: dynamics, realistic plant, episode, drivers. No ROS in here."""
