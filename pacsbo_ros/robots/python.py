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
A robot in a few lines of Python: say what it has, and write run().

    class Cart(Robot):
        tunables = (Tunable('k', 'N/m', 0.0, 50.0, 8.0),)
        signals = (Signal('x', 'm', 0.5),)
        constraints = ('x',)

        def run(self, values, seed):
            cart = Simulation(seed)
            while cart.time < 5.0 and self.watch(cart.time, [cart.x]):
                cart.step(-values['k'] * cart.x)
            return -cart.cost, [1.0 - self.peaks['x'] / 0.5]

run() is ordinary code that may take its time: it runs in a thread of its own, and watch() tells
it whether to go on. watch() says no once a limit is passed or somebody stopped the episode; run()
then switches the actuators off and returns as usual, what it measured so far.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
import math
import threading
import time

import numpy as np
from pacsbo_ros.robots.contract import (
    Description,
    EpisodeResult,
    Outcome,
    Refusal,
    RewardScale,
    RobotError,
    Sample,
    Signal,
    Tunable,
)

__all__ = ['RewardScale', 'Robot', 'Signal', 'Tunable']
BARELY = 0.001  # margin that is missing at least if a limit was passed
PATIENCE = 5.0  # s that run() may take to return after a stop


class Robot(ABC):
    """Anything whose episode is a function of its values."""

    name = ''  # empty: the class's name in small letters
    tunables: tuple[Tunable, ...]
    signals: tuple[Signal, ...]
    commands: tuple[Signal, ...] = ()
    constraints: tuple[str, ...]
    reward = RewardScale()
    real = False  # it moves by itself, so a person has to arm it
    safe: Sequence[Sequence[float]] = ()  # vectors known to be safe; empty: the defaults
    period = 0.02  # s between two looks at a running episode

    @abstractmethod
    def run(self, values: Mapping[str, float], seed: int) -> tuple[float, Sequence[float]]:
        """Do one episode; return its reward and a margin per constraint, >= 0 is safe."""

    def halt(self) -> None:  # noqa: B027  a simulation has nothing to switch off
        """Switch the actuators off; called on every stop, from any thread, and if run() fails."""

    def watch(self, time: float, signals: Sequence[float], commands: Sequence[float] = ()) -> bool:
        """Take in a moment of the episode; tell whether it may go on."""
        if len(signals) != len(self.signals) or len(commands) not in (0, len(self.commands)):
            raise RobotError(f'watch() got {len(signals)} signals and {len(commands)} commands; '
                             f'{self.description.name} has {len(self.signals)} and '
                             f'{len(self.commands)}')
        row = Sample(float(time), tuple(map(float, signals)),
                     tuple(map(float, commands)) or (0.0,) * len(self.commands))
        self._rows.append((row.time, *row.signals, *row.commands))
        for signal, value in zip(self.signals, row.signals, strict=True):
            if not math.isfinite(value):
                self._end(Outcome.INVALID_STATE, f'{signal.name} is {value}')
                continue
            self.peaks[signal.name] = max(self.peaks[signal.name], abs(value))
            if signal.limit is not None and abs(value) > signal.limit:
                self._end(Outcome.TRIPPED, f'{signal.name} {value:.4g} {signal.unit} exceeds '
                          f'{signal.limit:.4g} {signal.unit} at {row.time:.3f} s', True)
        self._newest = row
        return self._ending is None

    # What the server of episodes needs; nothing to change below.

    peaks: dict[str, float]
    _thread: threading.Thread | None = None
    _ending: tuple[Outcome, str, bool] | None = None
    _newest: Sample | None = None
    _answer: tuple[float, tuple[float, ...]] | None = None
    _error = ''
    broken = ''  # why run() cannot be tried again: it has a bug
    _rows: list[tuple[float, ...]]

    @property
    def waits(self) -> bool:
        """Tell whether it stands still between ticks."""
        return not self.real

    @property
    def description(self) -> Description:
        """Return what the robot is."""
        return Description(self.name or type(self).__name__.lower(), self.tunables, self.signals,
                           self.commands, self.constraints, self.reward,
                           'real' if self.real else 'simulated')

    def begin(self, values: Mapping[str, float], seed: int, duration: float = 0.0) -> None:
        """Start run() in its thread."""
        if self._thread is not None and self._thread.is_alive():
            raise Refusal('run() of the last episode has not returned yet')
        if self.broken:
            raise Refusal(f'run() has to be mended first: {self.broken}')
        if duration:
            raise Refusal(f'{self.description.name} decides itself how long an episode lasts; '
                          'leave duration at 0')
        complete = self.description.complete(values)
        self.peaks = {signal.name: 0.0 for signal in self.signals}
        self._rows, self._error = [], ''
        self._newest = self._ending = self._answer = None
        self._thread = threading.Thread(target=self._work, args=(complete, seed), daemon=True)
        self._thread.start()

    def _work(self, values: Mapping[str, float], seed: int) -> None:
        try:
            reward, margins = self.run(values, seed)
            self._answer = float(reward), tuple(map(float, margins))
            if len(self._answer[1]) != len(self.constraints) or not all(
                    map(math.isfinite, (self._answer[0], *self._answer[1]))):
                raise TypeError(f'run() returned {self._answer}; give a finite reward and '
                                f'{len(self.constraints)} finite margins')
        except (RobotError, OSError) as error:  # the world's fault: it may be better next time
            self._error = f'{type(error).__name__}: {error}'
        except BaseException as error:  # a bug, sys.exit() too: it need not move to show it again
            self._error = self.broken = f'{type(error).__name__}: {error}'
        if self._error:  # run() had no chance to switch off
            try:
                self.halt()
            except BaseException as error:
                self._error += f'; halt() failed, too: {type(error).__name__}: {error}'

    def _end(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        if self._ending is None:
            self._ending = outcome, reason, limit_violated

    def tick(self) -> Sample:
        """Look at the running episode."""
        if self._thread is None:
            raise Refusal('no episode runs')
        over = not self._thread.is_alive()
        sample = self._newest or self.idle()
        return Sample(sample.time, sample.signals, sample.commands, over)

    def idle(self) -> Sample:
        """Return what was last measured."""
        if self._newest is None:
            return Sample(0.0, (0.0,) * len(self.signals), (0.0,) * len(self.commands))
        return Sample(0.0, self._newest.signals, (0.0,) * len(self.commands))

    def stop(self, outcome: Outcome, reason: str, limit_violated: bool = False) -> None:
        """Have watch() say no, and switch the actuators off."""
        self._end(outcome, reason, limit_violated)
        self.halt()

    def result(self) -> EpisodeResult:
        """Return what the last episode showed."""
        rows = np.array(self._rows).reshape(-1, 1 + len(self.signals) + len(self.commands))
        time = self._rows[-1][0] if self._rows else 0.0
        outcome, reason, violated = self._ending or (
            Outcome.COMPLETED, Outcome.COMPLETED.sentence, False)
        running = self._thread is not None and self._thread.is_alive()
        if self._error or self._answer is None:
            words = self._error or ('run() has not returned' if running else 'nothing ran')
            if self._ending is None or not running:
                outcome, reason, violated = Outcome.INFRASTRUCTURE, words, False
            reward, margins, datum = 0.0, (0.0,) * len(self.constraints), False
        else:
            reward, margins = self._answer
            datum = violated or outcome is Outcome.COMPLETED
            if violated and min(margins) >= 0:  # a limit was passed, whatever run() made of it
                worst = margins.index(min(margins))
                margins = tuple(-BARELY if i == worst else m for i, m in enumerate(margins))
        return EpisodeResult(outcome, reason, datum, reward, self.reward.scaled(reward), margins,
                             (), tuple(self.peaks.values()), time, rows)

    def close(self) -> None:
        """Switch off and give run() a moment to return."""
        self.stop(Outcome.INFRASTRUCTURE, 'shut down')
        deadline = time.monotonic() + PATIENCE
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
