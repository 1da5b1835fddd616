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

"""A chirp is recorded within limits, and whatever is wrong ends it with zero volts."""
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.furuta.chirp import Chirp, ChirpRecorder
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.plant import NO_STATE
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.recordings import read_recordings
import pytest

SHORT = Chirp(duration=3.0)


def record(chirp=SHORT, plant=CALIBRATED, spoil=lambda now, recorder: now,
           clock=lambda tick, recorder: 0.005 * tick, sign=1.0):
    """Run a recorder on a simulated pendulum; return it and all voltages."""
    driver = SimulatedDriver(plant, hanging=True)
    recorder = ChirpRecorder(chirp, CALIBRATED.parameters)
    sent = []
    for tick in range(20_000):
        if recorder.over:
            break
        sent.append(recorder.step(spoil(driver.read(), recorder), clock(tick, recorder)))
        driver.write(sign * sent[-1])
    return recorder, sent


@pytest.mark.parametrize('name', PRESETS)
def test_a_chirp_of_every_preset_stays_within_limits_and_can_be_read(name, tmp_path):
    recorder, sent = record(Chirp(), PRESETS[name])
    assert recorder.problem == ''
    assert sent[-1] == 0.0
    assert max(map(abs, sent)) <= 1.6
    recorder.write(tmp_path / 'mine.csv')
    (recording,) = read_recordings(tmp_path / 'mine.csv')
    assert recording.duration == pytest.approx(15.0, abs=0.01)
    assert np.ptp(recording.theta) > 0.2
    assert np.ptp(recording.alpha) > 0.5


def test_an_arm_that_goes_too_far_ends_it():
    recorder, sent = record(replace(SHORT, arm_limit=0.03))
    assert 'the arm moved by' in recorder.problem
    assert sent[-1] == 0.0
    assert max(abs(row[2] - recorder.rows[0][2]) for row in recorder.rows) <= 0.03


def test_a_pendulum_that_swings_too_far_ends_it():
    recorder, sent = record(replace(SHORT, swing_limit=0.2))
    assert 'the pendulum swung' in recorder.problem
    assert sent[-1] == 0.0


def test_a_silent_sensor_ends_it():
    recorder, sent = record(spoil=lambda now, recorder: NO_STATE if len(recorder.rows) > 50
                            else now)
    assert 'no fresh state' in recorder.problem
    assert sent[-1] == 0.0
    assert len(recorder.rows) == 51


def test_a_frozen_sensor_ends_it():
    frozen = []

    def freeze(now, recorder):
        if len(recorder.rows) > 150:
            frozen.append(now.alpha)
            return now._replace(alpha=frozen[0], alpha_dot=0.0)
        return now

    recorder, sent = record(spoil=freeze)
    assert 'alpha' in recorder.problem
    assert sent[-1] == 0.0
    assert not recorder.done


def test_a_late_sample_ends_it():
    recorder, sent = record(clock=lambda tick, recorder: 0.005 * tick
                            + 0.1 * (len(recorder.rows) > 50))
    assert 'ms after the one before' in recorder.problem
    assert sent[-1] == 0.0


def test_a_flipped_motor_is_found_before_the_chirp_begins():
    recorder, sent = record(sign=-1.0)
    assert 'the wrong way' in recorder.problem
    assert recorder.rows == []
    assert sent[-1] == 0.0


def test_a_pendulum_that_never_hangs_still_gets_no_volts():
    recorder, sent = record(spoil=lambda now, recorder: now._replace(alpha_dot=1.0))
    assert 'did not hang still' in recorder.problem
    assert set(sent) == {0.0}


def test_a_wrapped_angle_is_unwrapped_and_no_file_is_overwritten(tmp_path):
    recorder, _ = record(Chirp(duration=4.0), spoil=lambda now, recorder: now._replace(
        alpha=math.remainder(now.alpha, 2 * math.pi)))
    assert recorder.problem == ''
    assert min(row[3] for row in recorder.rows) < 0 < max(row[3] for row in recorder.rows)
    recorder.write(tmp_path / 'mine.csv')
    (recording,) = read_recordings(tmp_path / 'mine.csv')
    assert abs(recording.alpha - math.pi).max() < 2.5
    with pytest.raises(FileExistsError):
        recorder.write(tmp_path / 'mine.csv')


@pytest.mark.parametrize(('change', 'said'), [
    ({'amplitude': 5.0}, '3 V is the most'), ({'duration': 0.0}, 'duration is 0'),
    ({'arm_limit': math.nan}, 'arm_limit is nan')])
def test_a_chirp_that_makes_no_sense_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        Chirp(**change)
