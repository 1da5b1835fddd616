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

"""How old a message is: lost, repeated, late, overtaken, restarted and stepped clocks."""
import math

from hypothesis import given
from hypothesis import strategies as st
from pacsbo_ros.safety.freshness import Freshness, JITTER, SENDERS
import pytest


def test_duplicated_reordered_and_delayed_messages_do_not_refresh():
    fresh = Freshness(max_delay=0.05)
    assert fresh.age(0.0) == math.inf
    assert fresh.accept(10.00, 5.00, 1)
    assert not fresh.accept(10.01, 5.00, 1)  # duplicated
    assert not fresh.accept(10.02, 4.99, 0)  # reordered
    assert not fresh.accept(10.20, 5.02, 2)  # 0.18 s under way, the quickest took 0
    assert fresh.age(10.20) == pytest.approx(0.20)
    assert fresh.accept(10.21, 5.20, 3)


@given(st.lists(st.floats(0, 0.04), min_size=1, max_size=50), st.floats(-1e6, 1e6))
def test_ordinary_jitter_is_accepted_whatever_the_clocks_offset(delays, offset):
    fresh = Freshness(max_delay=0.05)
    for number, delay in enumerate(delays):
        sent = number * 0.05
        assert fresh.accept(sent + delay, sent + offset, number)


def test_another_process_counts_at_once_and_two_in_turn_are_rivals():
    fresh = Freshness(forget=1.0)
    assert fresh.accept(10.00, 10.00, 500, source=1)
    assert fresh.accept(10.02, 3.00, 1, source=2)  # restarted: its count begins anew
    assert not fresh.rivals(10.02)
    assert fresh.accept(10.04, 10.04, 502, source=1)  # the first one is not dead
    assert fresh.rivals(10.04)
    assert fresh.accept(10.06, 10.06, 503, source=1)
    assert fresh.rivals(11.0)
    assert not fresh.rivals(11.05)


def test_three_processes_in_turn_are_rivals_too():
    fresh = Freshness()
    for number in range(6):
        fresh.accept(10 + 0.02 * number, 10 + 0.02 * number, number, source=number % 3)
    assert fresh.rivals(10.1)


def test_clocks_that_drift_apart_slowly_do_not_make_messages_old():
    fresh = Freshness(max_delay=0.05)
    assert all(fresh.accept(t, t * (1 - 5e-4), number)
               for number, t in enumerate(0.02 * i for i in range(50 * 1200)))


@pytest.mark.parametrize('silence', [0.5, 1.5, 5.0, 3600.0])
@pytest.mark.parametrize('late', [0.06, 0.3, 3.0])
def test_no_silence_makes_late_messages_fresh_again(silence, late):
    fresh = Freshness()
    assert fresh.accept(10.0, 10.0, 1)
    for number in range(200):
        now = 10.0 + silence + 0.02 * number
        assert not fresh.accept(now, now - late, 2 + number)
        assert fresh.age(now) >= silence
    assert fresh.accept(now + 0.02, now + 0.02, 900)  # on time again, without being re-based


def test_the_last_word_of_a_dead_process_never_counts_again():
    fresh = Freshness()
    assert fresh.accept(10.0, 10.0, 7, source=1)
    assert not any(fresh.accept(10.0 + 0.02 * n, 10.0, 7, source=1) for n in range(1, 500))
    assert fresh.accept(21.0, 21.0, 1, source=2)  # its successor
    assert not fresh.accept(23.0, 10.0, 7, source=1)
    assert not fresh.accept(23.0, 22.99, 7, source=1)  # stamped anew, numbered as before


def test_lateness_beyond_ordinary_jitter_is_age():
    fresh = Freshness(max_delay=0.05)
    fresh.accept(10.0, 10.0, 1)
    assert fresh.accept(10.12, 10.105, 2)
    assert fresh.age(10.12) == 0.0  # 15 ms late
    assert fresh.accept(10.24, 10.2, 3)
    assert fresh.age(10.24) == pytest.approx(0.04, abs=1e-3)  # the whole of it
    assert not fresh.accept(10.36, 10.3, 4)
    assert fresh.refused == pytest.approx(0.06, abs=1e-3)
    assert fresh.age(10.36) == pytest.approx(0.16, abs=1e-3)


def test_with_a_common_clock_even_the_first_message_is_known_to_be_late():
    clock = {'offset': -5000.0}  # steady minus system time
    fresh = Freshness(offset=lambda source, _: clock['offset'] if source == 7 else None)
    assert not fresh.accept(10.0, 5007.0, 1, 7)  # three seconds late
    assert not fresh.accept(10.0, 8610.0, 1, 7)  # from the future
    assert fresh.age(10.0) == math.inf
    assert fresh.accept(10.0, 5009.995, 1, 7)
    clock['offset'] = -8600.0  # the clock steps for both: nothing happens
    assert fresh.accept(10.02, 10.02 + 8600.0, 2, 7)


def test_another_machines_clock_that_stepped_back_waits_for_a_person():
    fresh = Freshness()
    assert fresh.accept(10.0, 10.0, 10.0)
    assert not any(fresh.accept(11.0 + n, 8.0 + n, 8.0 + n) for n in range(60))
    fresh.renew()
    assert fresh.accept(80.0, 77.0, 77.0)
    assert not fresh.accept(80.1, 77.0, 77.0)


def test_a_persons_renewal_does_not_let_numbers_repeat():
    fresh = Freshness()
    assert fresh.accept(10.0, 10.0, 7, source=5)
    fresh.renew()
    assert not fresh.accept(10.1, 10.1, 7, source=5)
    assert fresh.accept(10.2, 3.0, 8, source=5)


def test_a_flood_of_senders_does_not_grow_the_memory():
    fresh = Freshness()
    for number in range(10 * SENDERS):
        fresh.accept(10 + 0.001 * number, 10 + 0.001 * number, 1, source=number + 1)
    assert len(fresh._senders) <= SENDERS


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 4.0), st.booleans()),
                min_size=1, max_size=60))
def test_whatever_comes_the_age_never_falls_short_of_the_truth(steps):
    """Each step: a pause, the lateness of what then comes, and whether it is a repetition."""
    fresh = Freshness(max_delay=0.05)
    fresh.accept(0.0, 0.0, 0)
    now, order, made, newest = 0.0, 0, 0.0, 0.0  # made: when what comes was made
    for pause, late, again in steps:
        now += pause
        if not again:
            order, made = order + 1, now - late
            newest = max(newest, made)
        fresh.accept(now, made, order)
        # The clock may creep by DRIFT while messages count, and jitter is forgiven.
        assert fresh.age(now) >= now - newest - JITTER - 0.05


@given(st.floats(0.051, 100.0), st.floats(0.0, 1000.0))
def test_an_episode_never_begins_on_a_channel_that_became_slow(late, gap):
    fresh = Freshness()
    for number in range(50):
        fresh.accept(0.02 * number, 0.02 * number, number)
    counted = [fresh.accept(1.0 + gap + late + 0.02 * n, 1.0 + gap + 0.02 * n, 50 + n)
               for n in range(300)]
    assert not any(counted)
