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

"""Losing the launcher, its terminal or its login ends what it has started."""
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='the launcher needs ROS 2: run it by make test')

# A launcher whose processes only say who they are and, when they are told to end, that they do.
LAUNCHER = '''
import sys
from pacsbo_ros.nodes import bringup, run
child = """
import os, signal, sys, time
def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second word to end, while it ends
    open(sys.argv[2], 'a').write('ended ' + sys.argv[1] + chr(10))
    print('last words', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(sys.argv[2], 'a').write(f'{os.getpid()} {sys.argv[1]}' + chr(10))
while True:
    print('alive', flush=True)
    time.sleep(0.02)
"""
folder = sys.argv[1]
names = sys.argv[2:]
bringup.processes = lambda *_: [bringup.Process(
    n, n, package='' if n == 'program' else bringup.PACKAGE, node=False,
    arguments=('-c', child, n, folder + '/said')) for n in names]
bringup.check = lambda *_: None  # of the files of real nodes
run._found = lambda _: sys.executable
raise SystemExit(run.main([]))
'''
NAMES = ('safety_monitor', 'furuta_controller', 'pacsbo_optimizer')


def wait_for(condition, what, patience=60.0):
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, f'no {what} within {patience} s'
        time.sleep(0.02)
    return found


def said(folder):
    try:
        return (folder / 'said').read_text().splitlines()
    except FileNotFoundError:
        return []


def hear_hang_up():
    """Have SIGHUP end a process again, also where these tests were started with nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def launch(folder, words=(), names=NAMES, **options):
    process = subprocess.Popen([*words, sys.executable, '-c', LAUNCHER, str(folder), *names],
                               preexec_fn=hear_hang_up, **options)
    lines = wait_for(lambda: len(said(folder)) >= 3 and said(folder), 'three processes')
    return process, [int(line.split()[0]) for line in lines]


def gone(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] == 'Z'
    except FileNotFoundError:
        return True


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_launcher_has_all_end_in_order(tmp_path, number):
    process, pids = launch(tmp_path, stdout=subprocess.DEVNULL)
    process.send_signal(number)
    assert process.wait(60) == 130
    assert all(map(gone, pids))
    ended = [line for line in said(tmp_path) if line.startswith('ended')]
    assert sorted(ended) == sorted(f'ended {name}' for name in NAMES)


def test_an_optimiser_that_is_killed_is_told_with_what_to_do(tmp_path):
    process, pids = launch(tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    optimizer = next(line for line in said(tmp_path) if line.endswith('pacsbo_optimizer'))
    os.kill(int(optimizer.split()[0]), signal.SIGKILL)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b'pacsbo_optimizer was ended by signal 9; go on with resume:=' in told
    assert all(map(gone, pids))


def test_the_last_words_of_our_nodes_are_passed_on_and_those_of_a_tasks_programs_are_not(tmp_path):
    process, _ = launch(tmp_path, names=('safety_monitor', 'program', 'pacsbo_optimizer'),
                        stdout=subprocess.PIPE, text=True)
    process.terminate()
    output, _ = process.communicate(timeout=60)
    spoke = {line.split()[0] for line in output.splitlines() if line.endswith('last words')}
    assert spoke == {'[safety_monitor]', '[pacsbo_optimizer]'}
    assert 'alive' in output


def test_a_killed_launcher_takes_its_processes_with_it_and_they_end_in_order(tmp_path):
    process, pids = launch(tmp_path, stdout=subprocess.DEVNULL)
    process.kill()
    process.wait(60)
    wait_for(lambda: all(map(gone, pids)), 'end of the processes')
    assert sum(line.startswith('ended') for line in said(tmp_path)) == 3


@pytest.mark.parametrize('first', [[], ['sh', '-c', 'trap : HUP; "$@"; true', 'sh']], ids=[
    'launcher', 'make'])  # make waits for its programs when the kernel tells it of the end
def test_a_closed_terminal_ends_everything_whoever_is_told(tmp_path, first):
    ours, theirs = pty.openpty()
    process, pids = launch(tmp_path, words=['setsid', '--ctty', *first], stdin=theirs,
                           stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.close(ours)  # the terminal is gone: the kernel sends SIGHUP, writing fails from now on
    wait_for(lambda: all(map(gone, pids)), 'end of the processes')
    process.wait(60)
    assert sum(line.startswith('ended') for line in said(tmp_path)) == 3


def test_a_killed_make_takes_the_launcher_with_it(tmp_path):
    process, pids = launch(tmp_path, stdout=subprocess.DEVNULL, words=[
        'sh', '-c', 'PACSBO_PARENT=$$ "$@"; true', 'sh'])
    process.kill()
    process.wait(60)
    wait_for(lambda: all(map(gone, pids)), 'end of the processes')
    assert sum(line.startswith('ended') for line in said(tmp_path)) == 3


def test_a_launcher_under_nohup_outlives_its_terminal(tmp_path):
    process, pids = launch(tmp_path, words=['nohup'], stdout=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    assert not any(map(gone, pids))
    process.terminate()
    assert process.wait(60) == 130


NODE = """
import os, signal, sys, time
from pacsbo_ros.nodes.lifeline import end_with_launcher
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
tied = end_with_launcher()
open(sys.argv[1], 'a').write(f'{os.getpid()} {tied}' + chr(10))
time.sleep(300)
"""


def test_a_node_of_a_launch_that_is_killed_ends_too(tmp_path):
    parent = f"""
import os, subprocess, sys, time
env = dict(os.environ, PACSBO_PARENT=str(os.getpid()))
subprocess.Popen([sys.executable, '-c', {NODE!r}, sys.argv[1] + '/said'], env=env)
time.sleep(300)
"""
    process = subprocess.Popen([sys.executable, '-c', parent, str(tmp_path)])
    pid, tied = wait_for(lambda: said(tmp_path), 'a node')[0].split()
    assert tied == 'True'
    process.kill()
    wait_for(lambda: gone(int(pid)), 'end of the node')


def test_a_node_whose_launcher_is_not_its_parent_lives_on(tmp_path):
    env = dict(os.environ, PACSBO_PARENT=str(os.getppid()))
    process = subprocess.Popen([sys.executable, '-c', NODE, str(tmp_path / 'said')], env=env)
    assert wait_for(lambda: said(tmp_path), 'a node')[0].endswith('False')
    assert process.poll() is None
    process.kill()
    process.wait()
