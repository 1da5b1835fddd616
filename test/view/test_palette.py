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
