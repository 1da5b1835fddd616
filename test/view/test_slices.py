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

"""What the model believes is read, kept and measured faithfully, for 1 to 6 values."""
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.view.curve import close_up, heights, safe_intervals
from pacsbo_ros.view.numbers import label, number, quantity, ticks, tuned_label
from pacsbo_ros.view.plane import Plane
from pacsbo_ros.view.slices import LOWER, outline, Slice, Slices
import pytest
from scipy.interpolate import RegularGridInterpolator
from scipy.spatial import ConvexHull
from tools.made_up import MadeUp

COUNTS = (1, 2, 3, 4, 6)


def read(count, told=20, **changes):
    """Return the slices of a made-up run, as they come by message."""
    message = MadeUp(count).gain_map(told)
    vars(message).update(changes)
    return Slices.from_message(message)


def make_plane(rows=9, columns=13):
    """Return a plane whose safe set is a disc of known radius."""
    x = np.linspace(-6, 0, columns)
    y = np.linspace(10, 50, rows)
    margin = 1 - np.hypot((x[None, :] + 4) / 2, (y[:, None] - 30) / 12)
    samples = np.array([[-4.0, 30.0], [-4.5, 28.0], [-3.5, 33.0], [-1.0, 45.0]])
    return Plane(4, ('a', 'b'), ('V', ''), (-6.0, 10.0), (0.0, 50.0), margin, margin >= 0,
                 samples[:3], samples[:3] * 1.01, samples, np.array([0.97, 0.96, 0.98, 0.99]),
                 np.array([True, True, True, False]), np.ones(4, bool), samples[2], 0.98, 0.97)


@pytest.mark.parametrize('count', COUNTS)
def test_what_is_kept_comes_back_as_it_was(count, tmp_path):
    slices = read(count)
    slices.save(tmp_path / 'kept.npz')
    back = Slices.load(tmp_path / 'kept.npz')
    for kind, old, new in [(Slices, slices, back),
                           *((Slice, a, b) for a, b in zip(slices.slices, back.slices,
                                                           strict=True))]:
        for field in fields(kind):
            given_, kept = getattr(old, field.name), getattr(new, field.name)
            if field.name == 'slices':
                continue
            if isinstance(given_, np.ndarray) and given_.dtype.kind == 'f':
                np.testing.assert_allclose(kept, given_, rtol=1e-5, atol=1e-6)
            else:
                assert np.array_equal(kept, given_), field.name
    assert [p.name for p in tmp_path.iterdir()] == ['kept.npz']


@pytest.mark.parametrize('count', COUNTS)
def test_there_is_a_slice_for_every_pair_and_it_goes_through_the_best_values(count):
    slices = read(count)
    assert len(slices.pairs) == max(1, count * (count - 1) // 2)
    assert len(set(slices.pairs)) == len(slices.pairs)
    best = slices.samples[slices.best_sample]
    assert slices.sample_reward[slices.best_sample] == slices.sample_reward[
        slices.sample_safe].max()
    for i, s in enumerate(slices.slices):
        if count > 1:
            plane = slices.plane(i)
            assert plane.names == (slices.names[s.x], slices.names[s.y])
            np.testing.assert_array_equal(plane.best, best[[s.x, s.y]])
            np.testing.assert_array_equal(plane.samples, slices.samples[:, [s.x, s.y]])


def test_a_sentence_says_what_is_slice_and_what_is_projection():
    assert 'Band' in read(1).sentence()
    assert 'projection' not in read(2).sentence()
    text = read(4).sentence(1)  # p and i are shown
    assert 'slice through the best values, with d = ' in text
    assert 'feed_forward = ' in text
    assert 'i = ' not in text
    assert 'Dots and hulls are projections' in text


def test_samples_off_the_slice_are_told_from_those_on_it():
    slices = read(3)
    plane = slices.plane(0)
    share = np.abs((slices.samples - slices.best) / np.subtract(slices.upper, slices.lower))
    assert np.array_equal(plane.on_slice, share[:, 2] <= 0.03)
    assert read(2).plane().on_slice.all()


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), max_size=30))
def test_an_outline_is_the_convex_hull_of_all_points(points):
    corners = outline([v for p in points for v in p])
    assert {tuple(c) for c in corners} <= {(x + 0.0, y + 0.0) for x, y in points}
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        for x, y in points:  # nobody lies to the right of an edge
            assert (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) >= -1e-9


def test_an_outline_agrees_with_another_program_whatever_the_order():
    points = np.random.default_rng(0).normal(size=(40, 2))
    corners = outline(points.ravel())
    oracle = points[ConvexHull(points).vertices]
    assert {tuple(c) for c in corners} == {tuple(c) for c in oracle}
    (x, y), (next_x, next_y) = corners.T, np.roll(corners, -1, axis=0).T
    shoelace = (x * next_y - y * next_x).sum() / 2
    assert shoelace == pytest.approx(ConvexHull(points).volume), 'a zigzag has less'


def test_the_margin_between_grid_points_is_bilinear():
    plane = make_plane()
    oracle = RegularGridInterpolator((plane.axis(1), plane.axis(0)), plane.margin)
    values = np.random.default_rng(0).uniform(plane.lower, plane.upper, (200, 2))
    np.testing.assert_allclose(plane.margin_at(values), oracle(values[:, ::-1]), atol=1e-12)


def test_the_border_of_the_safe_set_has_margin_zero():
    plane = make_plane(81, 121)
    (line,) = plane.boundary()
    np.testing.assert_allclose(plane.margin_at(line), 0, atol=1e-3)
    radius = np.hypot((line[:, 0] + 4) / 2, (line[:, 1] - 30) / 12)
    np.testing.assert_allclose(radius, 1, atol=1e-2)


def test_the_border_is_that_of_the_safe_set_where_the_bound_says_otherwise():
    plane = make_plane(81, 121)
    half = plane.safe & (plane.axis(0)[None, :] < -4)
    (line,) = Plane(**{**vars(plane), 'safe': half}).boundary()
    assert line[:, 0].max() < -3.9


def test_the_close_up_holds_every_sample_and_stays_in_the_box():
    plane = make_plane()
    lower, upper = plane.close_up()
    assert (plane.samples >= lower).all()
    assert (plane.samples <= upper).all()
    assert (lower >= plane.lower).all()
    assert (upper <= plane.upper).all()


def test_a_curve_shows_all_samples_the_threshold_and_where_it_is_safe():
    slices = read(1)
    low, high = close_up(slices)
    assert low <= slices.samples.min()
    assert high >= slices.samples.max()
    margin = slices.slices[0].margin[:, 0]
    first, last = heights(margin, slices.sample_margin, 0.0)
    assert first < min(0.0, slices.sample_margin.min())
    assert last > max(0.0, slices.sample_margin.max())
    ((a, b),) = safe_intervals(slices)
    x = slices.axis(0, margin.shape[1])
    assert np.array_equal((x >= a) & (x <= b), margin[LOWER] >= 0)


@pytest.mark.parametrize('changes', [
    {'units': ['V']}, {'best': []}, {'slices': []}, {'samples': [1.0]}, {'sample_safe': [True]},
    {'lower': [0.0, 5.0]}, {'sample_margins': [1.0]}, {'upper': [float('nan'), 1.0]}])
def test_a_message_whose_parts_do_not_fit_is_refused(changes):
    with pytest.raises(ValueError):
        read(2, **changes)


@pytest.mark.parametrize('changes', [{'rows': 3}, {'x': 5}, {'x': 1}, {'margin_lower': []},
                                     {'margin_lower': [float('nan')] * 1600}])
def test_a_slice_whose_parts_do_not_fit_is_refused(changes):
    message = MadeUp(2).gain_map(20)
    vars(message.slices[0]).update(changes)
    with pytest.raises(ValueError):
        Slices.from_message(message)


def test_bounds_that_are_not_known_yet_can_be_drawn():
    message = MadeUp(2).gain_map(20)
    message.slices[0].margin_lower = np.full(1600, -np.inf)
    assert np.isfinite(Slices.from_message(message).plane().margin).all()


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_ticks_are_few_round_and_inside(low, span):
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 11
    assert all(low - 1e-6 * span <= t <= low + span + 1e-6 * span for t in found)
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)


def test_numbers_are_written_as_people_do():
    assert number(-4.0) == '−4.000'
    assert number(1234.5) == '1234'
    assert number(0.0) == '0'
    assert number(float('nan')) == '–'
    assert quantity(0.5236, 'rad') == '30.0°'
    assert quantity(-2.5, 'N m') == '−2.50\xa0N\xa0m'
    assert quantity(float('nan'), 'V') == '–'
    assert label('error', 'rad') == 'error [°]'
    assert tuned_label('limit', 'rad') == 'limit [rad]'
    assert tuned_label('share', '') == 'share'
