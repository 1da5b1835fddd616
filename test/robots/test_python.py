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

"""A robot in a few lines of Python, without ROS."""
from pathlib import Path
import re
import sys
import threading
import time

from pacsbo_ros.robots.contract import Outcome, Refusal, run_episode
from pacsbo_ros.robots.python import Robot, Signal, Tunable
import pytest


class Cart(Robot):
    tunables = (Tunable('k', 'N/m', 0.0, 50.0, 8.0), Tunable('d', 'N s/m', 0.0, 20.0, 2.0))
    signals = (Signal('x', 'm', 0.5),)
    commands = (Signal('force', 'N', 20.0),)
    constraints = ('x',)
    gate = None

    def run(self, values, seed):
        x, v, cost, t = 0.2, 0.0, 0.0, 0.0
        while t < 1.0 and self.watch(t, [x], [-values['k'] * x - values['d'] * v]):
            if self.gate is not None:
                self.gate.wait(5.0)
            v += 0.01 * (-values['k'] * x - values['d'] * v + values.get('push', 0.0))
            x, t = x + 0.01 * v, t + 0.01
            cost += abs(x)
        return -cost / 100, [1.0 - self.peaks['x'] / 0.5]


class Runaway(Cart):

    def run(self, values, seed):
        x = 0.0
        while self.watch(10 * x, [x]):
            x += 0.1
        return 0.0, [0.3]  # a margin that forgets the limit


def test_an_episode_gives_reward_margins_peaks_and_trace():
    result = run_episode(Cart(), {'k': 10.0}, 3)
    assert result.outcome is Outcome.COMPLETED
    assert result.is_datum
    assert result.peaks == (0.2,)
    assert result.margins == (pytest.approx(0.6),)
    assert result.scaled_reward == result.reward < 0
    assert result.trace.shape[1] == 3
    assert len(result.trace) >= 100


def test_values_that_are_not_given_have_their_defaults_and_unknown_ones_are_refused():
    robot = Cart()
    assert run_episode(robot, {}, 0).reward == run_episode(robot, {'k': 8.0, 'd': 2.0}, 0).reward
    with pytest.raises(Refusal, match='kk is not a value of cart; it has k, d'):
        robot.begin({'kk': 1.0}, 0)
    with pytest.raises(Refusal, match=r'k is 60, outside \[0, 50\]'):
        robot.begin({'k': 60.0}, 0)


def test_a_limit_that_is_passed_ends_the_episode_and_is_an_unsafe_datum_whatever_run_says():
    result = run_episode(Runaway(), {}, 0)
    assert result.outcome is Outcome.TRIPPED
    assert result.is_datum
    assert min(result.margins) < 0
    assert 'x 0.6 m exceeds 0.5 m' in result.reason


def test_a_stop_reaches_run_and_is_no_datum():
    robot = Cart()
    robot.gate, robot.halted = threading.Event(), []
    robot.halt = lambda: robot.halted.append(True)
    robot.begin({}, 0)
    robot.stop(Outcome.ABORTED_BY_MONITOR, 'somebody stopped it')
    robot.gate.set()
    deadline = time.monotonic() + 30
    while not robot.tick().over and time.monotonic() < deadline:
        time.sleep(0.001)
    result = robot.result()
    assert (result.outcome, result.reason) == (Outcome.ABORTED_BY_MONITOR, 'somebody stopped it')
    assert not result.is_datum
    assert robot.halted
    assert len(result.trace) < 100


@pytest.mark.parametrize(('answer', 'words'), [
    (lambda: 1 / 0, 'ZeroDivisionError'), (lambda: (0.0, [1.0, 2.0]), '1 finite margins'),
    (lambda: (float('nan'), [1.0]), 'finite reward'), (lambda: None, 'TypeError'),
    (lambda: sys.exit(3), 'SystemExit: 3')])
def test_what_goes_wrong_in_run_is_told_and_is_no_datum(answer, words):
    robot, halted = Cart(), []
    robot.run = lambda values, seed: answer()
    robot.halt = lambda: halted.append(True)
    result = run_episode(robot, {}, 0)
    assert result.outcome is Outcome.INFRASTRUCTURE
    assert not result.is_datum
    assert words in result.reason
    assert halted, 'run() had no chance to switch off'


def test_a_halt_that_fails_after_run_has_failed_is_told():
    robot = Cart()
    robot.run = robot.halt = lambda *_: (_ for _ in ()).throw(OSError('the cable is out'))
    assert 'halt() failed, too: OSError: the cable' in run_episode(robot, {}, 0).reason


def test_a_signal_that_is_no_number_ends_the_episode():
    robot = Cart()
    robot.run = lambda values, seed: (0.0, [1.0 if robot.watch(0.0, [float('nan')]) else 0.5])
    result = run_episode(robot, {}, 0)
    assert result.outcome is Outcome.INVALID_STATE
    assert not result.is_datum


def test_after_a_bug_in_run_nothing_moves_again_but_trouble_of_the_world_may_pass():
    for bug, words in ((lambda *_: (0.0, [1.0, 2.0]), '1 finite margins'),
                       (lambda *_: sys.exit(), 'SystemExit')):
        robot = Cart()
        robot.run = bug
        run_episode(robot, {}, 0)
        with pytest.raises(Refusal, match=f'mended first.*{words}'):
            robot.begin({}, 0)
    robot = Cart()
    robot.run = lambda values, seed: (_ for _ in ()).throw(OSError('the cable is out'))
    assert 'the cable is out' in run_episode(robot, {}, 0).reason
    robot.begin({}, 0)


def test_the_robot_in_the_docs_works_as_it_is_pasted():
    page = Path(__file__).parents[2].joinpath('docs', 'your_robot.md').read_text(encoding='utf-8')
    code, = re.findall(r'```python\n(.*?)```', page, re.DOTALL)
    assert len(code.splitlines()) <= 25
    space = {}
    exec(code, space)  # noqa: S102
    motor = space['Motor']()
    names = [t.name for t in motor.tunables]
    for start in motor.safe:
        result = run_episode(motor, dict(zip(names, start, strict=True)), 1)
        assert result.outcome is Outcome.COMPLETED
        assert min(result.margins) > 0.1
        assert -1 < result.scaled_reward < 1
    brisk = run_episode(motor, {'kp': 1.0, 'ki': 3.0}, 1)
    assert min(brisk.margins) < 0, 'there is something to keep safe'
    assert brisk.reward > result.reward, 'and something to gain'
