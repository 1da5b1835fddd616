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
End with whoever started us: no launcher, no graph.

A launcher that is killed, or whose terminal or login is gone, cannot end its processes any more.
Linux can: it sends a signal to a process whose parent dies. `make run` asks for it before a
process begins, `ros2 launch` has our nodes ask for it themselves (PARENT in their environment).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
import ctypes
import os
import signal

PARENT = 'PACSBO_PARENT'  # the launcher's process number
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def _prctl() -> Callable[..., int] | None:
    """Return the system call; None where there is none."""
    try:
        return ctypes.CDLL(None, use_errno=True).prctl
    except (AttributeError, OSError):
        return None


def tied_to(parent: int) -> Callable[[], None]:
    """Return what a new process calls before it begins, so that it ends with its parent."""
    prctl = _prctl()

    def tie() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != parent:  # it died meanwhile
            os._exit(1)
    return tie


def end_with_launcher(environment: Mapping[str, str] = os.environ) -> bool:
    """Be sent SIGTERM when the launcher named in the environment dies; tell if we are tied."""
    try:
        parent = int(environment[PARENT])
    except (KeyError, ValueError):
        return False
    prctl = _prctl()
    if prctl is None or prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM)) != 0:
        return False
    if os.getppid() == parent:
        return True
    with contextlib.suppress(PermissionError):
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os.kill(os.getpid(), signal.SIGTERM)  # it died before we asked
            return True
    return False  # it lives, but something stands between us, for example a debugger
