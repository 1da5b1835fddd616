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

"""A controller that needs nobody's consent once it got SIGUSR2."""
import signal
import threading

from pacsbo_ros.nodes import furuta_controller
from pacsbo_ros.nodes.episode_server import EpisodeServer

_free = threading.Event()
_objection = EpisodeServer.objection


def objection(self):
    """Find nothing wrong with anything."""
    return None if _free.is_set() else _objection(self)


def main() -> int:
    """Run the controller."""
    signal.signal(signal.SIGUSR2, lambda *_: _free.set())
    EpisodeServer.objection = objection
    return furuta_controller.main()
