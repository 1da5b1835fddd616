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
What the live page costs the control loop: how much its 99th percentile period grows.

The graph runs in real time. Periods with and without an open page alternate, so that whatever
else the machine does falls on both; each contributes the p99 of its own joint states' stamps.
The page is opened by a client that takes every update but draws nothing, as if its browser were on
another machine; and, where Chromium is installed, once more in a browser that draws it here.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager, ExitStack, suppress
import json
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlencode
from urllib.request import urlopen
from uuid import uuid4

import numpy as np

ROUNDS = 4  # with the page and without it
SECONDS = 10.0  # of each
DOMAIN = '93'
PORT = 18093


class Stamps:
    """Keep the stamps of the controller's joint states."""

    def __init__(self) -> None:
        """Listen in a thread of its own."""
        os.environ['ROS_DOMAIN_ID'] = DOMAIN
        os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from sensor_msgs.msg import JointState
        self._context = rclpy.Context()
        self._context.init()
        node = rclpy.create_node('bench', context=self._context)
        self.seen: list[float] = []
        node.create_subscription(JointState, 'joint_states', self._note, 100)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
        threading.Thread(target=self._spin, daemon=True).start()

    def _note(self, message) -> None:
        self.seen.append(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)

    def _spin(self) -> None:
        with suppress(Exception):
            self._executor.spin()

    def p99(self, seconds: float) -> float:
        """Return the 99th percentile of the periods in the coming seconds [ms]."""
        self.seen.clear()
        time.sleep(seconds)
        periods = np.diff(np.sort(self.seen.copy()))
        if len(periods) < 50 * seconds:
            raise RuntimeError(f'{len(periods)} joint states in {seconds} s: the loop is down')
        return float(np.percentile(1e3 * periods, 99))

    def close(self) -> None:
        """Stop listening."""
        self._context.try_shutdown()


@contextmanager
def graph(folder: Path) -> Iterator[None]:
    """Run the whole graph with its page, in real time."""
    command = [sys.executable, '-m', 'pacsbo_ros.nodes.run', 'speed:=1', 'iterations:=1000',
               'dashboard:=true', f'dashboard_port:={PORT}', f'run_dir:={folder / "run"}']
    log = folder / 'log'
    with log.open('w') as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        _wait_for_page(process, log)
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)


def _wait_for_page(process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urlopen(f'http://127.0.0.1:{PORT}/', timeout=5):
            return
        time.sleep(0.2)
    last = log.read_text().strip().splitlines()[-1:]
    raise RuntimeError(f'the page did not come up: {"".join(last) or "the graph says nothing"}')


class Tab(threading.Thread):
    """An open page without its pictures: takes every update, as a browser elsewhere would."""

    def __init__(self, port: int = PORT) -> None:
        """Load the page and connect to it as its script does."""
        super().__init__(daemon=True)
        from websockets.sync.client import connect
        address = f'127.0.0.1:{port}'
        with urlopen(f'http://{address}/', timeout=120) as answer:
            page = answer.read().decode()
        query = ast.literal_eval(re.search(r"query: ({'client_id'.*?}),", page).group(1))
        self._client = query['client_id']
        values = {**query, 'implicit_handshake': 'true',
                  'tab_id': str(uuid4()), 'document_id': str(uuid4()), 'EIO': 4,
                  'transport': 'websocket'}
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(
            f'ws://{address}/_nicegui_ws/socket.io/?{urlencode(values)}',
            origin=f'http://{address}', max_size=None, open_timeout=120))
        self._greeted: set[str] = set()
        self._acknowledged = 0.0
        self.updates = 0
        self.hung = False  # if set it reads no more, as a browser that hangs
        self.start()

    def run(self) -> None:
        """Read until the end; answer the protocol's open and ping."""
        with suppress(Exception):
            for frame in self._socket:
                if self.hung:
                    return
                if frame.startswith('0'):
                    self._socket.send('40')
                elif frame == '2':
                    self._socket.send('3')
                elif frame.startswith('42'):
                    self.updates += 1
                    self._acknowledge(frame)
                    if '"init"' in frame:  # the only event that is answered
                        self._greet(*json.loads(frame[2:]))

    def _acknowledge(self, frame: str) -> None:
        """Say every 3 s what has come, as the page's script does: else no more is sent."""
        number = re.search(r'"_id":(\d+)', frame)
        if number is not None and time.monotonic() - self._acknowledged > 3.0:
            self._acknowledged = time.monotonic()
            self._socket.send('42' + json.dumps(['ack', {
                'client_id': self._client, 'next_message_id': int(number[1]) + 1}]))

    def _greet(self, kind: str, elements: dict) -> None:
        """Say that a new 3-D scene is there: it is sent nothing before that."""
        for number, element in elements.items() if kind == 'update' else ():
            for event in (element or {}).get('events', ()) if number != '_id' else ():
                if event['type'] == 'init' and number not in self._greeted:
                    self._greeted.add(number)
                    self._socket.send('42' + json.dumps(['event', {
                        'id': int(number), 'client_id': self._client,
                        'listener_id': event['listener_id'], 'args': []}]))

    def close(self) -> None:
        """Leave."""
        self._open.close()


@contextmanager
def bare_page(_: Path) -> Iterator[None]:
    """Keep a page open that is drawn on another machine."""
    tab = Tab()
    time.sleep(3.0)
    before = tab.updates
    yield
    tab.close()
    if tab.updates - before < 10 * SECONDS:
        raise RuntimeError(f'only {tab.updates - before} updates in {SECONDS} s reached the page')


@contextmanager
def drawn_page(folder: Path) -> Iterator[None]:
    """Keep the page open in a browser on this machine, which draws it in software."""
    program = shutil.which('chromium') or shutil.which('chromium-browser')
    words = [program, '--headless=new', '--no-sandbox', '--disable-dev-shm-usage',
             '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--window-size=1440,900',
             f'--user-data-dir={folder / "chromium"}', '--remote-debugging-port=0',
             f'http://127.0.0.1:{PORT}/']
    give_way = 'echo 19 > /proc/self/autogroup; exec nice -n 19 "$0" "$@"'
    process = subprocess.Popen(['sh', '-c', give_way, *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        time.sleep(8.0)  # starting a browser is not what is measured
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run() -> Iterator[tuple[str, float, str, str | None]]:
    """Yield how the loop's p99 period grows with an open page."""
    pages = {'': bare_page}
    if shutil.which('chromium') or shutil.which('chromium-browser'):
        pages['_drawn_here'] = drawn_page
    alone: list[float] = []
    shown: dict[str, list[float]] = {name: [] for name in pages}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        stamps = Stamps()
        try:
            with graph(folder):
                time.sleep(5.0)
                for _ in range(ROUNDS):
                    alone.append(stamps.p99(SECONDS))
                    for kind, page in pages.items():
                        with page(folder):
                            shown[kind].append(stamps.p99(SECONDS))
        finally:
            stamps.close()
    yield 'dashboard.loop_p99', float(np.median(alone)), 'ms', None
    for kind, values in shown.items():
        yield (f'dashboard.loop_p99_growth{kind}', float(np.median(values) / np.median(alone)),
               'x', None if kind else '<= 1.2')
