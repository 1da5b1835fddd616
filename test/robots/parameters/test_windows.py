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

"""Recorded windows: silence, gaps, freezes and stamps."""
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.robots.parameters.windows import frozen, Recorder, Series, WindowError
import pytest


def recorded(times, value=lambda t: t, timeout=0.5):
    recorder = Recorder('error', timeout)
    recorder.open(10.0)
    for t in times:
        recorder.add(10.0 + t, value(t))
    return recorder


def test_a_window_has_its_own_clock_and_remembers_the_peak():
    recorder = recorded([0.1, 0.2, 0.3, 0.4], lambda t: -t)
    series = recorder.series(10.15)
    assert series.t == pytest.approx([0.05, 0.15, 0.25])
    assert series.y == pytest.approx([-0.2, -0.3, -0.4])
    assert recorder.peak == pytest.approx(0.4)


def test_what_was_on_its_way_when_the_window_opened_is_not_in_it():
    recorder = recorded([])
    recorder.add(9.99, 0.5)  # the joint before the test brought it to zero
    for t in (0.02, 0.03, 0.04):
        recorder.add(10.0 + t, 0.0)
    assert recorder.series(10.0).y == pytest.approx([0.0, 0.0, 0.0])
    assert recorder.age(10.05) == pytest.approx(0.01)


def test_silence_is_counted_from_the_opening_too():
    recorder = recorded([])
    assert recorder.complaint(10.4) == ''
    assert 'silent, or late, for 0.60 s' in recorder.complaint(10.6)


def test_a_window_ends_where_it_was_to_end_and_is_whole_when_a_later_sample_has_come():
    recorder = recorded([0.1, 0.2, 0.3, 0.4])
    assert recorder.reaches(10.4)
    assert not recorder.reaches(10.41)
    assert recorder.series(10.0, 0.35).t == pytest.approx([0.1, 0.2, 0.3])


def test_gaps_and_thin_recordings_are_no_data():
    with pytest.raises(WindowError, match=r'gap of 0\.80 s'):
        recorded([0.1, 0.2, 1.0, 1.1]).series(10.0)
    with pytest.raises(WindowError, match='only 2 samples'):
        recorded([0.1, 0.2]).series(10.0)


def test_a_value_that_is_no_number_is_a_complaint():
    recorder = recorded([0.1, 0.2], lambda t: float('nan'))
    assert recorder.complaint(10.2) == 'error is nan'


def test_a_window_in_which_nothing_changes_is_frozen():
    t = np.linspace(0.0, 1.0, 5)
    still, moving = Series(t, np.ones(5)), Series(t, t)
    assert frozen({'a': still, 'b': still})
    assert not frozen({'a': still, 'b': moving})


@given(st.lists(st.floats(0.0, 5.0), max_size=50))
def test_whatever_the_order_of_arrival_stamps_increase(times):
    recorder = recorded(times, timeout=10.0)
    try:
        series = recorder.series(10.0)
    except WindowError:
        return
    assert np.all(np.diff(series.t) > 0)
