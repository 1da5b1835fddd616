# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Run a module or a file so that SIGUSR1 hangs it: python hangable.py WHAT [ARGUMENTS].

Python runs a signal handler in the main thread, between two instructions of whatever callback is
at work there; the threads of DDS live on, so to everybody else the process looks alive.
"""
import contextlib
import importlib
from pathlib import Path
import runpy
import signal
import sys
import time

SECONDS = 0.4


def hurry(nice: int) -> None:
    """Let no other work of a busy machine hold up the campaign, where the system allows it."""
    with contextlib.suppress(OSError):
        Path('/proc/self/autogroup').write_text(str(nice))


if __name__ == '__main__':
    sys.path.pop(0)  # the installed package, not what stands beside this file
    signal.signal(signal.SIGUSR1, lambda *_: time.sleep(SECONDS))
    what = sys.argv.pop(1)
    hurry(-10)
    raise SystemExit((runpy.run_path(what)['main'] if what.endswith('.py')
                      else importlib.import_module(what).main)())
