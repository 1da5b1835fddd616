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

"""The package as a whole: one number, one set of codes, two worlds that do not mix."""
import json
from pathlib import Path
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

from pacsbo_ros.robots.contract import Outcome
import pytest
from tools.site_links import LINK, OUTSIDE, SOURCE, turned

ROOT = Path(__file__).resolve().parents[2]
INTERFACES = sorted([*ROOT.glob('msg/*.msg'), *ROOT.glob('action/*.action')])
OPTIONAL = ('torch', 'optuna', 'xopt', 'gest_api', 'nicegui')  # each for a module or two
ROS_FREE = ('core', 'robots', 'tuning', 'predictor', 'safety')


def run(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300,
                          check=False, **options)


def test_the_library_imports_where_ros_is_not_installed():
    """Import every module outside nodes with rclpy and the generated messages blocked."""
    modules = [
        '.'.join(p.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')
        for p in sorted((ROOT / 'pacsbo_ros').rglob('*.py')) if 'nodes' not in p.parts]
    assert len(modules) > 30
    program = f"""
import importlib, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('rclpy', 'launch', 'launch_ros') or name.startswith((
                'pacsbo_ros.msg', 'pacsbo_ros.action', 'pacsbo_ros.nodes')):
            raise ImportError('blocked: ' + name)
sys.meta_path.insert(0, Block())
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in {OPTIONAL!r}:
            raise
"""
    done = run(sys.executable, '-c', program, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_nothing_but_training_imports_torch():
    users = [p for p in (ROOT / 'pacsbo_ros').rglob('*.py')
             if re.search(r'^\s*(import|from) torch', p.read_text(), re.MULTILINE)]
    assert {p.name for p in users} <= {'training.py'}


def test_the_version_is_one_number():
    number = ElementTree.parse(ROOT / 'package.xml').getroot().findtext('version')
    done = run(sys.executable, 'setup.py', '--version', cwd=ROOT)
    assert done.stdout.split()[-1] == number


def test_the_changelog_is_one_that_bloom_reads():
    changelog = pytest.importorskip('catkin_pkg.changelog')
    version = ElementTree.parse(ROOT / 'package.xml').getroot().findtext('version')
    listed = [v for v, _, _ in changelog.get_changelog_from_path(str(ROOT)).foreach_version()]
    assert listed == [version]


def test_the_library_is_packaged_with_its_data_and_without_nodes(tmp_path):
    """Build a copy, because setuptools leaves traces where it builds."""
    tree = tmp_path / 'tree'
    listed = run('git', 'ls-files', 'pacsbo_ros', 'setup.py', 'setup.cfg', 'package.xml',
                 'README.md', 'LICENSE', cwd=ROOT)
    if listed.returncode:
        pytest.skip('no git checkout here')
    for name in listed.stdout.split():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    done = run(sys.executable, 'setup.py', '-q', 'build_py', '--build-lib', tmp_path / 'built',
               cwd=tree)
    assert done.returncode == 0, done.stderr
    files = {p.relative_to(tree).as_posix() for p in (tree / 'pacsbo_ros').rglob('*')
             if p.is_file() and 'nodes' not in p.parts}
    built = {p.relative_to(tmp_path / 'built').as_posix()
             for p in (tmp_path / 'built').rglob('*') if p.is_file()}
    assert built == files


@pytest.mark.parametrize('path', INTERFACES, ids=lambda p: p.name)
def test_every_field_and_constant_says_what_it_means(path):
    for line in path.read_text().splitlines():
        if line.strip() and line.strip() != '---' and not line.lstrip().startswith('#'):
            if line == 'EpisodeResult result':
                continue  # documented in its own file
            assert re.search(r'\S\s+# \S.{8,}', line), f'{path.name}: {line!r} has no comment'


def test_outcome_codes_of_message_and_library_agree():
    text = (ROOT / 'msg/EpisodeResult.msg').read_text()
    constants = dict(re.findall(r'^uint8 (\w+)=(\d+)', text, re.MULTILINE))
    assert {name: int(value) for name, value in constants.items()} == {
        o.name: o.value for o in Outcome}


def test_messages_are_found_from_the_source_tree_and_from_the_installed_one():
    pytest.importorskip('rclpy', reason='the messages are built with ROS 2: make test')
    program = ('import pacsbo_ros.core as c; from pacsbo_ros.msg import EpisodeResult; '
               'from pacsbo_ros.action import RunEpisode; print(c.__file__)')
    from_source = run(sys.executable, '-c', program, cwd=ROOT)
    assert from_source.returncode == 0, from_source.stderr
    assert Path(from_source.stdout.strip()).is_relative_to(ROOT / 'pacsbo_ros')
    installed = run(sys.executable, '-c', program, cwd='/')
    assert installed.returncode == 0, installed.stderr
    assert 'site-packages' in installed.stdout or 'dist-packages' in installed.stdout


def test_the_parameter_page_is_up_to_date():
    pytest.importorskip('rclpy', reason='the parameter tables need ROS 2: make test')
    program = ("import runpy; m = runpy.run_path('tools/parameter_docs.py'); "
               "import sys; sys.exit(m['PAGE'].read_text() != m['page']())")
    done = run(sys.executable, '-c', program, cwd=ROOT)
    assert done.returncode == 0, done.stderr or 'run tools/parameter_docs.py'


def test_no_file_of_the_project_uses_shell_eval_or_pickle():
    pattern = re.compile(r'shell=True|\beval\(|\bexec\(|pickle\.load|yaml\.load\(|os\.system')
    guilty = [str(p.relative_to(ROOT)) for p in (ROOT / 'pacsbo_ros').rglob('*.py')
              if pattern.search(p.read_text())]
    assert guilty == []


def test_no_two_test_files_have_one_name():
    """Some collectors, such as that of launch_testing, import tests by their base name."""
    names = [p.name for p in (ROOT / 'test').rglob('test_*.py')]
    assert sorted({n for n in names if names.count(n) > 1}) == []


def test_no_test_file_is_skipped_while_it_is_imported_but_for_ros():
    """The collector of launch_testing imports them itself: such a skip skips a whole folder."""
    wanted = [(path.name, name) for path in sorted((ROOT / 'test').rglob('*.py'))
              for name in re.findall(r"^(?:\w+ = )?pytest\.importorskip\('([\w.]+)",
                                     path.read_text(), re.MULTILINE)]
    assert [w for w in wanted if w[1] not in ('rclpy', 'launch_testing')] == []


def test_the_tests_are_collected_without_plugins_of_pytest():
    """On a machine with ROS 2 there is no xdist and nothing that tries a test again."""
    done = run(sys.executable, '-m', 'pytest', '-p', 'no:xdist', '-p', 'no:rerunfailures',
               '--collect-only', '-q', 'test/view', cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_of_tests_is_run_by_ctest():
    text = (ROOT / 'CMakeLists.txt').read_text()
    areas = re.search(r'foreach\(area ([\w ]+)\)', text).group(1).split()
    folders = {p.parent.relative_to(ROOT / 'test').parts[0]
               for p in (ROOT / 'test').rglob('test_*.py')}
    assert set(areas) == folders


# What every robot shares. The studies and the drawing of the pendulum are its own.
SHARED = ('tuning', 'safety', 'view', 'nodes/pacsbo_optimizer.py', 'nodes/progress.py',
          'nodes/tuning_parameters.py', 'nodes/safety_monitor.py', 'nodes/signal_sources.py',
          'nodes/episode_server.py', 'nodes/robot_messages.py', 'nodes/progress_markers.py',
          'nodes/marker_shapes.py', 'nodes/dashboard.py', 'nodes/terminal.py', 'nodes/serve.py',
          'nodes/spinning.py', 'nodes/parameters.py', 'robots/contract.py', 'robots/python.py')
PENDULUM = re.compile(r'furuta|theta|alpha|volt|pendulum|qube', re.IGNORECASE)
INNOCENT = re.compile(r"alpha(=|')|globalAlpha|rgba")  # an opacity is no angle


def test_what_every_robot_shares_knows_no_pendulum():
    found = []
    for name in SHARED:
        path = ROOT / 'pacsbo_ros' / name
        assert path.exists(), path
        for file in sorted(path.rglob('*.py')) if path.is_dir() else [path]:
            found += [f'{file.relative_to(ROOT)}:{number}: {line.strip()}'
                      for number, line in enumerate(file.read_text().splitlines(), start=1)
                      if PENDULUM.search(line) and not INNOCENT.search(line)]
    assert not found, '\n'.join(found)
    core = [p for p in (ROOT / 'pacsbo_ros' / 'core').rglob('*.py') if 'robots' in p.read_text()]
    assert not core


def test_most_of_the_package_serves_the_default_launch():
    done = run(sys.executable, 'tools/closure.py', cwd=ROOT)
    shares = [int(share) for share in re.findall(r'(\d+)%', done.stdout)]
    assert len(shares) == 3, done.stderr
    assert shares[1] >= 75
    assert shares == sorted(shares)


PAGES = sorted([*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md'), *ROOT.glob('examples/*/*.md')])


@pytest.mark.parametrize('path', PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(path):
    text = re.sub(r'^```.*?^```', '', path.read_text(), flags=re.DOTALL | re.MULTILINE)
    targets = [m['target'] for pattern in (LINK, SOURCE) for m in pattern.finditer(text)]
    assert [t for t in targets if not (path.parent / t).exists()] == []


def test_links_to_what_stands_outside_docs_work_on_the_site():
    known = {*OUTSIDE, 'using.md', 'images/run.gif', 'evidence/safety/safety.md'}
    for page, said, made in (
            ('using.md', 'see [it](../SAFETY.md#stop)', 'see [it](SAFETY.md#stop)'),
            ('using.md', '[cart](../examples/cart_pole)', '[cart](examples/cart_pole/README.md)'),
            ('README.md', '![a run](docs/images/run.gif)', '![a run](images/run.gif)'),
            ('README.md', '[use](docs/using.md), [more](https://example.org/x.md), [this](#here)',
             '[use](using.md), [more](https://example.org/x.md), [this](#here)'),
            ('evidence/safety/safety.md', '[it](../../using.md)', '[it](../../using.md)'),
            ('examples/cart_pole/README.md', '[use](../../docs/using.md), [code](cart_pole.py)',
             '[use](../../using.md), code')):
        assert turned(said, page, known) == made


def test_the_program_in_the_readme_finds_the_peak():
    program = re.search(r'```python\n(.*?)```', (ROOT / 'README.md').read_text(), re.DOTALL)[1]
    names: dict = {}
    exec(program, names)
    assert names['optimizer'].best().values[0] == pytest.approx(1.0, abs=0.01)


def test_the_notebook_runs_from_top_to_bottom_and_stays_safe():
    cells = json.loads((ROOT / 'examples' / 'ask_tell.ipynb').read_text())['cells']
    program = '\n'.join(cell['source'] for cell in cells if cell['cell_type'] == 'code')
    done = run(sys.executable, '-c', program, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    tried = re.findall(r'reward (\S+)  margin (\S+)', done.stdout)
    assert len(tried) >= 3
    assert max(float(reward) for reward, _ in tried) > 0.4
    assert min(float(margin) for _, margin in tried) >= 0
