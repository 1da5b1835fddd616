# Copyright the pacsbo_ros developers. Apache-2.0.
"""Colours mean the same everywhere."""
from hypothesis import given
from hypothesis import strategies as st
from pacsbo_ros.view import palette


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_colours_of_margins_are_colours_and_saturate(a, b):
    assert all(0 <= c <= 1 for c in palette.margin_rgb(a))
    if min(a, b) >= palette.MARGIN_SPAN or max(a, b) <= -palette.MARGIN_SPAN:
        assert palette.margin_rgb(a) == palette.margin_rgb(b)


def test_the_colour_of_margin_zero_is_the_middle_stop():
    assert palette.margin_rgb(0.0) == palette.rgb(palette.MARGIN_STOPS[2])
    assert palette.margin_rgb(-1.0) == palette.rgb(palette.MARGIN_STOPS[0])
    assert palette.margin_rgb(1.0) == palette.rgb(palette.MARGIN_STOPS[-1])


def test_a_verdict_that_nobody_knows_has_a_colour_and_a_name():
    assert palette.verdict_colour(palette.SILENT) == palette.MUTED
    assert palette.verdict_colour(99) == palette.MUTED
    assert palette.verdict_words(1) == 'armed'
    assert palette.verdict_words(99) == 'verdict 99'
