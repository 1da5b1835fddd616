"""What people look at: shapes, colours, charts and the live page. No ROS in here."""
