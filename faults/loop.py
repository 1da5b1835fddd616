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

"""Faults in the loop itself, without ROS: limits, the swing-up, a killed driver of the Qube."""
from __future__ import annotations

import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from faults.rows import Row
import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Start
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.plant import Measurement, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.qube import WATCHDOG
from pacsbo_ros.robots.furuta.running import tick

LIMIT = 0.1  # s from the fault to zero volts


def limit_in_the_loop(repeats: int, _: Path) -> Row:
    """Let the pendulum fall; count the samples from the first one beyond a limit to zero volts."""
    row = Row('limit passed in the loop', 'zero volts', SAMPLE_PERIOD)
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        row.repeats += 1
        driver = SimulatedDriver()
        driver.reset(rng)
        episode = Episode(Gains(rng.uniform(-0.5, 0.0), rng.uniform(2.0, 9.0)))
        late = 0
        while not episode.done or driver.voltage_log[-1] != 0.0:
            late += episode.done
            tick(driver, episode)
        row.times.append(late * SAMPLE_PERIOD)
        row.outcomes[episode.result().outcome.name] += 1
        if episode.result().outcome is not Outcome.TRIPPED or late > 1:
            row.complain(f'{episode.result().reason}, zero volts after {late} samples')
        row.recovered += 1
    return row


def swing_up_beyond(repeats: int, _: Path) -> Row:
    """Be too fast, too far or not finite while the pendulum is swung up."""
    row = Row('swing-up too fast, too far, not finite', 'zero volts', SAMPLE_PERIOD)
    rng = np.random.default_rng(0)
    for number in range(repeats):
        row.repeats += 1
        driver = SimulatedDriver(hanging=True)
        driver.reset(rng)
        episode = Episode(Gains(-2.0, 25.0), None, EpisodeSettings(start=Start.SWING_UP))
        for _ in range(int(rng.integers(1, 150))):
            tick(driver, episode)
        theta, alpha, theta_dot, alpha_dot = driver.read()
        sign = rng.choice([-1, 1])
        volts = episode.step((
            Measurement(theta, alpha, sign * rng.uniform(61, 1e4), alpha_dot),
            Measurement(theta, alpha, theta_dot, sign * rng.uniform(61, 1e200)),
            Measurement(sign * rng.uniform(2.01, 100), alpha, theta_dot, alpha_dot),
            Measurement(theta, alpha, theta_dot, math.nan),
            Measurement(sign * math.inf, alpha, theta_dot, alpha_dot))[number % 5])
        result = episode.result()
        row.outcomes[result.outcome.name] += 1
        row.times.append(0.0 if volts == 0.0 else math.inf)
        if volts != 0.0 or not episode.done or result.is_datum:
            row.complain(f'{volts} V, {result.reason}')
        row.recovered += 1
    return row


def qube_killed(repeats: int, folder: Path) -> Row:
    """Kill the process that drives a stand-in of the Qube, whose watchdog is its only rescue."""
    row = Row("qube (stand-in): driver killed, the board's watchdog", 'zero volts', LIMIT)
    for number in range(repeats):
        row.repeats += 1
        log = folder / f'board{number}.txt'
        with subprocess.Popen([sys.executable, '-m', 'faults.qube_board', str(log)]) as board:
            try:
                _await(lambda log=log: log.exists() and ' 3.0' in log.read_text())
                driver = int(log.read_text().split()[0])
                began = time.monotonic()
                os.kill(driver, signal.SIGKILL)
                _await(lambda log=log: log.read_text().endswith(' 0.0\n'))
                row.times.append(float(log.read_text().splitlines()[-1].split()[0]) - began)
                if row.times[-1] > LIMIT:
                    row.complain(f'zero volts after {1e3 * row.times[-1]:.0f} ms; the watchdog '
                                 f'has {1e3 * WATCHDOG:.0f} ms')
                row.recovered += 1
            except TimeoutError as error:
                row.complain(str(error))
            finally:
                board.kill()
    return row


def _await(condition, patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f'the board did not answer within {patience} s')
        time.sleep(0.005)
