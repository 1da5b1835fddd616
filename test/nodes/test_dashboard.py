# Copyright the pacsbo_ros developers. Apache-2.0.
"""The live page in a real browser: what is pressed happens, what is not allowed does not."""
import os
import socket
import time
from urllib.request import Request, urlopen

import pytest

from pacsbo_ros.msg import OptimizerState, SafetyStatus

pytest.importorskip('nicegui', reason='the live page needs nicegui')


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def eventually(condition, what, patience=60.0):
    """Return the first true value of a condition."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f'{what} did not happen within {patience} s')


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
        from selenium.common.exceptions import StaleElementReferenceException
        self.driver, self._stale = browser.driver, StaleElementReferenceException
        browser.open(url, **size)
        self.wait_for_text('run run')  # the graph's news arrive: the page is connected

    def text(self):
        try:
            return self.driver.find_element('tag name', 'body').text
        except self._stale:
            return ''

    def wait_for_text(self, words):
        return eventually(lambda: words in self.text(), f'{words!r} on the page')

    def press(self, name):
        """Click a button by its name, where a person would: it has to be visible."""
        button = self.driver.find_element(
            'xpath', f'//button[normalize-space(translate(., "\u00a0", " "))="{name}" or '
            f'.//span[normalize-space(.)="{name}"]]')
        self.driver.execute_script('arguments[0].scrollIntoView({block: "center"})', button)
        button.click()


@pytest.fixture
def run(graph, monkeypatch):
    """A run that goes on, and a function that starts its page."""
    graph.start_monitor()
    graph.start_controller(speed=10.0)  # an episode takes half a second
    graph.start_optimizer(iterations=1000)
    graph.client.wait('optimizer_state', lambda m: m.iteration >= 3, patience=60)

    def start(**parameters):
        port = free_port()
        with monkeypatch.context() as patch:  # NiceGUI behaves otherwise under pytest
            patch.delenv('PYTEST_CURRENT_TEST')
            graph.page = graph.start('dashboard', port=port, **parameters)
        url = f'http://127.0.0.1:{port}/'
        eventually(lambda: serves(url) or graph.page.popen.poll() is not None, 'the page')
        assert graph.page.popen.poll() is None, graph.page.output
        return url

    graph.start_page = start
    return graph


def test_pause_resume_stop_reset_and_arm_reach_the_graph(run, browser):
    page = LivePage(browser, run.start_page())
    client = run.client
    page.press('Pause')
    client.wait('optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    page.wait_for_text('Paused')
    page.press('Resume')
    client.wait('optimizer_state', lambda m: m.state != OptimizerState.PAUSED)

    page.press('STOP')
    stopped = client.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED)
    assert 'operator' in stopped.reason
    page.wait_for_text('Stopped')
    page.wait_for_text('Press Reset, then Arm')
    told = client.last('optimizer_state').iteration
    page.press('Reset')
    client.wait('safety_event', lambda m: m.state == SafetyStatus.DISARMED)
    page.press('Arm')
    client.wait('safety_event', lambda m: m.state == SafetyStatus.ARMED)
    client.wait('optimizer_state', lambda m: m.iteration > told)
    page.press('Finish')
    client.wait('optimizer_state', lambda m: m.state == OptimizerState.FINISHED, patience=60)
    page.wait_for_text('Finished')

    # Everything came from the page's own address, and the browser had nothing to complain about.
    assert all(r.startswith(('http://127.0.0.1:', 'data:', 'blob:')) for r in browser.requests())
    assert browser.errors() == []
    shapes = page.driver.execute_script(
        'return document.querySelectorAll("canvas").length')
    assert shapes >= 5, 'the scene and four charts are drawn'


def test_on_a_phone_stop_stays_in_sight_and_nothing_sticks_out(run, browser):
    page = LivePage(browser, run.start_page(), width=390, height=844)
    page.wait_for_text('EVENTS')
    assert browser.overflow() <= 0
    page.driver.execute_script('window.scrollTo(0, document.body.scrollHeight)')
    spot = page.driver.execute_script('''
        const b = [...document.querySelectorAll("button")].find(b => b.innerText === "STOP");
        const r = b.getBoundingClientRect();
        const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
        return [r.top, r.bottom, r.width, b.contains(top)];''')
    assert 0 <= spot[0] < spot[1] <= 844
    assert spot[2] >= 100
    assert spot[3], 'something covers the button'
    page.press('STOP')
    run.client.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED)


def test_with_a_token_only_stop_works_without_it(run, browser):
    url = run.start_page(token='right')
    page = LivePage(browser, f'{url}?token=wrong')
    page.wait_for_text('wrong token')
    page.press('Pause')
    page.wait_for_text('pause needs the token')
    told = run.client.last('optimizer_state').iteration
    run.client.wait('optimizer_state', lambda m: m.iteration > told)  # it was not paused

    field = page.driver.find_element('css selector', 'input[type=password]')
    field.send_keys('nonsense\n')
    page.wait_for_text('a wrong token was entered')
    field.send_keys('right\n')
    page.wait_for_text('unlocked')
    page.press('Pause')
    run.client.wait('optimizer_state', lambda m: m.state == OptimizerState.PAUSED)

    page = LivePage(browser, url)  # a new tab knows no token, and may stop all the same
    page.press('Resume')
    page.wait_for_text('resume needs the token')
    page.press('STOP')
    run.client.wait('safety_event', lambda m: m.state == SafetyStatus.STOPPED)
    assert run.client.last('optimizer_state').state == OptimizerState.PAUSED


def test_foreign_origins_and_malformed_messages_change_nothing(run):
    websockets = pytest.importorskip('websockets.sync.client')
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    url = run.start_page()
    path = url.replace('http', 'ws', 1) + '_nicegui_ws/socket.io/?EIO=4&transport=websocket'

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
    eventually(lambda: run.page.output.count('refused') >= 7, 'seven refusals in the log')
    assert serves(url)
    status = run.client.last('safety_status')
    assert status.state == SafetyStatus.ARMED
    told = run.client.last('optimizer_state').iteration
    run.client.wait('optimizer_state', lambda m: m.iteration > told)


@pytest.mark.parametrize(('parameters', 'words'), [
    ({'host': '0.0.0.0'}, 'no token is set'),
    ({'host': '127.0.0.1', 'port': 99999}, 'port is 99999'),
    ({'host': 'no.such.host.invalid', 'token': 'x'}, 'no.such.host.invalid')])
def test_it_refuses_to_start_in_one_clear_line(graph, parameters, words):
    process = graph.start('dashboard', **parameters)
    assert process.wait() == 2
    lines = [line for line in process.output.splitlines() if line.startswith('error:')]
    assert len(lines) == 1
    assert words in lines[0]
    assert 'Traceback' not in process.output


def test_a_port_in_use_is_named(graph):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = graph.start('dashboard', port=port)
        assert process.wait() == 2
    assert f'port {port}: Address already in use' in process.output
    assert 'Traceback' not in process.output


def test_without_nicegui_it_says_what_to_install(graph, monkeypatch, tmp_path):
    (tmp_path / 'nicegui.py').write_text(
        "raise ModuleNotFoundError('No module named nicegui', name='nicegui')\n")
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    process = graph.start('dashboard', port=free_port())
    assert process.wait() == 2
    assert process.output.strip().splitlines()[-1] == (
        'error: the live page needs NiceGUI: pip install "pacsbo_ros[dashboard]" (or pip install '
        'nicegui)')
