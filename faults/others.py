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

"""Faults of a whole graph: the order of start, a lost launcher, a controller that disobeys."""
from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import fcntl
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import time

from faults.graph import wait_for
from faults.ledger import complaints
from faults.loop import LIMIT, limit_in_the_loop, qube_killed, swing_up_beyond
from faults.readers import damaged_files
from faults.rig import HERE, Rig
from faults.rows import Row
from faults.sensors import false_alarms, lies_told
from pacsbo_ros.msg import OptimizerState

HOLD = 4.0  # s, at least three more than every timeout of the graph


@contextlib.contextmanager
def judged(row: Row, rig: Rig) -> Iterator[Rig]:
    """Count a repeat in a rig of its own: what does not happen in it is a complaint."""
    row.repeats += 1
    try:
        yield rig
        row.recovered += 1
    except AssertionError as error:
        row.complain(f'{error}; {rig.words()}')
    finally:
        rig.close()


def order_of_start(repeats: int, folder: Path) -> Row:
    """Start all processes in random order with random pauses."""
    row = Row('any order of start', 'the run begins')
    for number in range(repeats):
        with judged(row, Rig(folder / f'order{number}')) as rig:
            chance = random.Random(number)
            names = [*rig.members, 'optimizer']
            chance.shuffle(names)
            rig.run = rig.folder / 'run'
            for name in names:
                rig.start_optimizer() if name == 'optimizer' else rig.start(name)
                time.sleep(chance.uniform(0.0, 1.0))
            rig.recover()
            for words in complaints(rig):
                row.complain(words)
    return row


def _is_free(journal: Path) -> bool:
    """Tell whether nobody writes to a journal any more."""
    if not journal.exists():
        return True
    with journal.open('rb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def ctrl_c(number: int) -> Callable[[int, Path], Row]:
    """Return what sends a signal to the whole bring-up at any time, and resumes the run."""
    def end(repeats: int, folder: Path) -> Row:
        name = signal.Signals(number).name
        row = Row(f'bring-up: {name}', 'everything ends')
        chance = random.Random(0)
        run, told = folder / f'bringup-{name}', 0
        for _ in range(repeats):
            row.repeats += 1
            begun = (run / 'episodes.jsonl').exists()
            words = [f'resume:={run}' if begun else f'run_dir:={run}', 'iterations:=10000',
                     'speed:=max', f'namespace:={name.lower()}']
            process = subprocess.Popen(
                [sys.executable, '-m', 'pacsbo_ros.nodes.run', *words], cwd=folder,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ))
            time.sleep(chance.uniform(1.0, 12.0))
            process.send_signal(number)
            output, _ = process.communicate(timeout=120)
            # Python itself shows where an import was interrupted; anything else is our fault.
            code = -number if number == signal.SIGKILL else 130
            wait_for(lambda: _is_free(run / 'episodes.jsonl'), 'the end of the optimiser', 60.0)
            if process.returncode != code or ('Traceback' in output and 'importlib' not in output):
                row.complain(f'code {process.returncode}: {output[-500:]}')
            if (run / 'episodes.jsonl').exists():
                lines = (run / 'episodes.jsonl').read_text().splitlines()[1:]
                numbers = [json.loads(line)['trial']['iteration'] for line in lines]
                if numbers != list(range(1, len(numbers) + 1)) or len(numbers) < told:
                    row.complain(f'iterations {numbers}, {told} were told before')
                told = len(numbers)
            row.recovered += 1
        return row
    return end


def launcher_lost(number: int) -> Callable[[int, Path], Row]:
    """Return what takes the launcher away while a plant of its own is driven."""
    def lose(repeats: int, folder: Path) -> Row:
        name = signal.Signals(number).name
        row = Row(f'launcher lost: {name}', 'zero volts', LIMIT)
        for repeat in range(repeats):
            with judged(row, Rig(folder / f'{name}{repeat}', operator=False)) as rig, \
                    contextlib.ExitStack() as ending:
                rig.start('plant')
                launcher = subprocess.Popen(
                    [sys.executable, '-m', 'pacsbo_ros.nodes.run', 'plant:=topics',
                     f'namespace:={rig.graph.namespace}', f'run_dir:={rig.folder / "run"}'],
                    cwd=rig.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                ending.callback(launcher.kill)
                rig.processes['optimizer'] = rig.processes['plant']  # stands for the launcher's
                rig.recover()
                wait_for(lambda rig=rig: rig.motor()[-1][1], 'voltage')
                began = time.monotonic()
                launcher.send_signal(number)
                launcher.wait(60.0)
                time.sleep(max(0.0, began + HOLD - time.monotonic()))
                last = max((then for then, volts in rig.motor() if volts), default=began)
                ended = next((then for then, volts in rig.motor() if then > last), None)
                if ended is None:
                    row.complain(f'{rig.motor()[-1][1]} V are left')
                else:
                    row.times.append(max(0.0, ended - began))
                    if row.times[-1] > LIMIT:
                        row.complain(f'zero volts after {1e3 * row.times[-1]:.0f} ms '
                                     f'({rig.stalls.words(began, ended)})')
        return row
    return lose


def disobeyed(repeats: int, folder: Path) -> Row:
    """Have a controller go on after a stop, or drive although nobody has armed it."""
    row = Row('a controller that needs no consent', 'the monitor says so', 1.0)
    for repeat in range(repeats):
        armed = repeat % 2 == 0
        words = 'the stop is not obeyed' if armed else 'although nobody has armed it'
        with judged(row, Rig(folder / f'rig{repeat}', operator=False,
                             controller=str(HERE / 'disobedient.py'))) as rig:
            if armed:
                rig.begin()
                rig.wait_for_phase('start')
                rig.processes['controller'].signal(signal.SIGUSR2)
                rig.client.call('stop')
            else:
                for name in rig.members:
                    rig.start(name)
                wait_for(lambda rig=rig: rig.client.last('controller_state'), 'the controller')
                rig.client.wait('safety_status', lambda m: m.heartbeat_age < 0.1)
                rig.processes['controller'].signal(signal.SIGUSR2)
                wait_for(lambda rig=rig: rig.client.set_parameter(
                    'furuta_controller', 'manual', True).successful, 'manual driving')
            began = time.monotonic()
            rig.client.wait('safety_status', lambda m, words=words: words in m.reason)
            row.times.append(time.monotonic() - began)
            if row.times[-1] > row.limit:
                row.complain(f'said after {row.times[-1]:.2f} s')
    return row


def limits_contradict(repeats: int, folder: Path) -> Row:
    """Return the controller limits beyond those of the monitor: nothing may be armed."""
    row = Row('limits that contradict each other', 'nothing is armed')
    for repeat in range(repeats):
        with judged(row, Rig(folder / f'rig{repeat}', operator=False)) as rig:
            rig.members['controller'].parameters['alpha_limit'] = 1.2
            for name in rig.members:
                rig.start(name)
            rig.client.wait('controller_state')
            wait_for(lambda rig=rig: 'limits contradict each other: alpha' in rig.client.call(
                'arm').message, 'a refusal that names the limits')
            wait_for(lambda rig=rig: 'alpha: the robot ends an episode at 1.2' in
                     rig.processes['monitor'].output, 'the table in the log')
            if any(volts for _, volts in rig.motor()):
                row.complain('there was voltage')
    return row


def asks_for_person(repeats: int, folder: Path) -> Row:
    """Let every start gain be unsafe, or every episode fail: the run has to stop and ask."""
    row = Row('unsafe or failed episodes in a row', 'the run asks for a person')
    for repeat in range(repeats):
        unsafe = repeat % 2 == 0
        with judged(row, Rig(folder / f'rig{repeat}', operator=False)) as rig:
            if unsafe:  # upright, but never within these limits
                rig.members['controller'].parameters['alpha_limit'] = 0.01
            else:  # a pendulum that nobody sets upright
                rig.members['plant'].parameters['hanging'] = True
            rig.run = rig.folder / 'run'
            for name in rig.members:
                rig.start(name)
            rig.start_optimizer(**({'start': [0.0, 10.0] * 4} if unsafe else {'retries': 2}))
            words = 'the last 2 episodes were unsafe' if unsafe else 'had to be repeated 2 times'

            def asked(rig=rig, words=words) -> bool:
                state = rig.client.last('optimizer_state')
                if state is not None and state.state == OptimizerState.PAUSED:
                    return words in state.reason
                rig.tend()
                return False
            wait_for(asked, f'a pause because {words}', 60.0)
    return row


def report_fails(repeats: int, folder: Path) -> Row:
    """Let the report not be written at the end of a run: the run has finished all the same."""
    row = Row('the report cannot be written', 'the run is finished, exit code 0')
    for repeat in range(repeats):
        row.repeats += 1
        run = folder / f'run{repeat}'
        (run / 'report.html').mkdir(parents=True)  # where the page has to go
        done = subprocess.run(
            [sys.executable, '-m', 'pacsbo_ros.nodes.run', f'run_dir:={run}', 'iterations:=3',
             'speed:=max', f'namespace:=unwritten{repeat}'], cwd=folder, capture_output=True,
            text=True, timeout=180)
        said = done.stdout + done.stderr
        if done.returncode or 'not kept for the report' not in said or not (
                run / 'best_gains.yaml').exists():
            row.complain(f'code {done.returncode}: {said[-400:]}')
        row.recovered += 1
    return row


# How, and how often compared with the other faults: a whole graph takes its time to start.
OTHERS: dict[str, tuple[Callable[[int, Path], Row], float]] = {
    'limit in the loop': (limit_in_the_loop, 10.0),
    'swing-up beyond its limits': (swing_up_beyond, 5.0),
    'qube killed': (qube_killed, 1.0),
    'honest sensors': (false_alarms, 10.0),
    'sensors that lie': (lies_told, 20.0),
    'damaged files': (damaged_files, 20.0),
    'launcher lost SIGHUP': (launcher_lost(signal.SIGHUP), 0.5),
    'launcher lost SIGKILL': (launcher_lost(signal.SIGKILL), 0.5),
    'disobedience': (disobeyed, 0.5),
    'limits contradict': (limits_contradict, 0.25),
    'asks for a person': (asks_for_person, 0.5),
    'report fails': (report_fails, 0.25),
    'order of start': (order_of_start, 0.5),
    'bring-up SIGINT': (ctrl_c(signal.SIGINT), 0.5),
    'bring-up SIGTERM': (ctrl_c(signal.SIGTERM), 0.5),
    'bring-up SIGHUP': (ctrl_c(signal.SIGHUP), 0.5),
    'bring-up SIGKILL': (ctrl_c(signal.SIGKILL), 0.5),
}
