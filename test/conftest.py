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

"""What all tests share: patience on busy machines, and a real browser for pages."""
import contextlib
import shutil

from hypothesis import settings
import pytest

settings.register_profile('busy', deadline=None)  # a held-up process is not a failure
settings.load_profile('busy')


PATIENCE = 120.0  # s
GRAPHS = {'graph', 'common_graph', 'bench', 'launcher'}  # what runs robots, in real time


def pytest_collection_modifyitems(items):
    """Mark what needs the machine for itself, and keep all pages in one browser."""
    for item in items:
        fixtures = getattr(item, 'fixturenames', ())  # a launch test has none
        if item.path.parent.name == 'nodes' and GRAPHS & set(fixtures):
            item.add_marker(pytest.mark.graph)
        elif 'browser' in fixtures:
            item.add_marker(pytest.mark.xdist_group('browser'))


class Browser:
    """Headless Chromium with one tab."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, url, width=1440, height=900):  # noqa: A003
        """Open a page in a window of a desktop's or a phone's size."""
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 600})
        self.driver.get(url)

    def errors(self):
        """Return what the browser's console reported as errors since the last call."""
        return [entry['message'] for entry in self.driver.get_log('browser')
                if entry['level'] == 'SEVERE']

    def requests(self):
        """Return the addresses that the page asked for."""
        return self.driver.execute_script(
            'return performance.getEntriesByType("resource").map(e => e.name)')

    def overflow(self):
        """Return by how many pixels the page is wider than its window."""
        return self.driver.execute_script(
            'return document.documentElement.scrollWidth - window.innerWidth')


@pytest.fixture(scope='session')
def chromium(tmp_path_factory):
    """Start Chromium once for all tests, or skip where there is none."""
    webdriver = pytest.importorskip('selenium.webdriver', reason='page tests need selenium')
    program = shutil.which('chromium') or shutil.which('chromium-browser')
    helper = shutil.which('chromedriver')
    if not program or not helper:
        pytest.skip('page tests need chromium and chromium-driver')
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for word in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--hide-scrollbars',
                 '--no-first-run', '--disable-background-networking', '--disable-extensions',
                 '--disable-component-update', '--disable-sync',
                 '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
                 f'--user-data-dir={tmp_path_factory.mktemp("chromium")}',
                 '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'):
        options.add_argument(word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    driver = webdriver.Chrome(options=options,
                              service=webdriver.ChromeService(executable_path=helper))
    driver.set_script_timeout(PATIENCE)  # a browser that draws in software answers when it can
    yield driver
    with contextlib.suppress(Exception):
        driver.quit()


@pytest.fixture
def browser(chromium):
    """Return an empty tab without a past, which is left empty."""
    made = Browser(chromium)
    made.errors()
    yield made
    chromium.get('about:blank')
