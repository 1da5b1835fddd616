# Copyright the pacsbo_ros developers. Apache-2.0.
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
