# Copyright 2026 the pacsbo_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Draw the robot and what the optimiser believes, as markers for rviz.

Three latched topics, because each keeps only its newest message for late subscribers:
`markers/robot` moves at 20 Hz, `markers/gain_map` comes once per episode, and
`markers/candidate` with every candidate. A new run begins with DELETEALL.
"""
from __future__ import annotations

import math

from pacsbo_ros.msg import Candidate, GainMap, OptimizerState, Robot, SafetyStatus
from pacsbo_ros.nodes.marker_shapes import plain, Shapes
from pacsbo_ros.nodes.parameters import declare, Parameter
from pacsbo_ros.nodes.spinning import (
    HEARTBEAT,
    LATCHED,
    lower_priority,
    spin,
    steady_now,
    steady_timer,
)
from pacsbo_ros.robots.drawing import Drawing, drawing_of
from pacsbo_ros.view.numbers import quantity, values_text
from pacsbo_ros.view.palette import SILENT, verdict_words
from pacsbo_ros.view.slices import Slices
from pacsbo_ros.view.words import role, tuned_values
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

PARAMETERS = (
    Parameter('frame_id', 'pacsbo', 'Frame of all markers; the fixed frame in rviz.'),
    Parameter('pair', '', 'Which two values are drawn if three or more are tuned, for example '
              '"p, d"; empty: the first two.', live=True),
    Parameter('rate', 20.0, 'How often the robot is drawn [Hz].', 1.0, 50.0),
    Parameter('verdict_timeout', 0.5, "The robot turns dark grey when the monitor's verdict is "
              'older than this [s].', 0.05, 10.0),
)


class ProgressMarkers(Node):
    """Turn the newest messages into markers."""

    def __init__(self, **options) -> None:
        """Declare, listen, and draw the robot periodically."""
        super().__init__('progress_markers', **options)
        p = self._p = declare(self, PARAMETERS)
        self._shapes = Shapes(p.frame_id)
        self._pair = p.pair
        self._run_id = ''
        self._slices: Slices | None = None
        self._candidate: Candidate | None = None
        self._robot: Robot | None = None
        self._drawing: Drawing | None = None
        self._status: SafetyStatus | None = None
        self._status_seen = -math.inf
        self._newest: dict[str, float] = {}  # signals
        self._drawn: tuple | None = None
        self._robots = self.create_publisher(MarkerArray, 'markers/robot', LATCHED)
        self._maps = self.create_publisher(MarkerArray, 'markers/gain_map', LATCHED)
        self._candidates = self.create_publisher(MarkerArray, 'markers/candidate', LATCHED)
        self.create_subscription(Robot, 'robot', self._on_robot, LATCHED)
        # The verdict carries the signals, so that 50 messages a second are enough, not 200.
        self.create_subscription(SafetyStatus, 'safety_status', self._on_status, HEARTBEAT)
        self.create_subscription(OptimizerState, 'optimizer_state', self._on_state, LATCHED)
        self.create_subscription(GainMap, 'gain_map', self._on_map, LATCHED)
        self.create_subscription(Candidate, 'candidate', self._on_candidate, LATCHED)
        self.add_on_set_parameters_callback(self._on_parameters)
        steady_timer(self, 1.0 / p.rate, self._draw_robot)

    def _on_robot(self, message: Robot) -> None:
        self._robot, self._drawing = message, drawing_of(message.name)

    def _on_parameters(self, changes: list) -> SetParametersResult:
        """Take another pair, and draw it."""
        for change in changes:
            if change.name == 'pair':
                known = self._slices.pairs if self._slices is not None else ()
                if known and change.value and change.value not in known:
                    return SetParametersResult(
                        successful=False, reason=f'pair is {change.value!r}; choose one of '
                        + '; '.join(known))
                self._pair = change.value
                self._draw_map()
        return SetParametersResult(successful=True)

    def _on_status(self, message: SafetyStatus) -> None:
        self._status, self._status_seen = message, steady_now()
        self._newest |= {name: value for name, value in zip(message.signals, message.newest,
                                                            strict=False) if math.isfinite(value)}

    def _on_state(self, message: OptimizerState) -> None:
        self._enter_run(message.run_id)
        if message.state in (OptimizerState.FINISHED, OptimizerState.FAILED):
            self._candidate = None
            self._candidates.publish(MarkerArray(markers=[self._shapes.clear()]))

    def _on_map(self, message: GainMap) -> None:
        try:
            slices = Slices.from_message(message)
        except ValueError as error:
            self.get_logger().warning(f'gain map not drawn: {error}')
            return
        self._enter_run(message.run_id)
        fresh, self._slices = self._slices is None, slices
        self._draw_map(fresh)

    def _on_candidate(self, message: Candidate) -> None:
        self._enter_run(message.run_id)
        self._candidate = message if all(map(math.isfinite, message.values)) else None
        self._draw_candidate()

    def _enter_run(self, run_id: str) -> None:
        """Forget another run's map."""
        if run_id != self._run_id:
            self._run_id, self._slices, self._candidate = run_id, None, None
            clear = MarkerArray(markers=[self._shapes.clear()])
            self._maps.publish(clear)
            self._candidates.publish(clear)

    @property
    def _index(self) -> int:
        """Return which slice is drawn."""
        pairs = self._slices.pairs if self._slices is not None else ()
        return pairs.index(self._pair) if self._pair in pairs else 0

    def _draw_map(self, fresh: bool = True) -> None:
        if self._slices is None:
            return
        markers = self._shapes.belief(self._slices, self._index)
        self._maps.publish(MarkerArray(
            markers=[self._shapes.clear(), *markers] if fresh else markers))
        self._draw_candidate()

    def _draw_candidate(self) -> None:
        """Show where the present candidate lies, once there is a map to show it on."""
        message, slices = self._candidate, self._slices
        if message is None or slices is None:
            return
        values = tuned_values(message)
        if tuple(message.names[:len(values)]) != slices.names:
            return
        self._candidates.publish(MarkerArray(markers=self._shapes.candidate(
            slices, self._index, values,
            f'{message.iteration}: {role(message.role)} {values_text(values)}')))

    def _draw_robot(self) -> None:
        """Publish the robot if anything about it has changed."""
        silent = steady_now() - self._status_seen > self._p.verdict_timeout
        verdict = SILENT if silent or self._status is None else self._status.state
        words = [verdict_words(verdict), *(
            f'{name} {quantity(self._newest[name], unit)}' for name, unit in self._signals()
            if name in self._newest)]
        if self._status is not None and self._status.cause:
            words[0] = f'{self._status.cause}: {words[0]}'
        parts = self._drawing.parts(self._newest) if self._drawing is not None else ()
        drawn = (parts, verdict, tuple(words))
        if drawn != self._drawn:
            self._drawn = drawn
            height = self._drawing.height if self._drawing is not None else 0.0
            self._robots.publish(MarkerArray(markers=self._shapes.robot(
                parts, verdict, plain('\n'.join(words)), height)))

    def _signals(self) -> list[tuple[str, str]]:
        """Return name and unit of the limited signals."""
        r = self._robot
        return [] if r is None else [
            (name, unit) for name, unit, limit in zip(r.signals, r.signal_units, r.signal_limits,
                                                      strict=False) if math.isfinite(limit)]


def main() -> int:
    """Run the node."""
    lower_priority()
    return spin(ProgressMarkers)


if __name__ == '__main__':
    raise SystemExit(main())
