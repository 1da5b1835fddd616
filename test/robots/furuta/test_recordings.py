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

"""Recordings are checked before anyone believes them, and predicted as an exact solver would."""
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.furuta.dynamics import accelerations
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.prediction import Candidate, cut, persistence, predict, rmse
from pacsbo_ros.robots.furuta.presets import CALIBRATED, IDEAL
from pacsbo_ros.robots.furuta.recordings import (
    HELD_OUT,
    PACKAGED,
    packaged,
    read_recordings,
    Recording,
    RecordingError,
)
import pytest
from scipy.integrate import solve_ivp

HEADER = 't,volts,theta,alpha'


def rows(samples=600, period=0.005):
    t = period * np.arange(samples)
    return np.stack([t, np.sin(9 * t), 0.3 * np.sin(9 * t), math.pi + 0.5 * np.sin(8 * t)], 1)


def write(path, table, header=HEADER):
    np.savetxt(path, table, delimiter=',', header=header, comments='', fmt='%.6g')
    return path


def test_a_good_file_is_read_as_it_is(tmp_path):
    (recording,) = read_recordings(write(tmp_path / 'mine.csv', rows()))
    assert recording.name == 'mine'
    assert recording.period == pytest.approx(0.005)
    assert np.stack([recording.t, recording.volts, recording.theta, recording.alpha],
                    1) == pytest.approx(rows(), abs=1e-4)


def change(column, how):
    def changed(table):
        table[:, column] = how(table[:, column])
        return table
    return changed


FAULTS = {
    'degrees': (lambda x: np.c_[x[:, :2], np.degrees(x[:, 2:])], 'degrees'),
    'theta in degrees': (change(2, np.degrees), 'degrees'),
    'millivolts': (change(1, lambda v: 1000 * v), 'millivolts'),
    'no motion': (change(2, lambda v: 0 * v), 'theta moves by'),
    'no voltage': (change(1, lambda v: 0 * v), 'changing voltage'),
    'wrapped': (change(3, lambda v: np.where(v > math.pi, v - 2 * math.pi, v)), 'unwrap'),
    'reversed time': (change(0, lambda t: t[::-1]), 'order the samples'),
    'time in milliseconds': (change(0, lambda t: 1000 * t), 't is in seconds'),
    'zero hanging': (change(3, lambda v: v - math.pi), 'zero is upright'),
    'not a number': (change(2, lambda v: np.where(np.arange(len(v)) == 7, np.nan, v)),
                     'theta is not a finite number in sample 8'),
    'a gap': (lambda x: np.delete(x, slice(50, 60), axis=0), 'samples are missing'),
    'too short': (lambda x: x[:100], 'record 10 s'),
    'another zero of the arm': (change(2, lambda v: v + 5), 'subtract 5 from theta'),
    'theta and alpha swapped': (lambda x: x[:, [0, 1, 3, 2]], 'theta and alpha look swapped'),
    'volts and alpha swapped': (lambda x: x[:, [0, 3, 2, 1]], 'volts and alpha look swapped'),
    'turning over': (change(3, lambda v: v + np.linspace(0, 60, len(v))), 'lower voltage'),
    'empty': (lambda x: x[:0], 'it lasts 0 s'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_faulty_recording_is_refused_in_one_line(fault, tmp_path):
    spoil, said = FAULTS[fault]
    path = write(tmp_path / 'mine.csv', spoil(rows()))
    with pytest.raises(RecordingError, match=said) as caught:
        read_recordings(path)
    assert '\n' not in str(caught.value)
    assert 'mine' in str(caught.value)


@pytest.mark.parametrize(('content', 'said'), [
    ('a,b\n1,2\n', 'no column t, volts, theta, alpha'),
    (f'{HEADER}\n1,2,x,4\n', 'line 2 holds something that is no number'),
    (f'{HEADER}\n1,2,3\n', 'line 2 has 3 cells'),
    ('', 'no column'),
    (f'{HEADER},alpha\n1,2,3,4,5\n', 'the column alpha is there twice'),
])
def test_a_file_that_is_no_table_is_refused_in_one_line(content, said, tmp_path):
    path = tmp_path / 'mine.csv'
    path.write_text(content)
    with pytest.raises(RecordingError, match=said) as caught:
        read_recordings(path)
    assert '\n' not in str(caught.value)


def test_a_mark_of_its_encoding_is_no_part_of_the_first_column(tmp_path):
    path = write(tmp_path / 'mine.csv', rows())
    path.write_bytes(b'\xef\xbb\xbf' + path.read_bytes())
    assert read_recordings(path)[0].duration == pytest.approx(2.995)


@pytest.mark.parametrize('late', [0.0005, 0.0035])
def test_samples_that_jitter_are_put_on_an_even_grid(late, tmp_path):
    # As record_chirp makes them: now and then a sample is late or left out, and t says so.
    t = rows()[:, 0] + late * (np.arange(600) % 7 == 3)
    t = np.delete(t, np.arange(50, 600, 90))
    table = np.stack([t, np.sin(9 * t), 0.3 * np.sin(9 * t), math.pi + 0.5 * np.sin(8 * t)], 1)
    (recording,) = read_recordings(write(tmp_path / 'mine.csv', table))
    assert np.diff(recording.t) == pytest.approx(0.005, rel=0.01)
    assert recording.theta == pytest.approx(0.3 * np.sin(9 * recording.t), abs=2e-3)
    assert recording.alpha == pytest.approx(math.pi + 0.5 * np.sin(8 * recording.t), abs=2e-3)
    assert recording.volts == pytest.approx(np.sin(9 * recording.t), abs=0.15)


def test_two_rates_in_one_recording_count_as_their_times_say(tmp_path):
    t = np.cumsum(np.where(np.arange(800) < 400, 0.005, 0.007))
    table = np.stack([t, np.sin(9 * t), 0.3 * np.sin(9 * t), math.pi + 0.5 * np.sin(8 * t)], 1)
    (recording,) = read_recordings(write(tmp_path / 'mine.csv', table))
    assert recording.theta == pytest.approx(0.3 * np.sin(9 * recording.t), abs=2e-3)


def test_the_voltage_of_a_recording_that_jitters_is_neither_late_nor_early(tmp_path):
    # A voltage that was held until the next sample of the grid came half a period late.
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.003, 0.008, 1000))
    volts = np.sin(9 * t)
    table = np.stack([t, volts, 0.3 * np.sin(9 * t), math.pi + 0.5 * np.sin(8 * t)], 1)
    (recording,) = read_recordings(write(tmp_path / 'mine.csv', table))
    charge = np.concatenate([[0.0], np.cumsum(volts[:-1] * np.diff(t))])
    mine = recording.period * np.concatenate([[0.0], np.cumsum(recording.volts[:-1])])
    assert mine == pytest.approx(np.interp(recording.t, t, charge), abs=1e-4)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RecordingError, match=r'nowhere\.csv: cannot be read: No such file'):
        read_recordings(tmp_path / 'nowhere.csv')


def test_the_packaged_recordings_are_whole_and_split_by_recording():
    for kind, count, seconds in (('chirps', 5, 10.0), ('swing_ups', 15, 5.0)):
        fitted, held_out = packaged(kind, held_out=False), packaged(kind, held_out=True)
        assert len(fitted) + len(held_out) == count
        assert [r.name for r in held_out] == [f'{PACKAGED[kind][:-4]} {i}' for i in HELD_OUT[kind]]
        assert not {r.name for r in fitted} & {r.name for r in held_out}
        assert all(r.duration >= seconds - 0.01 and r.period == pytest.approx(0.004)
                   for r in (*fitted, *held_out))


def simulated(parameters, delay, seconds=4.0, period=0.005):
    """Record a chirp on an exact plant with an independent solver."""
    t = period * np.arange(round(seconds / period) + 1)
    volts = 1.5 * np.sin(2 * math.pi * (1 + 0.8 * t) * t)
    c = parameters.coefficients

    def rates(time, x):
        held = volts[np.clip(math.floor((time - delay) / period + 1e-9), 0, len(volts) - 1)]
        return [x[2], x[3], *accelerations(x[0], math.sin(x[1]), math.cos(x[1]), x[2], x[3],
                                           held if time >= delay else 0.0, c)]

    states = solve_ivp(rates, (0, t[-1]), [0, math.pi, 0, 0], 'RK45', t, rtol=1e-8, atol=1e-9,
                       max_step=period / 2).y
    return Recording('simulated', t, volts, states[0], states[1])


def test_the_true_pendulum_predicts_its_own_recording_and_a_wrong_one_does_not():
    true = replace(IDEAL.parameters, cable_stiffness=1e-3, cable_rest=0.2)
    windows = cut([simulated(true, 0.0075)], 1.0, 0.5)
    right = rmse(windows, Candidate(true, 0.0075))
    late = rmse(windows, Candidate(true, 0.0175))
    wrong = rmse(windows, Candidate(replace(true, pendulum_length=0.14), 0.0075))
    # What is left is the smoother's error at the start of a stretch.
    assert max(right) < 0.004
    assert max(late) > 5 * max(right)
    assert max(wrong) > 5 * max(right)
    assert max(persistence(windows)) > 0.3


def test_candidates_are_predicted_together_as_alone():
    windows = cut(packaged('chirps', held_out=True)[:1], 0.5, 2.0)
    some = [Candidate(CALIBRATED.parameters, 0.003), Candidate(Parameters(), 0.0101, 0.01)]
    together = predict(windows, some)
    for i, candidate in enumerate(some):
        assert (predict(windows, [candidate])[:, 0] == together[:, i]).all()


def test_stretches_start_where_they_were_cut():
    recording = packaged('chirps', held_out=True)[0]
    windows = cut([recording], 1.0, 0.5, begin=2.0, end=5.0)
    assert windows.begin == pytest.approx(2.0 + 0.5 * np.arange(4), abs=0.005)
    i = round(windows.begin[1] / recording.period)
    assert (windows.truth[1, 1] == recording.alpha[i + 1:i + 251]).all()
    assert windows.start[1, 1] == pytest.approx(recording.alpha[i], abs=0.01)
    assert windows.volts[1, windows.history] == recording.volts[i]
    with pytest.raises(ValueError, match='record longer'):
        cut([recording], 11.0, 0.5)
