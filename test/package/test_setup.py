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

"""The set-up says plainly what a machine lacks."""
import importlib.util
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / 'tools' / 'setup_env.py'


@pytest.fixture
def tree(tmp_path):
    """Make a copy of what the set-up looks at, so that it cannot touch the real one."""
    root = tmp_path / 'with a space'
    (root / 'tools').mkdir(parents=True)
    shutil.copy(SCRIPT, root / 'tools')
    shutil.copytree(SCRIPT.parents[1] / 'requirements', root / 'requirements')
    return root


def setup(tree, python=sys.executable, **env):
    names = ('AMENT_PREFIX_PATH', 'ROS_DISTRO', 'TRAIN')
    clean = {k: v for k, v in os.environ.items() if k not in names}
    return subprocess.run([python, str(tree / 'tools' / 'setup_env.py')], capture_output=True,
                          text=True, timeout=300, check=False, env={**clean, **env})


def test_a_missing_compiler_is_named(tree):
    done = setup(tree, CXX='no-such-compiler')
    assert done.returncode != 0
    assert 'No C/C++ compiler (no-such-compiler not found)' in done.stderr
    assert 'Traceback' not in done.stderr


def test_an_unknown_distribution_is_named_with_the_known_ones(tree):
    done = setup(tree, ROS_DISTRO='noetic')
    assert done.returncode != 0
    assert '"noetic"' in done.stderr
    assert 'jazzy, kilted' in done.stderr


def test_without_a_network_it_says_so_and_can_be_repeated(tree):
    blocked = {'PIP_INDEX_URL': 'http://127.0.0.1:9/', 'PIP_EXTRA_INDEX_URL': '',
               'PIP_CONFIG_FILE': os.devnull, 'PIP_FIND_LINKS': '', 'PIP_RETRIES': '0',
               'PIP_NO_CACHE_DIR': '1'}
    for _ in range(2):
        done = setup(tree, **blocked)
        assert done.returncode != 0
        assert 'Is the network up' in done.stderr
        assert 'Traceback (most recent call last)' not in done.stderr.split('  | ')[0]
        assert not (tree / '.venv' / '.stamp-pip').exists()


def test_what_pip_was_told_of_its_index_is_told_to_uv(monkeypatch):
    spec = importlib.util.spec_from_file_location('setup_env', SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script.subprocess, 'check_output', lambda *_, **__: (
        ":env:.cert='/etc/mine.pem'\nglobal.index-url='https://index.example/simple'\n"
        "global.extra-index-url='\\nfile:///a\\nfile:///b'\nglobal.find-links=''\n"
        "install.user='no'\n"))
    told = script.uv_settings()
    assert told['UV_DEFAULT_INDEX'] == 'https://index.example/simple'
    assert told['UV_INDEX'] == 'file:///a file:///b'
    assert told['SSL_CERT_FILE'] == '/etc/mine.pem'
    assert 'UV_FIND_LINKS' not in told


@pytest.mark.parametrize('name', ['dev', 'ros-jazzy', 'ros-kilted'])
def test_everything_that_is_asked_for_is_pinned_with_its_hashes(name):
    def names(text):
        return {re.split(r'[\[<>=; ]', line)[0].lower().replace('_', '-')
                for line in text.splitlines() if re.match('[a-zA-Z]', line)}

    folder = SCRIPT.parents[1] / 'requirements'
    asked, pins = ((folder / f'{name}.{kind}').read_text() for kind in ('in', 'txt'))
    assert names(asked) <= names(pins)
    for entry in re.split(r'\n(?=[a-zA-Z])', pins):
        assert re.match(r'[\w.\[\]-]+==[^ ]+ ', entry), entry
        assert '--hash=sha256:' in entry, entry


def test_an_old_python_is_named_with_the_supported_ones(tree):
    old = next((found for v in ('3.6', '3.7', '3.8', '3.9')
                if (found := shutil.which(f'python{v}')) and subprocess.run(
                    [found, '-c', ''], capture_output=True, check=False).returncode == 0), None)
    if old is None:
        pytest.skip('no Python older than 3.10 on this machine')
    done = setup(tree, python=old)
    assert done.returncode != 0
    assert '3.10 to 3.13' in done.stderr
