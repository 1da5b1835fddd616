# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Draw the pendulum and what the optimiser believes, as markers for rviz.

Three latched topics, because each keeps only its newest message for late subscribers:
`markers/pendulum` moves at 20 Hz, `markers/gain_plane` comes once per episode, and
`markers/candidate` with every candidate. A new run begins with DELETEALL.
"""
from __future__ import annotations

import math

from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from pacsbo_ros.msg import Candidate, GainMap, OptimizerState, SafetyStatus
from pacsbo_ros.nodes.marker_shapes import Shapes, finite
from pacsbo_ros.nodes.parameters import Parameter, declare
from pacsbo_ros.nodes.spinning import (
    HEARTBEAT,
    LATCHED,
    lower_priority,
    spin,
    steady_now,
    steady_timer,
)
from pacsbo_ros.view.palette import SILENT, VERDICT_WORDS
from pacsbo_ros.view.plane import GainPlane

PARAMETERS = (
    Parameter('frame_id', 'pacsbo', 'Frame of all markers; the fixed frame in rviz.'),
    Parameter('rate', 20.0, 'How often the pendulum is drawn [Hz].', 1.0, 50.0),
    Parameter('verdict_timeout', 0.5, "The pendulum turns dark grey when the monitor's verdict is "
              'older than this [s].', 0.05, 10.0),
)


class ProgressMarkers(Node):
    """Turn the newest messages into markers."""

    def __init__(self, **options) -> None:
        """Declare, listen, and draw the pendulum periodically."""
        super().__init__('progress_markers', **options)
        p = self._p = declare(self, PARAMETERS)
        self._shapes = Shapes(p.frame_id)
        self._run_id = ''
        self._plane: GainPlane | None = None
        self._candidate: Candidate | None = None
        self._status: SafetyStatus | None = None
        self._status_seen = -math.inf
        self._angles = (0.0, 0.0)  # theta, alpha
        self._drawn: tuple | None = None
        self._pendulum = self.create_publisher(MarkerArray, 'markers/pendulum', LATCHED)
        self._planes = self.create_publisher(MarkerArray, 'markers/gain_plane', LATCHED)
        self._candidates = self.create_publisher(MarkerArray, 'markers/candidate', LATCHED)
        # The verdict carries the angles, so that 50 messages a second are enough, not 200.
        self.create_subscription(SafetyStatus, 'safety_status', self._on_status, HEARTBEAT)
        self.create_subscription(OptimizerState, 'optimizer_state', self._on_state, LATCHED)
        self.create_subscription(GainMap, 'gain_map', self._on_map, LATCHED)
        self.create_subscription(Candidate, 'candidate', self._on_candidate, LATCHED)
        steady_timer(self, 1.0 / p.rate, self._draw_pendulum)

    def _on_status(self, message: SafetyStatus) -> None:
        self._status, self._status_seen = message, steady_now()
        if finite(message.theta, message.alpha):
            self._angles = (message.theta, message.alpha)

    def _on_state(self, message: OptimizerState) -> None:
        self._enter_run(message.run_id)
        if message.state in (OptimizerState.FINISHED, OptimizerState.FAILED):
            self._candidate = None
            self._candidates.publish(MarkerArray(markers=[self._shapes.clear()]))

    def _on_map(self, message: GainMap) -> None:
        try:
            plane = GainPlane.from_message(message)
        except ValueError as error:
            self.get_logger().warning(f'gain map not drawn: {error}')
            return
        if not finite(plane.margin.sum(), plane.samples.sum(), *plane.lower, *plane.upper):
            self.get_logger().warning('gain map not drawn: it has a number that is not finite')
            return
        self._enter_run(message.run_id)
        fresh = self._plane is None
        self._plane = plane
        markers = self._shapes.plane(plane)
        self._planes.publish(MarkerArray(
            markers=[self._shapes.clear(), *markers] if fresh else markers))
        self._draw_candidate()

    def _on_candidate(self, message: Candidate) -> None:
        self._enter_run(message.run_id)
        self._candidate = message if finite(*message.gains) else None
        self._draw_candidate()

    def _enter_run(self, run_id: str) -> None:
        """Forget another run's plane."""
        if run_id != self._run_id:
            self._run_id, self._plane, self._candidate = run_id, None, None
            clear = MarkerArray(markers=[self._shapes.clear()])
            self._planes.publish(clear)
            self._candidates.publish(clear)

    def _draw_candidate(self) -> None:
        """Show where the present candidate lies, once there is a plane to show it on."""
        message, plane = self._candidate, self._plane
        if message is None or plane is None or tuple(message.names[:2]) != plane.names:
            return
        gains = ', '.join(f'{g:.2f}' for g in message.gains)
        self._candidates.publish(MarkerArray(markers=self._shapes.candidate(
            plane, message.gains, f'{message.iteration}: {message.role} ({gains})')))

    def _draw_pendulum(self) -> None:
        """Publish the pendulum if anything about it has changed."""
        silent = steady_now() - self._status_seen > self._p.verdict_timeout
        verdict = SILENT if silent else self._status.state
        words = f'{VERDICT_WORDS[verdict]}\nalpha {math.degrees(self._angles[1]):+.1f} deg'
        if self._status is not None and self._status.cause:
            words = f'{self._status.cause}: {words}'
        drawn = (*self._angles, words)
        if drawn != self._drawn:
            self._drawn = drawn
            self._pendulum.publish(MarkerArray(
                markers=self._shapes.pendulum(*self._angles, verdict, words)))


def main() -> int:
    """Run the node."""
    lower_priority()
    return spin(ProgressMarkers)


if __name__ == '__main__':
    raise SystemExit(main())
