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

"""The Qube driver against a hand-written double of Quanser's SDK; no hardware was involved."""
import math
from types import SimpleNamespace

import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta import qube
from pacsbo_ros.robots.furuta.driver import DriverError
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.qube import ACTIVE, MAX_VOLTS, QubeDriver, READY, STOPPED
from pacsbo_ros.robots.furuta.running import run_episode
import pytest


class Board:
    """Record every call; positions are set by the test."""

    def __init__(self, **options):
        self.options = options
        self.calls = []
        self.motorPosition = 0.0
        self.pendulumPosition = np.array([0.0])
        self.amplifierFault = np.zeros(1)
        self.motorStallError = 0
        self.broken = False

    def read_outputs(self):
        if self.broken:
            raise OSError('cable')

    def write_voltage(self, volts):
        if self.broken:
            raise OSError('cable')
        self.calls.append(('volts', volts))

    def write_led(self, colour):
        self.calls.append(('led', tuple(colour)))

    def terminate(self):
        self.calls.append(('terminate',))

    @property
    def volts(self):
        return [call[1] for call in self.calls if call[0] == 'volts']


@pytest.fixture
def sdk():
    boards = []

    def make(**options):
        boards.append(Board(**options))
        return boards[-1]
    return SimpleNamespace(QubeServo2=make, QubeServo3=make, boards=boards)


def was_stopped(board):
    return (board.calls[-1] == ('terminate',) and ('led', STOPPED) in board.calls
            and board.volts[-1] == 0.0)


def test_a_missing_sdk_is_named_with_the_way_out(monkeypatch):
    monkeypatch.setattr(qube, 'SDK_MODULE', 'no_such_quanser_module')
    with pytest.raises(DriverError, match=r"no_such_quanser_module.*'simulated'"):
        QubeDriver()


def test_opening_sets_zero_volts_and_shows_ready(sdk):
    QubeDriver(board=4, sdk=sdk)
    board = sdk.boards[0]
    assert board.options == {'id': 4, 'hardware': 1, 'frequency': 200, 'readMode': 0}
    assert board.calls == [('volts', 0.0), ('led', READY)]


def test_hanging_reads_half_a_turn_and_upright_reads_zero(sdk):
    driver = QubeDriver(sdk=sdk)
    board = sdk.boards[0]
    assert abs(driver.read().alpha) == pytest.approx(math.pi)
    for turn in (math.pi, -math.pi, 3 * math.pi):
        board.pendulumPosition = np.array([turn + 0.1])
        assert driver.read().alpha == pytest.approx(0.1)


def test_arm_and_voltage_both_change_sign(sdk):
    driver = QubeDriver(sdk=sdk)
    board = sdk.boards[0]
    board.motorPosition = 0.3
    assert driver.read().theta == -0.3
    driver.write(2.0)
    assert board.volts[-1] == -2.0


def test_velocities_come_from_the_filters_and_reset_forgets_them(sdk):
    driver = QubeDriver(sdk=sdk)
    board = sdk.boards[0]
    for k in range(100):
        board.motorPosition = -0.01 * k
        measurement = driver.read()
    assert measurement.theta_dot == pytest.approx(0.01 / 0.005, rel=1e-3)
    driver.reset(np.random.default_rng(0))
    assert driver.read().theta_dot == 0.0


def test_the_led_shows_whether_the_motor_may_move(sdk):
    driver = QubeDriver(sdk=sdk)
    for volts in (1.0, 1.0, 0.0):
        driver.write(volts)
    leds = [call[1] for call in sdk.boards[0].calls if call[0] == 'led']
    assert leds == [READY, ACTIVE, READY]


def test_commands_are_clipped(sdk):
    driver = QubeDriver(sdk=sdk)
    driver.write(99.0)
    assert sdk.boards[0].volts[-1] == -MAX_VOLTS


def test_closing_twice_stops_once_and_refuses_more(sdk):
    driver = QubeDriver(sdk=sdk)
    driver.write(3.0)
    driver.close()
    assert was_stopped(sdk.boards[0])
    count = len(sdk.boards[0].calls)
    driver.close()
    assert len(sdk.boards[0].calls) == count
    for use in (driver.read, lambda: driver.write(1.0)):
        with pytest.raises(DriverError, match='closed'):
            use()


def test_leaving_by_an_exception_stops_the_motor(sdk):
    def interrupted():
        with QubeDriver(sdk=sdk) as driver:
            driver.write(3.0)
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert was_stopped(sdk.boards[0])


def test_a_voltage_that_is_no_number_stops_the_motor(sdk):
    driver = QubeDriver(sdk=sdk)
    driver.write(3.0)
    with pytest.raises(ValueError, match='voltage is nan'):
        driver.write(math.nan)
    assert was_stopped(sdk.boards[0])


@pytest.mark.parametrize('name', ['amplifierFault', 'motorStallError'])
def test_a_fault_of_the_device_stops_the_motor(sdk, name):
    driver = QubeDriver(sdk=sdk)
    setattr(sdk.boards[0], name, np.ones(1))
    with pytest.raises(DriverError, match='fault'):
        driver.read()
    assert was_stopped(sdk.boards[0])


@pytest.mark.parametrize('use', [QubeDriver.read, lambda driver: driver.write(1.0)])
def test_a_broken_cable_still_terminates_the_board(sdk, use):
    driver = QubeDriver(sdk=sdk)
    sdk.boards[0].broken = True
    with pytest.raises(DriverError, match='cable'):
        use(driver)
    assert sdk.boards[0].calls[-1] == ('terminate',)


def test_a_hanging_pendulum_starts_no_episode_and_the_motor_stays_off(sdk):
    driver = QubeDriver(sdk=sdk)
    result = run_episode(driver, PAPER_GAINS)
    assert result.outcome is Outcome.START_FAILED
    assert set(sdk.boards[0].volts) == {0.0}


def test_a_board_that_cannot_be_opened_is_explained():
    def locked(**options):
        raise OSError('device busy')
    with pytest.raises(DriverError, match=r'device busy.*dead process'):
        QubeDriver(sdk=SimpleNamespace(QubeServo2=locked))


def test_only_known_versions_are_opened(sdk):
    QubeDriver(version=3, sdk=sdk)
    with pytest.raises(ValueError, match='version is 4'):
        QubeDriver(version=4, sdk=sdk)


class Card:
    """A watchdog whose time the test lets pass."""

    def __init__(self):
        self.calls, self.running, self.expired = [], False, False

    def watchdog_set_analog_expiration_state(self, channels, count, volts):
        self.calls.append(('expires to', *volts))

    def watchdog_start(self, seconds):
        assert not self.running
        self.running = True
        self.calls.append(('start', seconds))

    def watchdog_reload(self):
        if self.expired:
            raise OSError('the watchdog has expired')
        self.calls.append(('reload',))

    def watchdog_stop(self):
        self.running = False

    def watchdog_clear(self):
        self.expired = False


@pytest.fixture
def guarded(sdk):
    made = sdk.QubeServo2

    def make(**options):
        board = made(**options)
        board.card = Card()
        return board
    return SimpleNamespace(QubeServo2=make, boards=sdk.boards)


def test_the_boards_watchdog_runs_exactly_while_there_is_voltage(guarded):
    driver = QubeDriver(sdk=guarded)
    card = guarded.boards[0].card
    assert driver.watchdog == ''
    assert card.calls[0] == ('expires to', 0.0)
    assert not card.running
    for volts in (1.0, -2.0, 3.0):
        driver.write(volts)
        assert card.running
    assert card.calls[-3:] == [('start', qube.WATCHDOG), ('reload',), ('reload',)]
    driver.write(0.0)
    assert not card.running
    driver.write(1.0)
    driver.close()
    assert not card.running


def test_an_expired_watchdog_is_an_error_and_the_next_episode_starts_it_anew(guarded):
    driver = QubeDriver(sdk=guarded)
    board = guarded.boards[0]
    driver.write(1.0)
    board.card.expired = True
    with pytest.raises(DriverError, match='watchdog'):
        driver.write(1.0)
    assert board.volts[-1] == 0.0
    driver.write(0.0)
    driver.write(1.0)
    assert board.card.running


def test_a_board_without_a_watchdog_says_so(sdk):
    driver = QubeDriver(sdk=sdk)
    assert 'card' in driver.watchdog
    driver.write(1.0)
    assert sdk.boards[0].volts[-1] == -1.0
