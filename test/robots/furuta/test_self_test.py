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

"""The self-test passes on every preset and on nothing that is wired wrongly."""
from dataclasses import replace

import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Start
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.phases import Phase
from pacsbo_ros.robots.furuta.plant import Measurement
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.running import tick
from pacsbo_ros.robots.furuta.self_test import Question, SelfTest
import pytest


def ask(plant, spoil=lambda s: s, motor=1.0, model=CALIBRATED, seed=0):
    driver = SimulatedDriver(plant, hanging=True)
    driver.reset(np.random.default_rng(seed))
    test = SelfTest(model.parameters)
    volts = []
    while not (test.done or test.problem):
        volts.append(test.step(spoil(driver.read())))
        driver.write(motor * volts[-1])
    assert test.step(spoil(driver.read())) == 0.0
    return test, volts


@pytest.mark.parametrize('model', PRESETS)
@pytest.mark.parametrize('preset', PRESETS)
def test_a_sound_pendulum_passes_with_little_voltage(preset, model):
    for seed in range(5):
        test, volts = ask(PRESETS[preset], model=PRESETS[model], seed=seed)
        assert test.problem == ''
        assert max(map(abs, volts)) == Question().volts
        assert sum(volts) == pytest.approx(0.0)


WRONG = {
    'flipped motor': ({'motor': -1.0}, ''),
    'no motor': ({'motor': 0.0}, ''),
    'flipped arm': ({'spoil': lambda s: s._replace(theta=-s.theta, theta_dot=-s.theta_dot)}, ''),
    'flipped pendulum': ({'spoil': lambda s: s._replace(alpha=-s.alpha, alpha_dot=-s.alpha_dot)},
                         ''),
    'swapped': ({'spoil': lambda s: Measurement(s.alpha - np.pi, s.theta + np.pi, s.alpha_dot,
                                                s.theta_dot)}, ''),
    'dead arm': ({'spoil': lambda s: s._replace(theta=0.0, theta_dot=0.0)}, ''),
    'dead pendulum': ({'spoil': lambda s: s._replace(alpha=np.pi, alpha_dot=0.0)}, ''),
    'upright': ({'spoil': lambda s: s._replace(alpha=s.alpha - np.pi)}, 'hang'),
}


@pytest.mark.parametrize('preset', PRESETS)
@pytest.mark.parametrize('wrong', WRONG)
def test_what_is_wired_wrongly_is_refused_with_a_reason(preset, wrong):
    options, words = WRONG[wrong]
    for seed in range(3):
        test, _ = ask(PRESETS[preset], seed=seed, **options)
        assert test.problem
        assert words in test.problem
        assert not test.done


def test_an_episode_asks_first_and_begins_only_after_the_right_answer():
    settings = EpisodeSettings(duration=0.5, push=None, start=Start.SWING_UP, self_test=True)
    for flipped, outcome in ((False, Outcome.COMPLETED), (True, Outcome.START_FAILED)):
        driver = SimulatedDriver(CALIBRATED, hanging=True)
        driver.reset(np.random.default_rng(0))
        episode = Episode(PAPER_GAINS, None, replace(settings, start_timeout=60.0))
        assert episode.phase is Phase.TESTING
        if flipped:
            write = driver.write
            driver.write = lambda volts, write=write: write(-volts)
        while not episode.done:
            tick(driver, episode)
        assert episode.result().outcome is outcome, episode.result().reason
        assert ('self-test' in episode.result().reason) is flipped
        assert episode.passed_self_test is not flipped
