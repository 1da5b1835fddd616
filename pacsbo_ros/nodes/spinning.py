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

"""What all nodes share: how they start, spin, end, and which QoS their topics have."""
from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import gc
import os
from pathlib import Path
import secrets
import signal
import sys
import threading
import time
from zlib import crc32

from builtin_interfaces.msg import Time
from pacsbo_ros.nodes.lifeline import end_with_launcher
from pacsbo_ros.nodes.parameters import StartError
from pacsbo_ros.nodes.transport import use_datagrams
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.timer import Timer

# Progress, candidates and stop states: a late subscriber gets the newest one.
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Signs of life: only the newest counts.
HEARTBEAT = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
# Joint states: reliable, because the monitor depends on them.
STATES = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
# The same as they are heard: drivers often publish with best effort, which a reliable
# subscription would never hear; this one fits every publisher.
MEASURED = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
# Results and decisions: none may be lost while a subscriber is there.
EVENTS = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)
# The same for who keeps the books: one that comes late gets the last ones too.
RECORDS = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last when a terminal is closed
SYNCHRONISED = 10.0  # s; a clock that is further away is not one of the time of day
REAL_TIME = 10  # priority among what is scheduled in real time


def steady_timer(node: Node, period: float, callback: Callable[[], None]) -> Timer:
    """Call back periodically, whatever happens to the system clock or to simulated time."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def steady_now() -> float:
    """Return the seconds of the steady clock, for every watchdog."""
    return time.monotonic()


def _machine() -> int:
    """Return a number of this machine since it was switched on: whoever has it has our clock."""
    try:
        return crc32(Path('/proc/sys/kernel/random/boot_id').read_bytes()) & 0x7fffffff
    except OSError:
        return secrets.randbits(31)


_MACHINE = _machine()


def process_number() -> int:
    """Return a number that no other process is likely to have, and that tells its machine."""
    return _MACHINE << 32 | secrets.randbits(32) | 1


def clock_offset(source: int, _: float) -> float | None:
    """Return our steady minus our system clock if the source has the same; None if it has not."""
    return time.monotonic() - time.time() if source >> 32 == _MACHINE else None


def synchronised_offset(_: int, delay: float) -> float | None:
    """Return the same for a source that only stamps, if that looks like the time of day."""
    ours = time.monotonic() - time.time()
    return ours if abs(delay - ours) < SYNCHRONISED else None


def system_stamp() -> Time:
    """Return the system time as a stamp, whatever simulated time does."""
    seconds, nanoseconds = divmod(time.time_ns(), 10 ** 9)
    return Time(sec=seconds, nanosec=nanoseconds)


def stamp_seconds(stamp) -> float:
    """Return a message stamp in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def raise_priority() -> None:
    """Come before other programs on a busy machine, where the system allows it."""
    _set_priority(-10)


def _become_punctual() -> None:
    """Schedule all threads of this process in real time, where the system allows it."""
    for task in Path('/proc/self/task').iterdir():
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(task.name), os.SCHED_RR, os.sched_param(REAL_TIME))


def lower_priority() -> None:
    """Give way to other programs on a busy machine."""
    _set_priority(10)


def _set_priority(nice: int) -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    # Linux compares nice values within a session only (autogroup); a process that leads its own
    # session has to set the session's value too.
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path('/proc/self/autogroup').write_text(str(nice))


def wait_for_message(node: Node, kind: type, topic: str, qos: QoSProfile, timeout: float):
    """Return the first message of a topic; None if none comes, or a signal ends the process."""
    arrived: Future = Future()
    subscription = node.create_subscription(
        kind, topic, lambda m: None if arrived.done() else arrived.set_result(m), qos)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    deadline = steady_now() + timeout
    try:
        while not (arrived.done() or _interrupted.is_set() or steady_now() > deadline):
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_subscription(subscription)
    return arrived.result() if arrived.done() else None


_interrupted = threading.Event()  # a signal asks this process to end


def spin(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """
    Run one node until a signal ends it or its future `done`; return its exit code.

    A node that says that it is `punctual` is scheduled in real time. A signal is a good end,
    unless the node has a code for it, `interrupted`.
    """
    # rclpy's own handlers would invalidate all publishers before the node could send its last
    # words, which switch a robot off. A handler of Python's runs at the main thread's next step,
    # which may be far away, but its wake-up byte is there at once, whichever thread the system
    # gives the signal to.
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN or number != signal.SIGHUP:  # nohup
            signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    end_with_launcher()
    use_datagrams()
    rclpy.init(args=None if args is None else list(args),
               signal_handler_options=SignalHandlerOptions.NO)
    node = None
    executor = SingleThreadedExecutor()
    over: Future = Future()

    def await_signal() -> None:
        while os.read(wake, 1)[0] not in ENDING:
            pass  # a signal that somebody else handles
        _interrupted.set()
        over.set_result(None)

    threading.Thread(target=await_signal, daemon=True).start()
    try:
        node = make_node()
        executor.add_node(node)
        if getattr(node, 'punctual', False):
            _become_punctual()
        if hasattr(node, 'done'):
            node.done.add_done_callback(lambda _: over.set_result(None))
        gc.collect()
        gc.freeze()  # what start-up made stays: looking at it again would hold up the loop
        executor.spin_until_future_complete(over)
    except StartError as error:
        if _interrupted.is_set():
            return 0  # it was not the node's fault that it did not start
        print(f'error: {error}', file=sys.stderr, flush=True)
        return 2
    except ExternalShutdownException:
        return 0  # somebody ended it: no fault of the node
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return getattr(node, 'interrupted' if _interrupted.is_set() else 'exit_code', 0)
