# Copyright the pacsbo_ros developers. Apache-2.0.
"""The gain plane is read, kept and measured faithfully."""
from dataclasses import fields
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from pacsbo_ros.view.plane import GainPlane, label, ticks


def make_plane(rows=9, columns=13, iteration=4):
    """Return a plane whose safe set is a disc of known radius."""
    x = np.linspace(-6, 0, columns)
    y = np.linspace(10, 50, rows)
    distance = np.hypot((x[None, :] + 4) / 2, (y[:, None] - 30) / 12)
    samples = np.array([[-4.0, 30.0], [-4.5, 28.0], [-3.5, 33.0], [-1.0, 45.0]])
    return GainPlane('run', iteration, ('k_theta', 'k_alpha'), (-6.0, 10.0), (0.0, 50.0),
                     1 - distance, 0.9 - 0.1 * distance, samples[:3], samples[:3] * 1.01,
                     samples, np.array([0.97, 0.96, 0.98, 0.99]), np.array([0, 0, 0, 1]),
                     np.array([True, True, True, False]))


def test_a_kept_plane_comes_back_as_it_was(tmp_path):
    plane = make_plane()
    plane.save(tmp_path / 'plane.npz')
    back = GainPlane.load(tmp_path / 'plane.npz')
    for field in fields(GainPlane):
        kept, given_ = getattr(back, field.name), getattr(plane, field.name)
        if isinstance(given_, np.ndarray) and given_.dtype.kind == 'f':
            np.testing.assert_allclose(kept, given_, rtol=1e-6)
        else:
            assert np.array_equal(kept, given_), field.name
    assert [p.name for p in tmp_path.iterdir()] == ['plane.npz']


def test_the_margin_between_grid_points_is_bilinear():
    plane = make_plane()
    oracle = RegularGridInterpolator((plane.axis(1), plane.axis(0)), plane.margin)
    gains = np.random.default_rng(0).uniform(plane.lower, plane.upper, (200, 2))
    np.testing.assert_allclose(plane.margin_at(gains), oracle(gains[:, ::-1]), atol=1e-12)


def test_the_border_of_the_safe_set_has_margin_zero():
    plane = make_plane(81, 121)
    (line,) = plane.boundary()
    np.testing.assert_allclose(plane.margin_at(line), 0, atol=1e-3)
    radius = np.hypot((line[:, 0] + 4) / 2, (line[:, 1] - 30) / 12)
    np.testing.assert_allclose(radius, 1, atol=1e-2)


def test_the_best_sample_is_a_safe_one():
    assert make_plane().best == 2


def test_the_close_up_holds_every_sample_and_stays_in_the_box():
    plane = make_plane()
    lower, upper = plane.close_up()
    assert (plane.samples >= lower).all()
    assert (plane.samples <= upper).all()
    assert (lower >= plane.lower).all()
    assert (upper <= plane.upper).all()


def message(**changes):
    """Return what a GainMap message looks like to Python."""
    fields_ = {'run_id': 'r', 'iteration': 1, 'names': ['k_theta', 'k_alpha'], 'lower': [0, 0],
               'upper': [1, 1], 'columns': 3, 'rows': 2, 'constraint_lower': range(6),
               'reward_mean': range(6), 'hull': [0, 0, 1, 1], 'enlarged': [], 'samples': [0, 1],
               'sample_reward': [0.5], 'sample_outcome': [0], 'sample_safe': [True]}
    return SimpleNamespace(**{**fields_, **changes})


def test_a_message_is_read_row_by_row():
    plane = GainPlane.from_message(message())
    assert plane.margin.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert plane.margin_at(np.array([[1.0, 0.0]])) == [2]


@pytest.mark.parametrize('changes', [{'rows': 3}, {'columns': 1, 'rows': 6}, {'samples': [1]},
                                     {'constraint_lower': []}])
def test_a_message_whose_sizes_do_not_fit_is_refused(changes):
    with pytest.raises(ValueError):
        GainPlane.from_message(message(**changes))


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_ticks_are_few_round_and_inside(low, span):
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 11
    assert all(low - 1e-6 * span <= t <= low + span + 1e-6 * span for t in found)
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)


def test_labels_name_the_unit():
    assert label('k_theta') == 'kθ [V/rad]'
    assert label('k_alpha_dot').endswith('[V·s/rad]')
