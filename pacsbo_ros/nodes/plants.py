# Copyright the pacsbo_ros developers. Apache-2.0.
"""The plants a controller can drive, by the name in its parameter `plant`."""
from __future__ import annotations

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from pacsbo_ros.furuta.driver import Driver, SimulatedDriver
from pacsbo_ros.furuta.episode import EpisodeSettings, Start, check_delay
from pacsbo_ros.furuta.plant import NO_STATE, Measurement
from pacsbo_ros.furuta.presets import PRESETS as PRESET_PLANTS
from pacsbo_ros.nodes.spinning import HEARTBEAT, STATES, stamp_seconds, steady_now
from pacsbo_ros.safety import Freshness

PLANTS = ('simulated', 'topics', 'qube')
PRESETS = tuple(PRESET_PLANTS)
STATE_TIMEOUT = 0.06  # s, a plant that is silent for longer has no state


def make_driver(node: Node, plant: str, preset: str, settings: EpisodeSettings) -> Driver:
    """Open the plant that the parameters name."""
    if plant == 'topics':
        return TopicsDriver(node)
    if plant == 'qube':
        from pacsbo_ros.furuta.qube import QubeDriver  # needs Quanser's SDK
        return QubeDriver(version=3 if preset == 'qube3' else 2)
    description = PRESET_PLANTS[preset]
    check_delay(description, settings)
    hanging = settings.start is not Start.UPRIGHT
    return SimulatedDriver(description, hanging=hanging, log_length=1)


class TopicsDriver:
    """
    Drive any robot that publishes its joints and takes a voltage.

    Reads sensor_msgs/JointState from `plant/joint_states` (joints `theta` and `alpha`, positions
    and velocities) and writes std_msgs/Float64 volts to `plant/voltage`.
    """

    def __init__(self, node: Node) -> None:
        """Subscribe and advertise on the controller's own node and executor."""
        self._freshness = Freshness()
        self._measurement = NO_STATE
        self._voltage = node.create_publisher(Float64, 'plant/voltage', HEARTBEAT)
        node.create_subscription(JointState, 'plant/joint_states', self._on_joints, STATES)

    def _on_joints(self, message: JointState) -> None:
        try:
            i, j = message.name.index('theta'), message.name.index('alpha')
            measurement = Measurement(message.position[i], message.position[j],
                                      message.velocity[i], message.velocity[j])
        except (ValueError, IndexError):
            return
        stamp = stamp_seconds(message.header.stamp)
        if self._freshness.accept(steady_now(), stamp, stamp):
            self._measurement = measurement

    def reset(self, rng: np.random.Generator) -> None:
        """Do nothing: the plant is where it is."""

    def read(self) -> Measurement:
        """Return the newest state unless it is too old."""
        fresh = self._freshness.age(steady_now()) <= STATE_TIMEOUT
        return self._measurement if fresh else NO_STATE

    def write(self, volts: float) -> None:
        """Publish the voltage."""
        self._voltage.publish(Float64(data=float(volts)))

    def push(self, alpha_dot: float) -> None:
        """Do nothing: a person or the simulator pushes."""

    def close(self) -> None:
        """Publish zero volts once more."""
        self.write(0.0)
