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

"""What the runner hears of a signal, and when it was made."""
from types import SimpleNamespace

from pacsbo_ros.nodes import live_checks
from pacsbo_ros.safety.freshness import Freshness
import pytest


def listener(monkeypatch, offset=0.0):
    now, heard, judge = [0.0], [], Freshness(max_delay=0.5)
    monkeypatch.setattr(live_checks, 'steady_now', lambda: now[0])
    listen = live_checks._listener(
        [('x', lambda m: m.value)], lambda m: m.stamp + offset, judge,
        lambda name, value, made: heard.append(made), [])

    def tell(stamp, arrival):
        now[0] = arrival
        listen(SimpleNamespace(value=0.0, stamp=stamp))
    return heard, judge, tell


@pytest.mark.parametrize('offset', [0.0, 1e9, -7.0], ids=['same clock', 'epoch', 'behind'])
def test_a_message_that_waited_is_dated_back_whatever_the_clocks(monkeypatch, offset):
    heard, _, tell = listener(monkeypatch, offset)
    for stamp, arrival in ((11.0, 11.01), (12.0, 12.01), (13.0, 13.01), (14.0, 14.3)):
        tell(stamp, arrival)
    assert heard == pytest.approx([11.01, 12.01, 13.01, 14.01], abs=2e-3)


def test_a_message_that_waited_longer_than_its_timeout_is_none_however_long_that_lasts(
        monkeypatch):
    heard, _, tell = listener(monkeypatch)
    tell(10.0, 10.01)
    for k in range(100):  # the queue of a busy machine: all come, 1.2 s late
        tell(10.02 + 0.02 * k, 11.22 + 0.02 * k)
    assert heard == pytest.approx([10.01])


def test_a_clock_that_was_set_back_counts_again_once_a_person_has_vouched_for_it(monkeypatch):
    heard, judge, tell = listener(monkeypatch)
    tell(20.0, 20.01)
    tell(15.0, 20.03)
    assert len(heard) == 1
    judge.renew()
    tell(15.02, 20.05)
    assert heard == pytest.approx([20.01, 20.05])


def test_a_stamp_that_nobody_has_set_is_none(monkeypatch):
    heard, _, tell = listener(monkeypatch)
    tell(0.0, 5.0)
    tell(0.0, 5.1)
    assert heard == [5.0, 5.1]
