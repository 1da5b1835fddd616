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
import pytest


@pytest.mark.parametrize('offset', [0.0, 1e9, -7.0], ids=['same clock', 'epoch', 'behind'])
def test_a_message_that_waited_is_dated_back_whatever_the_clocks(monkeypatch, offset):
    now, heard = 0.0, []
    monkeypatch.setattr(live_checks, 'steady_now', lambda: now)
    listen = live_checks._listener(
        [('x', lambda m: m.value)], lambda m: m.stamp + offset,
        lambda name, value, made: heard.append(made), [])
    # stamp, arrival: three at once, one that waited, one after a step of the clock by -5 s
    for stamp, now in ((1.0, 1.01), (2.0, 2.01), (3.0, 3.01), (4.0, 4.3), (0.0, 5.01)):  # noqa: B007
        listen(SimpleNamespace(value=0.0, stamp=stamp))
    assert heard == pytest.approx([1.01, 2.01, 3.01, 4.01, 5.01], abs=1e-6)
