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

"""How a worker thread waits for what the executor's thread hears."""
from __future__ import annotations

from collections.abc import Callable
import threading


class Closed(Exception):
    """The node is being shut down."""


class Waiting:
    """Wake a thread that waits when something has changed."""

    def __init__(self) -> None:
        """Begin open."""
        self._changed = threading.Condition()
        self._closed = False

    def wait(self, condition: Callable[[], bool], timeout: float | None = None) -> None:
        """Wait until a condition holds, or for so long [s]; Closed if the node goes."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or condition(), timeout)
        if self._closed:
            raise Closed

    def notify(self) -> None:
        """Have everybody look again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End all waiting."""
        self._closed = True
        self.notify()
