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

"""The small tool that speaks to a running graph where there is no ros2 command."""
import subprocess
import sys

from faults.forked import Fork
from faults.graph import wait_for
from pacsbo_ros.msg import SafetyStatus
from pacsbo_ros.nodes import ctl


def test_stop_reset_arm_and_status_reach_the_graph(ready, tmp_path):
    log = tmp_path / 'ctl.log'

    def run(word, timeout='60'):
        log.write_text('')
        words = ['ctl', word, '--timeout', timeout, '--namespace', ready.namespace]
        return Fork(words, log, tmp_path).wait(120)

    assert run('stop') == 0
    ready.client.wait('safety_status', lambda m: m.state == SafetyStatus.STOPPED)
    assert run('arm') == 1
    assert 'refused' in log.read_text()
    wait_for(lambda: run('status', timeout='1') == 0, 'a status')
    assert 'STOPPED' in log.read_text()
    assert run('reset') == 0
    assert run('arm') == 0
    ready.client.wait('safety_status', lambda m: m.state == SafetyStatus.ARMED)


def test_silence_is_told_in_one_line():
    done = subprocess.run(
        [sys.executable, '-m', 'pacsbo_ros.nodes.ctl', 'pause', '--timeout', '0.5',
         '--namespace', 'nobody_here'], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert '/nobody_here/pacsbo_optimizer/pause' in done.stderr


def test_an_unknown_code_has_a_number():
    assert ctl.code_name(SafetyStatus(), SafetyStatus.ARMED) == 'ARMED'
    assert ctl.code_name(SafetyStatus(), 77) == 'state 77'


def test_the_line_that_people_are_told_works_where_they_are(monkeypatch):
    monkeypatch.setattr(ctl.shutil, 'which', lambda _: None)
    assert ctl.line('resume') == 'make resume'
    assert ctl.line('resume', '/left') == 'make resume ARGS="--namespace /left"'
    assert ctl.with_commands('call reset, then arm') == 'call reset (make reset), then arm'
    assert ctl.with_commands('all checks pass') == 'all checks pass'
    monkeypatch.setattr(ctl.shutil, 'which', lambda name: f'/bin/{name}')
    assert ctl.with_commands('call arm', '/left') == (
        'call arm (ros2 run pacsbo_ros ctl arm --namespace /left)')
    assert ctl.line('resume', '/left') == 'ros2 run pacsbo_ros ctl resume --namespace /left'
