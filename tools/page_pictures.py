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
Take the pictures of the live page and of the report for docs/images, from one run of 2 minutes.

    .venv/bin/with-ros python -m tools.page_pictures [FOLDER]
    .venv/bin/with-ros python -m tools.page_pictures --made-up [FOLDER]

The second form shows made-up runs instead: 1, 2, 3, 4 and 6 values, two robots. Needs Chromium and
its driver. The page is opened before the run, so that nothing is missed.
"""
from __future__ import annotations

import argparse
import base64
from collections.abc import Callable
import os
from pathlib import Path
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from urllib.request import urlopen

from pacsbo_ros.tuning.report import write_report
from selenium import webdriver
from tools.made_up import MadeUp

IMAGES = Path(__file__).resolve().parent.parent / 'docs' / 'images'
EPISODES = 30
MADE_UP = ((1, 'joint_pid'), (2, 'furuta'), (2, 'joint_pid'), (3, 'joint_pid'), (4, 'joint_pid'),
           (4, 'furuta'), (6, 'joint_pid'))
PATIENCE = 300.0  # s for any one step, on a busy machine
DESKTOP, PHONE = (1440, 900, 1.0), (390, 844, 1.5)  # width, height, pixels per unit of length


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; an error of the network means not yet."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f'error: {what} did not happen within {PATIENCE:g} s')


class Camera:
    """A browser that takes pictures."""

    def __init__(self, images: Path) -> None:
        """Start it."""
        options = webdriver.ChromeOptions()
        for word in ('--headless=new', '--no-sandbox', '--hide-scrollbars',
                     '--use-angle=swiftshader', '--enable-unsafe-swiftshader'):
            options.add_argument(word)
        program = shutil.which('chromium') or shutil.which('chromium-browser')
        if program is None or shutil.which('chromedriver') is None:
            raise SystemExit('error: chromium or its driver is not installed')
        options.binary_location = program
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(
            executable_path=shutil.which('chromedriver')))
        self._images = images
        self._resize(DESKTOP)

    def _resize(self, size: tuple[int, int, float]) -> None:
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': size[0], 'height': size[1], 'deviceScaleFactor': size[2],
            'mobile': size is PHONE})

    def wait_for_text(self, words: str) -> None:
        """Wait until the page says something."""
        wait_for(lambda: words in self.driver.execute_script('return document.body.innerText'),
                 f'{words!r} on the page')

    def press(self, name: str) -> None:
        """Press a button."""
        self.driver.execute_script(
            '[...document.querySelectorAll("button")].find(b => b.innerText.trim().endsWith('
            'arguments[0])).click()', name)

    def take(self, name: str, size: tuple[int, int, float] = DESKTOP) -> None:
        """Save what is shown."""
        self._resize(size)
        time.sleep(3.0)  # the charts follow the window
        picture = self.driver.execute_cdp_cmd('Page.captureScreenshot', {'format': 'png'})
        (self._images / f'{name}.png').write_bytes(base64.b64decode(picture['data']))
        self._resize(DESKTOP)
        print(f'{name}.png', flush=True)


def photograph(camera: Camera, url: str, start_run: Callable[[], None], report: Path) -> None:
    """Follow one run from its first candidate to its report."""
    camera.driver.get(url)
    camera.wait_for_text('Waiting for the optimiser')
    start_run()
    camera.wait_for_text('Episode 1:')
    camera.take('page-start')
    camera.wait_for_text(f'{EPISODES // 2} of {EPISODES} episodes')
    camera.take('page-middle')
    camera.take('page-phone', PHONE)
    camera.wait_for_text(f'{EPISODES - 6} of {EPISODES} episodes')
    camera.press('STOP')
    camera.wait_for_text('Press Reset, then Arm')
    camera.take('page-stopped')
    camera.take('page-phone-stopped', PHONE)
    camera.press('Reset')
    camera.wait_for_text('reset:')
    camera.press('Arm')
    camera.wait_for_text('Finished')
    camera.take('page-end')
    wait_for(report.exists, 'the report')
    camera.driver.get(report.as_uri())
    camera.take('report', (1280, 1400, 1.0))


def show_made_up(count: int, robot: str, port: int) -> None:
    """Serve the page of a made-up run; never returns."""
    from pacsbo_ros.view.live import Live
    from pacsbo_ros.view.page import serve
    made, live, start = MadeUp(count, robot), Live(), time.monotonic()
    told = made.episodes - 1
    for number in range(told - 5, told + 1):
        live.say(f'episode {number} completed: reward {made.rewards[number - 1]:.5f}', 'good')

    def feed() -> None:
        made.tell(live, told)
        while True:
            live.see_safety(made.safety(time.monotonic() - start))
            time.sleep(0.1)

    threading.Thread(target=feed, daemon=True).start()
    serve(live, print, print, '127.0.0.1', port, '', 5.0, 60.0)


def photograph_made_up(images: Path) -> None:
    """Take page and report of every made-up run."""
    camera = Camera(images)
    try:
        for count, robot in MADE_UP:
            port, name = free_port(), f'{count}-{robot}'
            page = subprocess.Popen([sys.executable, '-m', 'tools.page_pictures', '--serve',
                                     str(count), robot, str(port)])
            try:
                url = f'http://127.0.0.1:{port}/'
                wait_for(lambda u=url: urlopen(u, timeout=10).status == 200, 'the page')
                camera.driver.get(url)
                camera.wait_for_text('run made-up')
                camera.take(f'page-{name}', (1440, 1290, 1.0))
                camera.take(f'phone-{name}', PHONE)
            finally:
                page.terminate()
                page.wait(60)
            with tempfile.TemporaryDirectory() as folder:
                report = write_report(MadeUp(count, robot).write(Path(folder) / name))
                camera.driver.get(report.as_uri())
                height = camera.driver.execute_script('return document.body.scrollHeight')
                camera.take(f'report-{name}', (1280, int(height), 1.0))
    finally:
        camera.driver.quit()


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """Start page and run in a domain of their own, take the pictures, end both."""
    parser = argparse.ArgumentParser(prog='python -m tools.page_pictures', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', nargs='?', type=Path, default=IMAGES)
    parser.add_argument('--made-up', action='store_true', help='show made-up runs')
    parser.add_argument('--serve', nargs=3, metavar=('VALUES', 'ROBOT', 'PORT'),
                        help='serve the page of one made-up run until somebody ends it')
    options = parser.parse_args()
    if options.serve:
        count, robot, number = options.serve
        show_made_up(int(count), robot, int(number))
    images = options.folder
    images.mkdir(parents=True, exist_ok=True)
    if options.made_up:
        photograph_made_up(images)
        return 0
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', '94')
    port = free_port()
    processes = []

    def start(*words: str) -> None:
        processes.append(subprocess.Popen([sys.executable, '-m', *words], start_new_session=True,
                                          stdout=subprocess.DEVNULL))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / 'furuta'
        camera = Camera(images)
        try:
            start('pacsbo_ros.nodes.dashboard', '--ros-args', '-p', f'port:={port}')
            url = f'http://127.0.0.1:{port}/'
            wait_for(lambda: urlopen(url, timeout=10).status == 200, 'the page')
            photograph(camera, url, lambda: start(
                'pacsbo_ros.nodes.run', f'iterations:={EPISODES}', 'seed:=1', 'stay:=true',
                f'run_dir:={folder}'), folder / 'report.html')
        finally:
            camera.driver.quit()
            for process in reversed(processes):
                process.send_signal(signal.SIGINT)
            for process in processes:
                process.wait(60)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
