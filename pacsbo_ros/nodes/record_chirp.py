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
Record a chirp from a hanging pendulum, for `identify`: small volts, limits, zero at every end.

It needs no monitor and asks nobody for consent, so it does little and judges itself: at most 3 V,
and robots/furuta/chirp.py says what ends it.
"""
from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
from pacsbo_ros.files import FileError, refuse_output
from pacsbo_ros.nodes.parameters import declare, Parameter, StartError
from pacsbo_ros.nodes.plants import make_driver
from pacsbo_ros.nodes.spinning import raise_priority, spin, steady_now, steady_timer
from pacsbo_ros.robots.furuta.chirp import Chirp, ChirpRecorder
from pacsbo_ros.robots.furuta.driver import DriverError
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Start
from pacsbo_ros.robots.furuta.plant import NO_STATE, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import preset
from pacsbo_ros.robots.furuta.robot import PLANTS, SIMULATED
from rclpy.node import Node
from rclpy.task import Future

CHIRP = Chirp()
CONNECTING = 5.0  # s for the first state to come
AT_ONCE = 20  # samples of a simulation for each of real time: nobody waits for it
PARAMETERS = (
    Parameter('plant', 'simulated', 'What is recorded.', choices=PLANTS),
    Parameter('preset', 'calibrated', 'Which simulated plant, or which one the real one is like: '
              'ideal, calibrated, qube3, or a preset file.'),
    Parameter('arm', False, 'True says that a real pendulum hangs free and still, that its arm is '
              'centred and that a hand is at the switch; without it nothing real moves.'),
    Parameter('output', 'chirp.csv', 'File to write: t, volts, theta, alpha. It must not exist.'),
    Parameter('volts', CHIRP.amplitude, 'Amplitude of the chirp [V].', 0.1, 3.0),
    Parameter('duration', CHIRP.duration, 'Length of the chirp [s].', 2.0, 120.0),
    Parameter('arm_limit', CHIRP.arm_limit, 'How far the arm may move from where it was [rad].',
              0.1, 2.0),
)


class RecordChirp(Node):
    """Wire a ChirpRecorder to a driver."""

    punctual = True
    interrupted = 1  # half a recording is none

    def __init__(self, **options) -> None:
        """Refuse what cannot end well, then open the plant with zero volts."""
        super().__init__('record_chirp', **options)
        p = declare(self, PARAMETERS)
        self.done: Future = Future()
        self.exit_code = 1
        self._driver = None
        self._output = Path(p.output).expanduser()
        self._simulated = p.plant in SIMULATED
        try:
            refuse_output(self._output)
        except FileError as error:
            raise StartError(f'output {error}') from error
        if not (self._simulated or p.arm):
            raise StartError(f'plant {p.plant} is real: let the pendulum hang free and still, '
                             'centre the arm, keep a hand at the switch, and add -p arm:=true')
        try:
            self._recorder = ChirpRecorder(
                Chirp(amplitude=p.volts, duration=p.duration, arm_limit=p.arm_limit),
                preset(p.preset).parameters)
            self._driver = make_driver(self, p.plant, p.preset,
                                       EpisodeSettings(start=Start.SWING_UP))
            self._driver.reset(np.random.default_rng(0))
        except (ValueError, DriverError) as error:
            raise StartError(error) from error
        self._time = 0.0  # s of a simulation
        self._opened = steady_now()
        steady_timer(self, SAMPLE_PERIOD, self._tick)
        self.get_logger().info(f'{p.plant}: self-test, then {p.duration:g} s of chirp with '
                               f'{p.volts:g} V')

    def _tick(self) -> None:
        try:
            for _ in range(AT_ONCE if self._simulated else 1):
                if not self._recorder.over:
                    self._sample()
        except (DriverError, OSError, ValueError) as error:
            self._recorder.problem = str(error)
        if self._recorder.over and not self.done.done():
            self._stop()
            self._finish()
            self.done.set_result(None)

    def _sample(self) -> None:
        now = self._driver.read()
        if now is NO_STATE and steady_now() - self._opened < CONNECTING:
            return
        self._time += SAMPLE_PERIOD
        self._driver.write(self._recorder.step(now, self._time if self._simulated
                                               else steady_now()))

    def _finish(self) -> None:
        """Write the file, or say why there is none."""
        if self._recorder.problem:
            self.get_logger().error(f'zero volts, nothing written: {self._recorder.problem}')
            return
        try:
            self._recorder.write(self._output)
        except OSError as error:
            self.get_logger().error(f'{self._output} cannot be written: {error.strerror}')
            return
        self.exit_code = 0
        self.get_logger().info(
            f'{len(self._recorder.rows)} samples in {self._output}; next: python -m '
            f'pacsbo_ros.robots.furuta.identify {self._output}')

    def _stop(self) -> None:
        if self._driver is not None:
            with contextlib.suppress(DriverError, OSError, ValueError):
                self._driver.write(0.0)

    def destroy_node(self) -> None:
        """Leave with zero volts, and say so if the chirp was not over."""
        self._stop()
        if self._driver is not None:
            if not self.done.done():
                self.get_logger().error('zero volts, nothing written: ended before the chirp was '
                                        'over')
            self._driver.close()
        super().destroy_node()


def main() -> int:
    """Record."""
    raise_priority()
    return spin(RecordChirp)


if __name__ == '__main__':
    raise SystemExit(main())
