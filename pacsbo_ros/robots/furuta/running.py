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

"""Let an episode run on a driver, sample by sample."""
from __future__ import annotations

import numpy as np
from pacsbo_ros.robots.furuta.driver import Driver, SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.judging import EpisodeResult
from pacsbo_ros.robots.furuta.plant import Measurement, Plant


def tick(driver: Driver, episode: Episode) -> Measurement:
    """Do one sample: read, decide, push if it is due, write; return what was read."""
    measurement = driver.read()
    decide(driver, episode, measurement)
    return measurement


def decide(driver: Driver, episode: Episode, measurement: Measurement) -> None:
    """Do what follows from a measurement: push if that is due, and write."""
    volts = episode.step(measurement)
    if episode.push_due:
        driver.push(episode.push_due)
    driver.write(volts)


def run_episode(driver: Driver, gains: Gains, limits: Limits | None = None,
                settings: EpisodeSettings | None = None, seed: int = 0) -> EpisodeResult:
    """
    Run one episode as fast as the driver answers, with zero volts at its end.

    If anything raises, the driver is closed: it may not be fit to take another command.
    """
    episode = Episode(gains, limits, settings, seed)
    if isinstance(driver, SimulatedDriver):
        check_delay(driver.plant, episode.settings)
    try:
        driver.reset(np.random.default_rng(seed))
        while not episode.done:
            tick(driver, episode)
    except BaseException:
        driver.close()
        raise
    return episode.result()


def check_delay(plant: Plant, settings: EpisodeSettings) -> None:
    """Refuse a plant on which no command would arrive before the episode ends."""
    if plant.delay >= settings.samples:
        raise ValueError(f'delay of {plant.delay} samples is not shorter than the episode of '
                         f'{settings.samples} samples; shorten it')
