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
A stand-in of the Qube: a board with a watchdog here, and its driver in another process.

The log begins with the number of that process; every change of the voltage follows, with its time
on the steady clock. The board knows of the driver only what its SDK is told.
"""
import multiprocessing
from pathlib import Path
import sys
import time
from types import SimpleNamespace

from pacsbo_ros.robots.furuta.plant import SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.qube import QubeDriver

VOLTS = -3.0  # that the driver sends; the Qube turns their sign


def drive(calls, board_end) -> None:
    """Drive as long as there is a board, by the real driver and an SDK that passes calls on."""
    board_end.close()  # ours, or a dead board would not be noticed

    def passes(name):
        return lambda *words: calls.send((name, *words[:1]))
    board = SimpleNamespace(
        read_outputs=lambda: None, write_led=lambda _: None, terminate=lambda: None,
        motorPosition=0.0, pendulumPosition=0.0, amplifierFault=0, motorStallError=0,
        write_voltage=passes('volts'), card=SimpleNamespace(**{
            f'watchdog_{word}': passes(word) for word in (
                'start', 'reload', 'stop', 'clear', 'set_analog_expiration_state')}))
    driver = QubeDriver(sdk=SimpleNamespace(QubeServo2=lambda **_: board))
    while True:
        driver.read()
        driver.write(VOLTS)
        time.sleep(SAMPLE_PERIOD)


def main(log: Path) -> None:
    """Be the board: obey the driver, and the watchdog where the driver is silent."""
    here, there = multiprocessing.Pipe(duplex=False)
    driver = multiprocessing.Process(target=drive, args=(there, here), daemon=True)
    driver.start()
    volts, timeout, fed = 0.0, None, 0.0
    log.write_text(f'{driver.pid}\n')

    def apply(new: float) -> float:
        if new != volts:
            with log.open('a') as file:
                file.write(f'{time.monotonic()} {new}\n')
        return new

    while True:
        left = None if timeout is None else fed + timeout - time.monotonic()
        if here.poll(1.0 if left is None else max(left, 0.0)):
            name, *words = here.recv()
            if name == 'volts':
                volts = apply(float(words[0]))
            elif name in ('start', 'reload'):
                timeout, fed = words[0] if name == 'start' else timeout, time.monotonic()
            elif name in ('stop', 'clear'):
                timeout = None
        elif left is not None:
            volts, timeout = apply(0.0), None


if __name__ == '__main__':
    main(Path(sys.argv[1]))
