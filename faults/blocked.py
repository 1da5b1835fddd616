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

"""A controller whose next read of the plant blocks when it gets SIGUSR2, and then looks fresh."""
import signal
import threading
import time

from pacsbo_ros.nodes import furuta_controller
from pacsbo_ros.nodes.plants import TopicsDriver

SECONDS = 2.0

_asked = threading.Event()
_read = TopicsDriver.read


def read(self):
    """Return what there was before the read blocked."""
    state = _read(self)
    if _asked.is_set():
        _asked.clear()
        time.sleep(SECONDS)
    return state


def main() -> int:
    """Run the controller."""
    signal.signal(signal.SIGUSR2, lambda *_: _asked.set())
    TopicsDriver.read = read
    return furuta_controller.main()
