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

"""The living graph: how regular the loop is on busy cores, how soon a trip reaches the motor."""
from collections.abc import Iterator
import math
import multiprocessing
import os
from pathlib import Path
import signal
import subprocess
import time

from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.running import tick

SECONDS = 20.0


def burn() -> None:
    """Keep a core busy."""
    while True:
        math.sqrt(2.0)


def trip_samples(falling: bool) -> int:
    """Count the samples from a violated limit (or an abort) to the first zero command."""
    commands: list[float] = []

    class Recorder(SimulatedDriver):

        def write(self, volts: float) -> None:
            commands.append(volts)
            super().write(volts)

    driver = Recorder()
    driver.set_state((0.0, 0.04, 0.0, 0.0))
    episode = Episode(Gains(-0.1, 5.0) if falling else Gains(-2.571, 23.01))
    while True:
        beyond = abs(driver.read().alpha) > episode.limits.alpha
        cancelled = not falling and len(commands) == 200
        if cancelled:
            episode.abort(Outcome.CANCELLED, 'bench')
        tick(driver, episode)
        if beyond or cancelled:
            break
    asked = len(commands) - 1
    while commands[-1] != 0.0:
        tick(driver, episode)
    return len(commands) - 1 - asked


def loop_timing(plant: str) -> tuple[float, float, float]:
    """
    Run monitor and controller in real time on busy cores; return p50, p99 [ms], overruns.

    A plant that does not wait (topics) has monitor and controller ask for real-time scheduling.
    """
    from ament_index_python.packages import get_package_prefix
    from diagnostic_msgs.msg import DiagnosticArray
    import rclpy
    os.environ.setdefault('ROS_DOMAIN_ID', '93')
    lib = Path(get_package_prefix('pacsbo_ros')) / 'lib' / 'pacsbo_ros'
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(os.cpu_count())]
    nodes = [subprocess.Popen([str(lib / name), '--ros-args', '-p', extra],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
             for name, extra in (('safety_monitor', 'auto_arm:=true'),
                                 ('furuta_controller', f'plant:={plant}'),
                                 ('simulated_plant', 'stand_up_after:=0.1'))]
    for burner in burners:
        burner.start()
    rclpy.init()
    try:
        seen: list[dict[str, str]] = []
        node = rclpy.create_node('bench')
        node.create_subscription(
            DiagnosticArray, '/diagnostics',
            lambda m: seen.extend({v.key: v.value for v in s.values} for s in m.status
                                  if 'control loop' in s.name), 10)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)
        last = seen[-1]
        return (float(last['period p50 [ms]']), float(last['period p99 [ms]']),
                float(last['overruns']))
    finally:
        rclpy.try_shutdown()
        for process in nodes:
            process.send_signal(signal.SIGINT)
        for burner in burners:
            burner.kill()
        for process in nodes:
            process.wait(20)


def run() -> Iterator[tuple[str, float, str, str | None]]:
    for plant, goal in (('topics', '<= 7.5'), ('simulated', '<= 7.5')):
        p50, p99, overruns = loop_timing(plant)
        busy = f'ms, {os.cpu_count()} cores busy'
        yield f'nodes.{plant}.loop_p50_ms', p50, busy, None
        yield f'nodes.{plant}.loop_p99_ms', p99, busy, goal
        yield f'nodes.{plant}.loop_overruns', overruns, f'periods > 7.5 ms in {SECONDS:g} s', None
    yield 'nodes.trip_samples', trip_samples(falling=True), 'samples of 5 ms', '<= 1'
    yield 'nodes.cancel_samples', trip_samples(falling=False), 'samples of 5 ms', '<= 1'
