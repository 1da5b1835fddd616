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
