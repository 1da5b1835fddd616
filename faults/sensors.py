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
Lie to the loop, without ROS: `python -m faults.sensors` counts what is believed and what is not.

Honest episodes with safe gains on several plants must never be doubted, and no episode whose
sensors were frozen, jumping, wrapped, late, flipped or swapped, or whose motor was off or flipped,
may be told.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
import math
from pathlib import Path

from faults.rows import Row
import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup
from pacsbo_ros.robots.furuta.driver import SimulatedDriver, STATE_TIMEOUT
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Start
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.judging import EpisodeResult
from pacsbo_ros.robots.furuta.plant import Measurement, NO_STATE, Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import PRESETS
from pacsbo_ros.robots.furuta.running import tick
from pacsbo_ros.robots.furuta.swing_up import SwingUp
from pacsbo_ros.safety.freshness import Freshness, LATE

GOOD = Gains(-2.0, 25.0)
SAFE = ((-2.8, -1.5), (25.0, 33.0))  # V/rad, k_theta and k_alpha that keep every preset up


class Liar:
    """A pendulum between whose sensors and whose controller somebody stands."""

    def __init__(self, plant: Plant, spoil: Spoil, seed: int = 0, hanging: bool = False) -> None:
        """Set the pendulum up; spoil gets this and the true measurement, and returns another."""
        self.driver = SimulatedDriver(plant, hanging=hanging)
        self.driver.reset(np.random.default_rng(seed))
        self.spoil, self.samples = spoil, 0
        self.kept = NO_STATE  # what a lie has kept from before
        self.lied = False  # something else than the truth was told
        self.push = self.driver.push
        self.motor = 1.0  # what the voltage is multiplied by on its way to the motor
        self._channel = Freshness(LATE)
        self._under_way: list[tuple[float, float, Measurement]] = []  # due, stamp, state

    def read(self) -> Measurement:
        """Return what the controller is made to believe."""
        self.samples += 1
        truth = self.driver.read()
        told = self.spoil(self, truth)
        self.lied |= told != truth
        return told

    def write(self, volts: float) -> None:
        """Pass a voltage on, or what is left of it."""
        self.driver.write(self.motor * volts)

    def late(self, state: Measurement, delay: float) -> Measurement:
        """Send a state by a channel with so much delay [s]; return what the other end has."""
        now = self.samples * SAMPLE_PERIOD
        self._under_way.append((now + delay, now, state))
        while self._under_way and self._under_way[0][0] <= now + 1e-9:
            due, stamp, arrived = self._under_way.pop(0)
            if self._channel.accept(due, stamp, stamp):
                self.kept = arrived
        return self.kept if self._channel.age(now) <= STATE_TIMEOUT else NO_STATE


Spoil = Callable[[Liar, Measurement], Measurement]


def honest(_: Liar, state: Measurement) -> Measurement:
    """Tell the truth."""
    return state


def frozen(joints: tuple[int, ...], since: int) -> Spoil:
    """Keep some joints as they were, with fresh stamps."""
    def spoil(liar: Liar, state: Measurement) -> Measurement:
        if liar.samples <= since:
            liar.kept = state
        kept = liar.kept
        return Measurement(*((kept if i % 2 in joints else state)[i] for i in range(4)))
    return spoil


def turned(theta: int, alpha: int) -> Spoil:
    """Wire sensors with another sign."""
    return lambda _, s: Measurement(theta * s.theta, alpha * s.alpha, theta * s.theta_dot,
                                    alpha * s.alpha_dot)


def shifted(index: int, by: float, since: int) -> Spoil:
    """Add something from some sample on."""
    def spoil(liar: Liar, state: Measurement) -> Measurement:
        return state._replace(**{Measurement._fields[index]: state[index] + by}
                              if liar.samples >= since else {})
    return spoil


def swapped(since: int) -> Spoil:
    """Take each encoder for the other, from some sample on."""
    return lambda liar, s: (Measurement(s.alpha, s.theta, s.alpha_dot, s.theta_dot)
                            if liar.samples >= since else s)


def late(by: float, since: int) -> Spoil:
    """Let every state come late from some sample on, with its true stamp."""
    return lambda liar, s: liar.late(s, by if liar.samples >= since else 0.0)


def motor(factor: float, since: int) -> Spoil:
    """Tell the truth of a motor that gets another voltage from some sample on."""
    def spoil(liar: Liar, state: Measurement) -> Measurement:
        if liar.samples >= since:
            liar.motor, liar.lied = factor, True
        return state
    return spoil


LIES: dict[str, Callable[[np.random.Generator], Spoil]] = {
    'frozen': lambda rng: frozen((0, 1), rng.integers(1, 400)),
    'frozen pendulum': lambda rng: frozen((1,), rng.integers(1, 400)),
    'frozen arm': lambda rng: frozen((0,), rng.integers(1, 400)),
    'jumping': lambda rng: shifted(rng.integers(2), rng.choice([-1, 1]) * rng.uniform(0.3, 3.0),
                                   rng.integers(100, 700)),
    'wrapped': lambda rng: shifted(0, rng.choice([-2, 2]) * math.pi, rng.integers(100, 700)),
    'late': lambda rng: late(rng.uniform(0.03, 3.0), rng.integers(1, 700)),
    'flipped pendulum': lambda rng: turned(1, -1),
    'flipped arm': lambda rng: turned(-1, 1),
    'flipped motor': lambda rng: motor(-1.0, rng.choice([1, rng.integers(1, 700)])),
    'motor off': lambda rng: motor(0.0, rng.choice([1, rng.integers(1, 700)])),
    'swapped': lambda rng: swapped(rng.choice([1, rng.integers(1, 700)])),
    'no speeds': lambda rng: lambda _, s: s._replace(theta_dot=0.0, alpha_dot=0.0),
    'flipped speeds': lambda rng: lambda _, s: s._replace(theta_dot=-s.theta_dot,
                                                          alpha_dot=-s.alpha_dot),
}


def run(plant: Plant, spoil: Spoil = honest, gains: Gains = GOOD, seed: int = 0,
        settings: EpisodeSettings | None = None) -> EpisodeResult:
    """Run an episode with sensors that lie."""
    return _run(plant, spoil, gains, seed, settings or EpisodeSettings(check_sensors=True))[0]


def _run(plant: Plant, spoil: Spoil, gains: Gains, seed: int,
         settings: EpisodeSettings) -> tuple[EpisodeResult, bool]:
    """Run an episode; tell also whether there was a lie before its end."""
    liar = Liar(plant, spoil, seed, settings.start is not Start.UPRIGHT)
    episode = Episode(gains, None, settings, seed)
    while not episode.done:
        tick(liar, episode)
    return episode.result(), liar.lied


def episodes(count: int, seed: int) -> Iterator[tuple[np.random.Generator, str, Gains,
                                                      EpisodeSettings]]:
    """Yield safe gains, a plant in turn, and settings as the controller has them."""
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        name = list(PRESETS)[number % len(PRESETS)]
        model = PRESETS[name].parameters
        yield rng, name, Gains(*(rng.uniform(*r) for r in SAFE)), EpisodeSettings(
            check_sensors=True, swing_up=SwingUp(parameters=model),
            backup=Backup(parameters=model) if number % 2 else None)


def false_alarms(repeats: int, _: Path, seed: int = 1) -> Row:
    """Run honest episodes; complain of every one whose sensors were doubted."""
    row = Row('honest sensors', 'no doubt')
    for rng, name, gains, settings in episodes(repeats, seed):
        row.repeats += 1
        result = run(PRESETS[name], gains=gains, seed=int(rng.integers(2 ** 31)),
                     settings=settings)
        row.outcomes[result.outcome.name] += 1
        if result.outcome is Outcome.INVALID_STATE:
            row.complain(f'{name} with {gains}: {result.reason}')
        row.recovered += 1
    return row


def lies_told(repeats: int, _: Path, seed: int = 2) -> Row:
    """Lie in turn in every way; complain of every episode that would be told as data."""
    row = Row('sensors that lie', 'never told')
    for rng, name, gains, settings in episodes(repeats, seed):
        lie = list(LIES)[row.repeats // len(PRESETS) % len(LIES)]
        row.repeats += 1
        result, lied = _run(PRESETS[name], LIES[lie](rng), gains, int(rng.integers(2 ** 31)),
                            settings)
        row.outcomes[result.outcome.name if lied else 'over before the lie'] += 1
        if result.is_datum and lied:
            row.complain(f'{lie} on {name} with {gains}: told as {result.reason}')
        row.recovered += 1
    return row


def main() -> int:
    """Print both counts; exit with 1 if one is not zero."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--honest', type=int, default=1000, help='episodes with honest sensors')
    parser.add_argument('--lies', type=int, default=273, help='episodes with sensors that lie')
    arguments = parser.parse_args()
    rows = (false_alarms(arguments.honest, Path()), lies_told(arguments.lies, Path()))
    for row in rows:
        print(f'{row.name}: {row.repeats} episodes, {dict(row.outcomes)}; '
              f'{len(row.complaints)} that must not be', *row.complaints, sep='\n    ')
    return int(any(row.complaints for row in rows))


if __name__ == '__main__':
    raise SystemExit(main())
