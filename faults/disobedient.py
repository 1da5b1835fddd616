# Copyright the pacsbo_ros developers. Apache-2.0.
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
