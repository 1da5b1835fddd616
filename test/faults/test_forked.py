# Copyright the pacsbo_ros developers. Apache-2.0.
"""A test run that is killed leaves no robot behind."""
import os
from pathlib import Path
import subprocess
import sys

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='nodes need ROS 2: run them by make test')
from faults.graph import wait_for

TESTS = """
import sys, time
from pathlib import Path
from faults.forked import Forked
from faults.graph import own_domain
if __name__ == '__main__':
    with own_domain():
        node = Forked('progress_markers', Path(sys.argv[1]), 'alone', {})
        (Path(sys.argv[1]) / 'pid').write_text(str(node.popen.pid))
        time.sleep(300)
"""


def gone(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except FileNotFoundError:
        return True


def test_a_killed_test_run_takes_its_nodes_with_it(tmp_path):
    script = tmp_path / 'tests.py'
    script.write_text(TESTS)
    root = Path(__file__).resolve().parents[2]
    tests = subprocess.Popen([sys.executable, str(script), str(tmp_path)], cwd=tmp_path,
                             env={**os.environ, 'PYTHONPATH': str(root)})
    try:
        pid = int(wait_for(lambda: (tmp_path / 'pid').exists() and (tmp_path / 'pid').read_text(),
                           'a node', 120.0))
        assert not gone(pid)
    finally:
        tests.kill()
        tests.wait()
    wait_for(lambda: gone(pid), 'the end of the node')
