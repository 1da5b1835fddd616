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

"""The recorder as a process: a file on a simulated pendulum, zero volts on every way out."""
import signal

from faults.graph import wait_for
from pacsbo_ros.robots.furuta.recordings import read_recordings
import pytest


def test_a_recording_of_the_simulated_pendulum_can_be_identified(alone, tmp_path):
    recorder = alone.start('record_chirp', duration=3.0, output='mine.csv')
    assert recorder.wait() == 0, recorder.output
    (recording,) = read_recordings(tmp_path / 'mine.csv')
    assert recording.duration == pytest.approx(3.0, abs=0.01)
    again = alone.start('record_chirp', duration=3.0, output='mine.csv')
    assert again.wait() == 2
    assert 'mine.csv: exists; nothing is overwritten' in again.output


def test_nothing_real_moves_before_a_person_says_that_it_hangs(alone):
    recorder = alone.start('record_chirp', plant='topics', output='mine.csv')
    assert recorder.wait() == 2
    assert 'add -p arm:=true' in recorder.output


def motor(log):
    """Return the voltages that the motor got, in the order of their change."""
    return [float(line.split(',')[1]) for line in log.read_text().splitlines()]


def test_a_recorder_that_is_ended_leaves_zero_volts(graph, tmp_path):
    log = tmp_path / 'motor.csv'
    graph.start('simulated_plant', hanging=True, log=str(log))
    recorder = graph.start('record_chirp', plant='topics', arm=True, output='mine.csv')
    wait_for(lambda: log.exists() and any(motor(log)), 'a voltage')
    recorder.signal(signal.SIGTERM)
    assert recorder.wait() == 1
    assert 'nothing written: ended before' in recorder.output
    wait_for(lambda: motor(log)[-1] == 0.0, 'zero volts')
    assert not (tmp_path / 'mine.csv').exists()


def test_a_recorder_without_a_pendulum_says_so(alone):
    recorder = alone.start('record_chirp', plant='topics', arm=True, output='mine.csv')
    assert recorder.wait() == 1
    assert 'no fresh state' in recorder.output
