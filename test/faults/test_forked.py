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
