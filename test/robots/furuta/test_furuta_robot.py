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

"""The pendulum as a robot: what it makes of sensors that lie or say nothing finite."""
import math

from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings
from pacsbo_ros.robots.furuta.plant import Measurement
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.robot import Furuta
import pytest

CHECKED = EpisodeSettings(check_sensors=True)
GOOD = {'k_theta': -2.57, 'k_alpha': 23.0}


class Lying(SimulatedDriver):
    """Say something else from the hundredth reading on."""

    def __init__(self, lie) -> None:
        super().__init__(CALIBRATED)
        self.readings, self.lie, self.frozen = 0, lie, None

    def read(self):
        """Give the state, or the lie."""
        self.readings += 1
        if self.readings < 100:
            self.frozen = super().read()
        return self.lie(self, super().read())


def frozen(driver, state):
    return driver.frozen if driver.readings >= 100 else state


def infinite(driver, state):
    return Measurement(0.0, math.inf, 0.0, 0.0) if driver.readings >= 100 else state


def result_of(robot):
    robot.begin(GOOD, 3)
    while not robot.tick().over:
        pass
    return robot.result()


@pytest.mark.parametrize('lie', [frozen, infinite])
def test_a_state_that_nobody_knows_wants_a_person(lie):
    result = result_of(Furuta(Lying(lie), settings=CHECKED))
    assert (result.outcome, result.is_datum) == (Outcome.INVALID_STATE, False)
    assert result.wants_person


def test_an_episode_with_honest_sensors_wants_nobody():
    result = result_of(Furuta(SimulatedDriver(CALIBRATED), settings=CHECKED))
    assert result.outcome is Outcome.COMPLETED
    assert not result.wants_person
