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

"""The live page in a real browser: what is pressed happens, what is not allowed does not."""
import contextlib
from functools import partial
import importlib.util
import os
from pathlib import Path
import re
import socket
import threading
import time
from urllib.request import Request, urlopen

from faults.graph import wait_for
from pacsbo_ros.msg import EpisodeResult, GainMap, OptimizerState, SafetyStatus
from pacsbo_ros.nodes.dashboard import Dashboard
from pacsbo_ros.nodes.spinning import EVENTS, HEARTBEAT, LATCHED
from pacsbo_ros.view import words
from pacsbo_ros.view.live import Live
import pytest
from rclpy.executors import SingleThreadedExecutor

HEARD = ('optimizer_state', 'safety_status', 'safety_event')  # not every sample: that takes time
PATIENCE = 120.0  # s; the browser draws in software
AGAIN = 10.0  # s until a button without effect is pressed again
SILENCE = 5.0  # s that one node may be held up
eventually = partial(wait_for, patience=PATIENCE, period=0.1)  # and has more to do than to answer


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def serves(url):
    """Tell whether the page answers."""
    try:
        with urlopen(url, timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


class LivePage:
    """The page as a person uses it."""

    def __init__(self, browser, url, **size):
        self.driver = browser.driver
        browser.open(url, **size)
        self.wait_for_text('run run')  # the graph's news arrive: the page is connected

    def text(self):
        return self.driver.execute_script('return document.body.innerText')

    def wait_for_text(self, words):
        try:
            return eventually(lambda: words in self.text(), f'{words!r} on the page')
        except AssertionError as error:
            raise AssertionError(f'{error}; it says {self.text()}') from None

    def press(self, name):
        """Click a button by its name, where a person would: it has to be visible."""
        from selenium.common.exceptions import StaleElementReferenceException

        def clicked():
            button = self.driver.find_element(
                'xpath', f'//button[normalize-space(translate(., "\u00a0", " "))="{name}" or '
                f'.//span[normalize-space(.)="{name}"]]')
            try:
                self.driver.execute_script(
                    'arguments[0].scrollIntoView({block: "center"})', button)
                button.click()
            except StaleElementReferenceException:  # the page connected anew in between
                return False
            return True
        eventually(clicked, f'a click on {name}')


class Pages:
    """A run that goes on, and two pages that show it: `open` to everybody, and `locked`."""

    def __init__(self, graph):
        self.graph, self.client = graph, graph.client
        # Pages and a browser take the machine for seconds; a graph that they hold up for longer
        # than these limits is one that they disturb.
        graph.start_monitor(state_timeout=SILENCE, heartbeat_timeout=SILENCE)
        # Short episodes instead of a fast plant: the browser needs the time of the machine.
        graph.start_controller(speed=1.0, episode_duration=2.0, push_time=1.0)
        graph.start_optimizer(iterations=1000)
        self.port = free_port()
        self.open, self.url = self._start(self.port, silence=15.0)
        self.locked, self.locked_url = self._start(free_port(), token='right')
        for node, url in ((self.open, self.url), (self.locked, self.locked_url)):
            eventually(lambda n=node, u=url: serves(u) or n.popen.poll() is not None, 'the page')
            assert node.popen.poll() is None, node.output

    def _start(self, port, **parameters):
        with pytest.MonkeyPatch.context() as patch:  # NiceGUI behaves otherwise under pytest
            patch.delenv('PYTEST_CURRENT_TEST')
            # The browser draws in software; it need not do so twenty times a second.
            return (self.graph.start('dashboard', port=port, rate=2.0, **parameters),
                    f'http://127.0.0.1:{port}/')

    def wait(self, topic, condition):
        """Wait for a message that fits, as long as a page may take to cause it."""
        return self.client.wait(topic, condition, PATIENCE)

    def press(self, page, name, topic, condition):
        """Press a button; again if nothing comes of it, as a person would."""
        # A page that a busy machine holds up for longer than `silence` is let go of and connects
        # anew: what was pressed in between is lost.
        deadline = time.monotonic() + PATIENCE
        while True:
            page.press(name)
            try:
                return self.client.wait(topic, condition, AGAIN)
            except AssertionError as error:
                if time.monotonic() > deadline:
                    raise AssertionError(f'{error}; the page says {page.text()}') from None

    def wait_for_episodes(self, count=1):
        """Wait until this many more episodes are told, with the monitor's consent."""
        told = self.client.last('optimizer_state').iteration
        self.wait('optimizer_state', lambda m: m.iteration >= told + count)
        assert self.client.last('safety_status').state == SafetyStatus.ARMED

    def go_on(self):
        """Bring the run back to where a test may begin."""
        self.wait('safety_status', bool)
        self.wait('optimizer_state', bool)

        def goes_on():  # a test that failed may have left it anywhere on its way
            safety, run = (self.client.last(t) for t in ('safety_status', 'optimizer_state'))
            for there, service in ((safety.state == SafetyStatus.STOPPED, 'reset'),
                                   (safety.state == SafetyStatus.DISARMED, 'arm'),
                                   (run.state == OptimizerState.PAUSED, 'resume')):
                if there:
                    self.client.call(service, PATIENCE)
                    return False
            return safety.state == SafetyStatus.ARMED and run.iteration >= 2
        eventually(goes_on, 'a run that goes on')


@pytest.fixture(scope='module', autouse=True)
def nicegui():
    """Skip where it is not installed."""
    pytest.importorskip('nicegui', reason='the live page needs nicegui')


@pytest.fixture(scope='module')
def pages(common_graph):
    """Return the run and its pages, for all tests of this module."""
    return Pages(common_graph)


@pytest.fixture
def run(pages):
    """Return a run that is armed and goes on, whatever the last test did."""
    pages.go_on()
    return pages


@pytest.fixture(scope='module')
def tabs():
    """Return the module of the benchmark's open page, which draws nothing."""
    pytest.importorskip('websockets.sync.client', reason='a tab needs websockets')
    path = Path(__file__).resolve().parents[2] / 'bench' / 'bench_dashboard.py'
    spec = importlib.util.spec_from_file_location('bench_dashboard', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ten_tabs(tabs):
    """Open ten tabs of a page; whatever happens, they are closed after the test."""
    with contextlib.ExitStack() as opened:
        def start(port):
            made = []
            for _ in range(10):
                made.append(tabs.Tab(port))
                opened.callback(made[-1].close)
            return made
        yield start


def memory(process):
    """Return what a process holds in memory [MB]."""
    status = Path(f'/proc/{process.popen.pid}/status').read_text()
    return int(re.search(r'VmRSS:\s+(\d+) kB', status).group(1)) / 1024


def test_pause_resume_stop_reset_and_arm_reach_the_graph(run, browser):
    page = LivePage(browser, run.url)
    run.press(page, 'Pause', 'optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    page.wait_for_text('Paused')
    run.press(page, 'Resume', 'optimizer_state', lambda m: m.state != OptimizerState.PAUSED)

    page.press('STOP')
    stopped = run.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED)
    assert 'operator' in stopped.reason
    page.wait_for_text('Stopped')
    page.wait_for_text('Press Reset, then Arm')
    told = run.client.last('optimizer_state').iteration
    run.press(page, 'Reset', 'safety_event', lambda m: m.state == SafetyStatus.DISARMED)
    run.press(page, 'Arm', 'safety_event', lambda m: m.state == SafetyStatus.ARMED)
    run.wait('optimizer_state', lambda m: m.iteration > told)

    # Everything came from the page's own address, and the browser had nothing to complain about.
    assert all(r.startswith(('http://127.0.0.1:', 'data:', 'blob:')) for r in browser.requests())
    assert browser.errors() == []
    eventually(lambda: page.driver.execute_script(
        'return document.querySelectorAll("canvas").length') >= 6, 'the scene and five charts')
    for said in ('alpha', 'theta', 'Largest |signal|', 'Margins of the constraints', 'risk spent'):
        page.wait_for_text(said)


def test_on_a_phone_stop_stays_in_sight_and_nothing_sticks_out(run, browser):
    page = LivePage(browser, run.locked_url, width=375, height=667)
    page.wait_for_text('Events')
    assert browser.overflow() <= 0
    for place in ('0', 'document.body.scrollHeight / 2', 'document.body.scrollHeight'):
        page.driver.execute_script(f'window.scrollTo(0, {place})')
        top, bottom, width, free = page.driver.execute_script("""
            const b = [...document.querySelectorAll("button")].find(b => b.innerText === "STOP");
            const r = b.getBoundingClientRect();
            const front = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
            return [r.top, r.bottom, r.width, b.contains(front)];""")
        assert 0 <= top < bottom <= 667
        assert width >= 100
        assert free, 'something covers the button'
    page.press('STOP')
    run.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED)


def test_with_a_token_only_stop_works_without_it(run, browser):
    page = LivePage(browser, f'{run.locked_url}?token=wrong')
    page.wait_for_text('wrong token')
    page.press('Pause')
    page.wait_for_text('pause needs the token')
    run.wait_for_episodes()  # it was not paused

    field = page.driver.find_element('css selector', 'input[type=password]')
    field.send_keys('nonsense\n')
    page.wait_for_text('a wrong token was entered')
    eventually(lambda: run.locked.output.count('refused') >= 3, 'three refusals in the log')
    field.send_keys('right\n')
    page.wait_for_text('unlocked')
    run.press(page, 'Pause', 'optimizer_state', lambda m: m.state == OptimizerState.PAUSED)

    page = LivePage(browser, run.locked_url)  # a new tab knows no token, and may stop all the same
    page.press('Resume')
    page.wait_for_text('resume needs the token')
    page.press('STOP')
    run.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED)
    assert run.client.last('optimizer_state').state == OptimizerState.PAUSED


def test_foreign_origins_and_malformed_messages_change_nothing(run):
    websockets = pytest.importorskip('websockets.sync.client')
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    url = run.url
    path = url.replace('http', 'ws', 1) + '_nicegui_ws/socket.io/?EIO=4&transport=websocket'
    before = run.open.output.count('refused')

    for origin in ('http://evil.example', None):
        with pytest.raises(InvalidStatus, match='403'):
            websockets.connect(path, origin=origin)
    with pytest.raises(OSError, match='403'):
        urlopen(Request(url, headers={'Host': 'evil.example'}), timeout=10)

    for frame in ('no message', '42["event",{"id":1}]', b'\x00\x01\x02', '42' + '[' * 1000):
        with websockets.connect(path, origin=url.rstrip('/')) as connection:
            connection.send(frame)
            with pytest.raises(ConnectionClosed):
                list(connection)  # what the server still says, until it closes
    eventually(lambda: run.open.output.count('refused') >= before + 7, 'seven refusals in the log')
    assert serves(url)
    run.wait_for_episodes()


def test_ten_tabs_reloads_and_a_browser_that_hangs_change_nothing(run, browser, ten_tabs):
    page = LivePage(browser, run.url)
    events = len(run.client.messages['safety_event'])
    before = memory(run.open)
    opened = ten_tabs(run.port)
    page.wait_for_text('11 pages open')
    run.wait_for_episodes()
    eventually(lambda: all(tab.updates for tab in opened), 'an update of every page')
    page.driver.refresh()
    page.wait_for_text('11 pages open')
    opened[0].hung = True  # it no longer answers and is let go of; the others stay
    page.wait_for_text('10 pages open')
    seen = [tab.updates for tab in opened]
    run.wait_for_episodes()
    eventually(lambda: all(tab.updates > count for tab, count in zip(opened[1:], seen[1:],
                                                                     strict=True)),
               'an update of every other page')
    assert seen[0] == opened[0].updates
    run.press(page, 'Pause', 'optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    page.press('Resume')
    for tab in opened:
        tab.close()
    eventually(lambda: 'pages open' not in page.text(), 'the other pages to be gone')
    run.wait_for_episodes()
    assert len(run.client.messages['safety_event']) == events, 'the monitor noticed'
    assert memory(run.open) - before < 200


def test_finish_ends_the_run_and_an_optimiser_that_leaves_early_is_missed(pages, browser):
    """The last one: the run of this module is over after it."""
    pages.go_on()
    page = LivePage(browser, pages.url)
    pages.press(page, 'Finish', 'optimizer_state', lambda m: m.state == OptimizerState.FINISHED)
    page.wait_for_text('Finished')

    optimizer = pages.graph.start_optimizer(run_dir=str(pages.graph.folder / 'another'))
    page.wait_for_text('run another')
    optimizer.popen.terminate()
    page.wait_for_text('The optimiser is gone')


def test_codes_and_sizes_that_nobody_expects_do_not_end_its_thread(graph):
    node, live = graph.client.node, Live()
    publishers = {topic: node.create_publisher(kind, topic, qos) for topic, kind, qos in (
        ('optimizer_state', OptimizerState, LATCHED), ('safety_event', SafetyStatus, EVENTS),
        ('safety_status', SafetyStatus, HEARTBEAT), ('episode_result', EpisodeResult, EVENTS),
        ('gain_map', GainMap, LATCHED))}
    page = Dashboard(live, context=graph.client.context, namespace=f'/{graph.namespace}')
    executor = SingleThreadedExecutor(context=graph.client.context)
    executor.add_node(page)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        wait_for(lambda: all(p.get_subscription_count() for p in publishers.values()), 'the page')
        for topic, message in (
                ('optimizer_state', OptimizerState(run_id='x', state=99, iteration=3)),
                ('safety_event', SafetyStatus(state=99, reason='what')),
                ('safety_status', SafetyStatus(state=99, signals=['a', 'b'], newest=[1.0])),
                ('gain_map', GainMap(names=['a'], lower=[0.0])),
                ('episode_result', EpisodeResult(outcome=99, is_datum=True, iteration=4))):
            publishers[topic].publish(message)
        wait_for(lambda: any('episode 4 outcome 99' in e.text for e in live.events()), 'an event')
        wait_for(lambda: live.snapshot.optimizer is not None, 'a state')
        assert words.headline(live.snapshot, 99)[0] == 'State 99'
        publishers['optimizer_state'].publish(
            OptimizerState(run_id='x', state=OptimizerState.PAUSED, reason='still here'))
        wait_for(lambda: any('still here' in e.text for e in live.events()), 'the next state')
        assert thread.is_alive()
    finally:
        executor.shutdown()
        page.destroy_node()


def test_it_refuses_to_start_in_one_clear_line(alone):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        started = [(alone.start('dashboard', **parameters), said) for parameters, said in (
            ({'host': '0.0.0.0'}, 'no token is set'), ({'port': 99999}, 'port is 99999'),
            ({'host': 'no.such.host.invalid', 'token': 'x'}, 'no.such.host.invalid'),
            ({'port': port}, f'port {port}: Address already in use'))]
        for process, said in started:
            assert process.wait() == 2
            lines = [line for line in process.output.splitlines() if line.startswith('error:')]
            assert len(lines) == 1
            assert said in lines[0]
            assert 'Traceback' not in process.output


def test_without_nicegui_it_says_what_to_install(alone, monkeypatch, tmp_path):
    (tmp_path / 'nicegui.py').write_text(
        "raise ModuleNotFoundError('No module named nicegui', name='nicegui')\n")
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    process = alone.start('dashboard', port=free_port())
    assert process.wait() == 2
    assert process.output.strip().splitlines()[-1] == (
        'error: the live page needs NiceGUI: pip install "pacsbo_ros[dashboard]" (or pip install '
        'nicegui)')
