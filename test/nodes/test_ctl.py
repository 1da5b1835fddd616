# Copyright the pacsbo_ros developers. Apache-2.0.
"""The small tool that speaks to a running graph where there is no ros2 command."""
import subprocess
import sys

from pacsbo_ros.msg import SafetyStatus
from pacsbo_ros.nodes import ctl


def run(*words):
    return subprocess.run([sys.executable, '-m', 'pacsbo_ros.nodes.ctl', *words],
                          capture_output=True, text=True, timeout=120, check=False)


def test_stop_reset_arm_and_status_reach_the_graph(ready):
    where = ('--timeout', '60', '--namespace', ready.namespace)
    assert run('stop', *where).returncode == 0
    ready.client.wait('safety_status', lambda m: m.state == SafetyStatus.STOPPED)
    refused = run('arm', *where)
    assert refused.returncode == 1
    assert 'refused' in refused.stdout
    status = run('status', '--timeout', '5', '--namespace', ready.namespace)
    assert status.returncode == 0
    assert 'STOPPED' in status.stdout
    assert run('reset', *where).returncode == 0
    assert run('arm', *where).returncode == 0
    ready.client.wait('safety_status', lambda m: m.state == SafetyStatus.ARMED)


def test_silence_is_told_in_one_line():
    done = run('pause', '--timeout', '0.5', '--namespace', 'nobody_here')
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert '/nobody_here/pause' in done.stderr


def test_an_unknown_code_has_a_number():
    assert ctl.code_name(SafetyStatus(), SafetyStatus.ARMED) == 'ARMED'
    assert ctl.code_name(SafetyStatus(), 77) == 'state 77'
