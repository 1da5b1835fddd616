# Copyright the pacsbo_ros developers. Apache-2.0.
"""Faults that need no running episode: limits in the loop, the order of start, Ctrl-C."""
from __future__ import annotations

from collections.abc import Callable
import fcntl
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import time

from faults.campaign import Row
from faults.graph import wait_for
from faults.ledger import complaints
from faults.rig import Rig
import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode import Episode
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.plant import SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.running import tick


def limit_in_the_loop(repeats: int, _: Path) -> Row:
    """Let the pendulum fall; count the samples from the first one beyond a limit to zero volts."""
    row = Row('limit passed in the loop', 'zero volts', SAMPLE_PERIOD)
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        row.repeats += 1
        driver = SimulatedDriver()
        driver.reset(rng)
        episode = Episode(Gains(rng.uniform(-0.5, 0.0), rng.uniform(2.0, 9.0)))
        late = 0
        while not episode.done or driver.voltage_log[-1] != 0.0:
            late += episode.done
            tick(driver, episode)
        row.times.append(late * SAMPLE_PERIOD)
        row.outcomes[episode.result().outcome.name] += 1
        if episode.result().outcome is not Outcome.TRIPPED or late > 1:
            row.complain(f'{episode.result().reason}, zero volts after {late} samples')
        row.recovered += 1
    return row


def order_of_start(repeats: int, folder: Path) -> Row:
    """Start all processes in random order with random pauses."""
    row = Row('any order of start', 'the run begins')
    for number in range(repeats):
        row.repeats += 1
        rig = Rig(folder / f'order{number}')
        chance = random.Random(number)
        names = [*rig.members, 'optimizer']
        chance.shuffle(names)
        rig.run = rig.folder / 'run'
        try:
            for name in names:
                rig.start_optimizer() if name == 'optimizer' else rig.start(name)
                time.sleep(chance.uniform(0.0, 1.0))
            rig.recover()
            row.recovered += 1
            for words in complaints(rig):
                row.complain(words)
        except AssertionError as error:
            row.complain(f'{error} (order {names}); {rig.words()}')
        finally:
            rig.close()
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


# How, and how often compared with the other faults: a whole graph takes its time to start.
OTHERS: dict[str, tuple[Callable[[int, Path], Row], float]] = {
    'limit in the loop': (limit_in_the_loop, 10.0),
    'order of start': (order_of_start, 0.5),
    'bring-up SIGINT': (ctrl_c(signal.SIGINT), 0.5),
    'bring-up SIGTERM': (ctrl_c(signal.SIGTERM), 0.5),
    'bring-up SIGHUP': (ctrl_c(signal.SIGHUP), 0.5),
    'bring-up SIGKILL': (ctrl_c(signal.SIGKILL), 0.5),
}
