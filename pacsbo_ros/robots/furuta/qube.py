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
Quanser's Qube-Servo 2 and 3 through Quanser's own Python SDK. Not yet run on hardware.

The SDK is proprietary and is imported only when this driver is made. Quanser counts the arm the
other way round, so angle and voltage change sign here: positive voltage then accelerates theta
positively, as everywhere else in this package. Encoders are zeroed when the board is opened, with
the pendulum hanging, so upright is half a turn away.

A process that is killed or frozen sends no zero volts. The board's own watchdog does, where the
SDK offers it: the first voltage starts it, every other reloads it, zero volts stop it.
"""
from __future__ import annotations

import contextlib
import importlib
import math
from typing import Any

import numpy as np
from pacsbo_ros.robots.furuta.driver import DriverError
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD, VelocityFilter

SDK_MODULE = 'pal.products.qube'  # part of the Quanser Academic Resources
WATCHDOG = 0.06  # s without a command after which the board itself sets zero volts
MAX_VOLTS = 15.0  # the SDK clips there as well; said here so that nobody wonders

READY = (0.0, 0.0, 1.0)  # blue
ACTIVE = (0.0, 1.0, 0.0)  # green: the motor may move
STOPPED = (1.0, 0.0, 0.0)  # red


class WatchdogError(Exception):
    """The watchdog of the board has expired."""


class QubeDriver:
    """Drive a Qube-Servo; call close() on every way out, or use it in a with statement."""

    age = 0.0  # it is read when it is asked

    def __init__(self, version: int = 2, board: int = 0, cutoff: float = 82.0,
                 sdk: Any = None) -> None:
        """Open the board; sdk replaces Quanser's module in tests."""
        if version not in (2, 3):
            raise ValueError(f'Qube version is {version}; Qube-Servo 2 and 3 are supported')
        self._sdk = _import_sdk() if sdk is None else sdk
        self._filters = VelocityFilter(cutoff), VelocityFilter(cutoff)
        self._board: Any = None
        self._led: tuple[float, float, float] | None = None
        self._guarded = False  # the watchdog runs
        make = getattr(self._sdk, f'QubeServo{version}')
        try:
            # Immediate reads: the caller keeps time, a buffered task would serve old samples.
            self._board = make(id=board, hardware=1, frequency=round(1 / SAMPLE_PERIOD),
                               readMode=0)
            self._board.write_voltage(0.0)
            self.watchdog = self._prepare_watchdog()  # why there is none; empty if there is one
            self._show(READY)
        except Exception as error:
            self.close()
            raise DriverError(
                f'Qube-Servo {version} with id {board} cannot be opened ({error}); is it plugged '
                'in, switched on, and not held by another or a dead process?') from error

    def reset(self, rng: np.random.Generator) -> None:
        """Forget old velocities; a person or the swing-up brings the pendulum to its start."""
        self.write(0.0)
        for velocity_filter in self._filters:
            velocity_filter.reset()

    def read(self) -> Measurement:
        """Return angles from the encoders and filtered velocities."""
        board = self._open_board()
        try:
            board.read_outputs()
            theta = -float(np.squeeze(board.motorPosition))
            alpha = _from_upright(float(np.squeeze(board.pendulumPosition)))
            fault = bool(np.squeeze(board.amplifierFault)) or bool(
                np.squeeze(board.motorStallError))
        except Exception as error:
            self.close()
            raise DriverError(f'the Qube cannot be read: {error}') from error
        if fault:
            self.close()
            raise DriverError('the Qube reports an amplifier fault or a stalled motor; free the '
                              'arm, switch the Qube off and on')
        return Measurement(theta, alpha, self._filters[0].step(theta),
                           self._filters[1].step(alpha))

    def write(self, volts: float) -> None:
        """Send the voltage; anything that is not finite stops the motor for good."""
        board = self._open_board()
        if not math.isfinite(volts):
            self.close()
            raise ValueError(f'voltage is {volts}; a motor takes finite numbers only')
        try:
            if volts:
                self._guard(board)
            board.write_voltage(-max(-MAX_VOLTS, min(MAX_VOLTS, volts)))
            if not volts:
                self._unguard(board)
            self._show(ACTIVE if volts else READY)
        except WatchdogError as error:
            with contextlib.suppress(Exception):
                board.write_voltage(0.0)
            raise DriverError(f'no command came for {WATCHDOG} s, so the watchdog of the Qube has '
                              f'set zero volts: {error}') from error
        except Exception as error:
            self.close()
            raise DriverError(f'the Qube cannot be written: {error}') from error

    def _prepare_watchdog(self) -> str:
        """Try the watchdog once, with zero volts as what it sets; say why it cannot be used."""
        try:
            card, channels = self._board.card, np.array([0], dtype=np.uint32)
            card.watchdog_set_analog_expiration_state(channels, 1, np.zeros(1))
            card.watchdog_start(WATCHDOG)
            card.watchdog_reload()
            card.watchdog_stop()
        except Exception as error:  # whatever this SDK or this board lacks
            return f'{type(error).__name__}: {error}'
        return ''

    def _guard(self, board: Any) -> None:
        """Start the watchdog, or tell it that we are alive."""
        if self.watchdog:
            return
        try:
            if self._guarded:
                board.card.watchdog_reload()
            else:
                board.card.watchdog_start(WATCHDOG)
            self._guarded = True
        except Exception as error:
            self._unguard(board)
            raise WatchdogError(error) from error

    def _unguard(self, board: Any) -> None:
        """Stop the watchdog, or clear one that has expired."""
        guarded, self._guarded = self._guarded, False
        if guarded:
            for end in ('watchdog_stop', 'watchdog_clear'):
                with contextlib.suppress(Exception):
                    getattr(board.card, end)()

    def push(self, alpha_dot: float) -> None:
        """Leave the pendulum alone: on hardware a finger gives the push."""

    def close(self) -> None:
        """Set zero volts, show red, switch the amplifier off and release the board."""
        board, self._board = self._board, None
        if board is None:
            return
        # Each step must run even if the one before failed. Without the last one the board stays
        # locked and its amplifier on.
        for stop in (lambda: board.write_voltage(0.0), lambda: self._unguard(board),
                     lambda: board.write_led(np.array(STOPPED)), board.terminate):
            with contextlib.suppress(Exception):
                stop()

    def __enter__(self) -> QubeDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_board(self) -> Any:
        """Return the board, or refuse if it was closed."""
        if self._board is None:
            raise DriverError('the Qube is closed; make a new driver')
        return self._board

    def _show(self, led: tuple[float, float, float]) -> None:
        """Light the LED, only when the colour changes: each write costs time on the bus."""
        if led != self._led:
            self._board.write_led(np.array(led))
            self._led = led


def _from_upright(pendulum: float) -> float:
    """Turn an encoder angle, zero hanging, into one that is zero upright, within [-pi, pi]."""
    angle = pendulum - math.pi
    return angle - 2 * math.pi * round(angle / (2 * math.pi))


def _import_sdk() -> Any:
    """Import Quanser's module or say what to do."""
    try:
        return importlib.import_module(SDK_MODULE)
    except ImportError as error:
        raise DriverError(
            f"driver 'qube' needs Quanser's Python SDK (module {SDK_MODULE}), which is not "
            "installed; install Quanser's SDK and Academic Resources, or choose the driver "
            "'simulated' or 'topics'") from error
