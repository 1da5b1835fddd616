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

"""Sensors that lie end an episode as such; a pendulum that falls or is pushed does not."""
from dataclasses import replace
import math
from pathlib import Path

from faults.sensors import (
    false_alarms,
    frozen,
    late,
    lies_told,
    motor,
    run,
    shifted,
    swapped,
    turned,
)
import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Start
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.plant import Measurement
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.swing_up import SwingUp
import pytest

GOOD = Gains(-2.0, 25.0)
CHECKED = EpisodeSettings(check_sensors=True)


LIES = {
    'frozen': (frozen((0, 1), 300), ''), 'frozen at once': (frozen((0, 1), 1), ''),
    'frozen pendulum': (frozen((1,), 300), 'alpha'),
    'frozen arm': (frozen((0,), 300), 'theta'),
    'flipped pendulum': (turned(1, -1), 'wrong way'), 'flipped arm': (turned(-1, 1), 'wrong way'),
    'flipped motor': (turned(-1, -1), 'wrong way'),
    'a counter that wraps': (shifted(0, 2 * math.pi, 300), 'jumped'),
    'lost counts': (shifted(1, 0.3, 300), 'contradict'),
    'a motor that is off': (motor(0.0, 300), ''), 'a motor turned round': (motor(-1.0, 300), ''),
    'swapped': (swapped(1), ''), 'swapped under way': (swapped(300), ''),
    'no speeds': (lambda _, s: s._replace(theta_dot=0.0, alpha_dot=0.0), 'contradict'),
    'flipped speeds': (lambda _, s: s._replace(theta_dot=-s.theta_dot, alpha_dot=-s.alpha_dot),
                       ''),
}


@pytest.mark.parametrize('preset', PRESETS)
@pytest.mark.parametrize('lie', LIES)
def test_a_lie_ends_the_episode_and_is_never_a_datum(preset, lie):
    spoil, words = LIES[lie]
    for seed in range(3):
        result = run(PRESETS[preset], spoil, seed=seed)
        assert result.outcome is Outcome.INVALID_STATE
        assert not result.is_datum
        assert words in result.reason
        assert 'sensors cannot be right' in result.reason


@pytest.mark.parametrize('delay', [0.03, 0.1, 0.5, 3.0])
def test_states_that_come_late_are_no_states(delay):
    result = run(CALIBRATED, late(delay, 300))
    assert result.outcome is Outcome.INVALID_STATE
    assert 'not finite' in result.reason
    assert result.duration < 1.5 + 0.07


def test_honest_sensors_are_believed_and_no_lie_is_told():
    assert not false_alarms(30, Path(), seed=11).complaints
    assert not lies_told(39, Path(), seed=12).complaints


def test_without_the_check_frozen_sensors_would_be_the_best_of_all_gains():
    result = run(CALIBRATED, frozen((0, 1), 150), settings=EpisodeSettings(push=None))
    assert result.outcome is Outcome.COMPLETED
    assert result.reward > 0.9


@pytest.mark.parametrize('preset', PRESETS)
def test_no_honest_episode_is_doubted_whatever_its_gains_and_the_model(preset):
    rng = np.random.default_rng(1)
    outcomes = set()
    for number in range(12):
        gains = Gains(rng.uniform(-6, 0), rng.uniform(10, 50))
        model = list(PRESETS.values())[number % 3].parameters
        settings = replace(CHECKED, swing_up=SwingUp(parameters=model))
        result = run(PRESETS[preset], gains=gains, seed=number, settings=settings)
        assert result.outcome is not Outcome.INVALID_STATE, (gains, result.reason)
        outcomes.add(result.outcome)
    assert Outcome.COMPLETED in outcomes


@pytest.mark.parametrize('preset', ['calibrated', 'qube3'])
def test_no_honest_swing_up_is_doubted(preset):
    settings = replace(CHECKED, start=Start.SWING_UP, swing_up=SwingUp(
        parameters=PRESETS[preset].parameters))
    for seed in range(3):
        assert run(PRESETS[preset], seed=seed, settings=settings).outcome is Outcome.COMPLETED


def swinging(**changes):
    return Episode(GOOD, None, replace(EpisodeSettings(start=Start.SWING_UP), **changes))


@pytest.mark.parametrize('state', [(0.0, 3.1, 70.0, 0.0), (0.0, 3.1, 0.0, -70.0),
                                   (0.0, 0.1, 0.0, 1e200), (2.05, 3.1, 0.0, 0.0)])
def test_a_swing_up_that_is_too_fast_or_too_far_ends_with_zero_volts(state):
    episode = swinging()
    assert episode.step(Measurement(*state)) == 0.0
    assert episode.result().outcome is Outcome.START_FAILED


def test_a_voltage_that_is_no_number_is_zero_volts_in_every_phase(monkeypatch):
    monkeypatch.setattr(SwingUp, 'volts', lambda *_: math.nan)
    episode = swinging()
    assert episode.step(Measurement(0.0, 3.1, 0.0, 0.0)) == 0.0
    assert episode.result().outcome is Outcome.INVALID_COMMAND
    assert not episode.result().is_datum
