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
The one description of the bring-up, free of ROS: its arguments and the processes they lead to.

Both launch files and `make run` are made from it. What is tuned is one of three: the pendulum, a
task file (any node's parameters), or a robot in Python; the rest of the graph is the same.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from importlib.util import find_spec
import math
import os
from pathlib import Path
import re
import shutil
from typing import Any

from pacsbo_ros.nodes import subjects
from pacsbo_ros.nodes.subjects import Subject
from pacsbo_ros.robots.furuta import mujoco_driver, presets
from pacsbo_ros.robots.furuta.robot import PLANTS, SIMULATED
from pacsbo_ros.tuning.run_folder import JOURNAL, RunFolder

PACKAGE = 'pacsbo_ros'
BOOLEAN = ('true', 'false')
NAMESPACE = r'/?([A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?/?'
SHIPPED_NODE = 'furuta_controller'  # whose parameters the shipped perspective shows
SHOWING = ('rviz2', 'rqt', 'dashboard')  # what people look at after a run, too


class ArgumentError(ValueError):
    """An argument that the bring-up does not understand, with what it would."""


@dataclass(frozen=True)
class Argument:
    """Describe one launch argument."""

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


COMMON = (
    Argument('iterations', '', 'Episodes of the run, the start values included; empty takes it '
             'from the parameter file.'),
    Argument('seed', '', 'Seed of everything random; empty takes it from the parameter file.'),
    Argument('params_file', '', "Parameter file; empty means the pendulum's config/furuta.yaml, "
             'and none for another robot.'),
    Argument('namespace', '', 'Namespace of the whole graph, for several robots.'),
    Argument('run_dir', '', 'Folder of the run; empty makes runs/<date-time>.'),
    Argument('resume', '', 'Folder of a run to go on with.'),
    Argument('stay', 'auto', 'Keep the graph alive after the run; auto does so while rviz, rqt or '
             'the dashboard is shown.', ('auto', *BOOLEAN)),
    Argument('auto_arm', 'auto', 'Arm by itself once all checks pass; auto does so if the robot '
             'says that it is simulated. On hardware a person calls arm.', ('auto', *BOOLEAN)),
    Argument('rviz', 'false', 'Show the robot and what the model believes in rviz2.', BOOLEAN),
    Argument('rqt', 'false', 'Show plots, sliders and diagnostics in rqt.', BOOLEAN),
    Argument('dashboard', 'false', 'Show a live page in the browser.', BOOLEAN),
    Argument('dashboard_port', '', 'Port of the live page; empty takes it from the parameter '
             'file.'),
    Argument('tf', 'auto', 'Publish the frames of the robot, if it has a URDF; auto does so '
             'with rviz.', ('auto', *BOOLEAN)),
    Argument('record', 'false', 'Record all topics into the run folder: true with rosbag2, mcap '
             'without it (pip install mcap).', (*BOOLEAN, 'mcap')),
    Argument('log_level', 'info', 'How much the nodes say.',
             ('debug', 'info', 'warn', 'error', 'fatal')),
)
ARGUMENTS = (
    Argument('plant', 'simulated', "What is driven: a simulation by the package's equations or by "
             'MuJoCo, a robot with topics, a Qube-Servo.', PLANTS),
    Argument('preset', '', 'Which simulated pendulum: ideal, calibrated or qube3, each with its '
             'own starts, or a preset file; empty takes it from the parameter file.'),
    Argument('speed', '2', 'Simulated time per real time; 1 is real time, max is as fast as '
             'possible. Hardware needs 1.'),
    *COMMON,
)
SUBJECTS = ('task', 'robot')  # arguments that choose what is tuned, instead of the pendulum
TUNE_ARGUMENTS = (
    Argument('task', '', "Task file: tune any node's parameters."),
    Argument('robot', '', 'Robot in Python to tune, as module:Class.'),
    *COMMON,
)


@dataclass(frozen=True)
class Process:
    """Describe one process of the graph."""

    name: str  # of the node, or of the program
    executable: str
    package: str = PACKAGE  # that has to be installed
    module: str = ''  # of Python, that has to be installed too
    node: bool = True  # an executable of the package; else a program on the PATH
    parameters: Mapping[str, Any] = field(default_factory=dict)
    arguments: Sequence[str] = ()  # of a program that is no node of ours
    essential: bool = True  # the run ends when it ends
    optional: bool = False  # left out with a warning where the program is not installed
    enclave: str = '/pacsbo/viewers'  # whose keys it has, where SROS2 is in force
    cwd: str | None = None  # where it runs; None: here


def arguments_for(names: Iterable[str]) -> tuple[Argument, ...]:
    """Return the arguments of the launch file that these names belong to."""
    return TUNE_ARGUMENTS if set(SUBJECTS) & set(names) else ARGUMENTS


def resolve(given: Mapping[str, str], arguments: Sequence[Argument] = ()) -> dict[str, str]:
    """Fill in defaults; refuse unknown names and values."""
    arguments = arguments or arguments_for(given)
    known = {a.name: a for a in arguments}
    for name, value in given.items():
        if name not in known:
            raise ArgumentError(f'unknown argument {name!r}{_nearest(name, (*known, *SUBJECTS))}')
        choices = known[name].choices
        if choices and value not in choices:
            raise ArgumentError(f'{name} is {value!r}; choose one of {", ".join(choices)}')
    values = {a.name: given.get(a.name, a.default) for a in arguments}
    if 'task' in values:
        _check_subject(values)
    else:
        _check_plant(values, known['speed'].default)
    if values['iterations']:
        _number(values, 'iterations', int, 'a whole number of 1 or more', lambda v: v >= 1)
    if values['seed']:
        _number(values, 'seed', int, 'a whole number of 0 or more', lambda v: v >= 0)
    if values['dashboard_port']:
        _number(values, 'dashboard_port', int, 'a port from 1 to 65535',
                lambda v: 1 <= v <= 65535)
    if not re.fullmatch(NAMESPACE, values['namespace']):
        raise ArgumentError(f'namespace is {values["namespace"]!r}; give names of letters, digits '
                            'and underscores that begin with no digit, for example lab/left')
    if values['params_file'] and not Path(values['params_file']).expanduser().is_file():
        raise ArgumentError(f'params_file is {values["params_file"]!r}; there is no such file')
    journal = Path(_path(values['resume'])) / JOURNAL
    if values['resume'] and not journal.is_file():
        raise ArgumentError(f'resume is {values["resume"]!r}, which is no run folder: there is '
                            f'no {journal}')
    if values['resume'] and values['run_dir']:
        raise ArgumentError('run_dir and resume are both given; leave one of them out')
    return values


def _check_plant(values: Mapping[str, str], usual: str) -> None:
    if values['speed'] != 'max':
        _number(values, 'speed', float, 'a number above 0, or max', lambda v: 0 < v < math.inf)
    if values['plant'] not in SIMULATED and values['speed'] not in ('1', usual):
        raise ArgumentError(f'speed is {values["speed"]!r}, but plant {values["plant"]} runs in '
                            'real time; leave speed out')
    if values['preset']:
        try:
            presets.preset(values['preset'])
        except ValueError as error:
            raise ArgumentError(error) from error
    if values['plant'] == 'mujoco' and find_spec('mujoco') is None:
        raise ArgumentError(mujoco_driver.MISSING)


def _check_subject(values: Mapping[str, str]) -> None:
    if bool(values['task']) == bool(values['robot']):
        raise ArgumentError('give either task:=FILE or robot:=module:Class')
    if values['task'] and not Path(values['task']).expanduser().is_file():
        raise ArgumentError(f'task is {values["task"]!r}; there is no such file')


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(dict.fromkeys(known))
    near = get_close_matches(name, names, 1, 0.5)
    return f'; did you mean {near[0]}?' if near else f'; there are {", ".join(names)}'


def _number(values: Mapping[str, str], name: str, kind: Callable[[str], float], wanted: str,
            fits: Callable[[float], bool]) -> None:
    try:
        if fits(kind(values[name])):
            return
    except ValueError:
        pass
    raise ArgumentError(f'{name} is {values[name]!r}; give {wanted}')


def processes(values: Mapping[str, str], share: Path) -> list[Process]:
    """Return the processes that resolved arguments lead to, in the order of their start."""
    subject = subjects.subject(values)
    optimizer: dict[str, Any] = {
        **subject.optimizer, 'run_dir': _path(values['run_dir']),
        'resume': _path(values['resume'])}
    optimizer.update({name: int(values[name]) for name in ('iterations', 'seed') if values[name]})
    auto_arm = subject.simulated if values['auto_arm'] == 'auto' else values['auto_arm'] == 'true'
    views = _views(values, share, optimizer, subject)
    if subject.keeps_folder and not optimizer['resume'] and not optimizer['run_dir']:
        optimizer['run_dir'] = _new_folder()
    table = [
        *(Process(words[0], words[0], '', node=False, arguments=words[1:], cwd=folder)
          for words, folder in subject.helpers),
        Process('safety_monitor', 'safety_monitor',
                parameters={**subject.monitor, 'auto_arm': auto_arm}, enclave='/pacsbo/monitor'),
        Process(subject.name, subject.executable, parameters={
            **subject.parameters,
            **({'run_dir': optimizer['resume'] or optimizer['run_dir']}
               if subject.keeps_folder else {})},
                arguments=subject.arguments, enclave='/pacsbo/controller'),
        Process('pacsbo_optimizer', 'pacsbo_optimizer', parameters=optimizer,
                enclave='/pacsbo/optimizer'),
        Process('progress_markers', 'progress_markers', essential=False),
    ]
    shown = any(view.name in SHOWING and program(view) for view in views)
    optimizer['stay'] = shown if values['stay'] == 'auto' else values['stay'] == 'true'
    return table + views


def _views(values: Mapping[str, str], share: Path, optimizer: dict[str, Any],
           subject: Subject) -> list[Process]:
    """Return what shows and records the run; the run goes on without any of it."""
    def view(name: str, executable: str, package: str, *arguments: str, **parameters: Any):
        return Process(name, executable, package, parameters=parameters, arguments=arguments,
                       essential=False, optional=True)

    config = share / 'config'
    views = []
    if values['dashboard'] == 'true':
        port = {'port': int(values['dashboard_port'])} if values['dashboard_port'] else {}
        views.append(replace(view('dashboard', 'dashboard', PACKAGE, **port), module='nicegui',
                             enclave='/pacsbo/operator'))
    if subject.urdf and 'true' in (values['tf'], values['rviz']) and values['tf'] != 'false':
        namespace = values['namespace'].strip('/')
        views.append(view(
            'robot_state_publisher', 'robot_state_publisher', 'robot_state_publisher',
            robot_description=(config / subject.urdf).read_text(encoding='utf-8'),
            # Frames are one tree for all robots: a namespace has to tell them apart.
            frame_prefix=f'{namespace}/' if namespace else ''))
    if values['rviz'] == 'true':
        views.append(view('rviz2', 'rviz2', 'rviz2', '-d', str(config / 'tune.rviz')))
    if values['rqt'] == 'true':
        views += [view('diagnostic_aggregator', 'aggregator_node', 'diagnostic_aggregator',
                       '--ros-args', '--params-file', str(config / 'diagnostics.yaml')),
                  view('rqt', 'rqt_gui', 'rqt_gui', '--perspective-file',
                       str(_perspective(config, values['namespace'].strip('/'), subject.name)))]
    if values['record'] != 'false':
        # The recorder has to know the folder, so it is chosen here.
        folder = optimizer['resume'] or optimizer['run_dir'] or _new_folder()
        if not optimizer['resume']:
            optimizer['run_dir'] = folder
        file = f'{folder}/bag-{datetime.now():%Y%m%d-%H%M%S}'
        if values['record'] == 'mcap':
            views.append(replace(view('recorder', 'recorder', PACKAGE, output=f'{file}.mcap'),
                                 module='mcap'))
        else:
            words = ('bag', 'record', '--all-topics', '--disable-keyboard-controls', '--output')
            views.append(replace(view('rosbag2', 'ros2', 'ros2bag', *words, file), node=False))
    return views


def _perspective(config: Path, namespace: str, node: str) -> Path:
    """Return the perspective, whose names rqt takes as absolute, for a namespace and a robot."""
    shipped = config / 'tune.perspective'
    if not namespace and node == SHIPPED_NODE:
        return shipped
    text = shipped.read_text(encoding='utf-8').replace(f"'/{SHIPPED_NODE}'", f"'/{node}'")
    if namespace:
        text = re.sub(r"'/(?=\w)", f"'/{namespace}/", text)
    folder = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser() / PACKAGE
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'{"_".join([*namespace.split("/"), node]).strip("_")}.perspective'
    path.write_text(text, encoding='utf-8')
    return path


def program(process: Process) -> str | None:
    """Return the path of a process's program; None where it is not installed."""
    from ament_index_python.packages import get_package_prefix, PackageNotFoundError
    if not process.package:
        return shutil.which(process.executable)
    if process.module and find_spec(process.module) is None:
        return None
    try:
        prefix = Path(get_package_prefix(process.package))
    except PackageNotFoundError:
        return None
    if not process.node:
        return shutil.which(process.executable)
    path = prefix / 'lib' / process.package / process.executable
    return str(path) if path.exists() else None


def absence(process: Process) -> str:
    """Say that an optional process is left out, and what would bring it."""
    missing = (f'Python package {process.module}' if process.module
               else f'package {process.package}')
    return f'{process.name} is left out: the {missing} is not installed'


def parameter_file(values: Mapping[str, str], share: Path) -> Path | None:
    """Return the parameter file of the run; None if there is none."""
    given = values['params_file']
    if given:
        return Path(given).expanduser().resolve()
    return None if 'task' in values else share / 'config' / 'furuta.yaml'


def check(values: Mapping[str, str], share: Path) -> None:
    """Refuse what no node would take, before any of them starts; ArgumentError says what."""
    from pacsbo_ros.nodes import parameter_files
    file = parameter_file(values, share)
    try:
        table = {p.name: p for p in processes(values, share)}
        given = parameter_files.read(file, table, values['namespace']) if file else {}
        subject = subjects.subject(values)
        for name, process in table.items():
            if name in parameter_files.TABLES:
                _check_decided(file, name, subject, given.get(name, {}))
                given[name] = {**given.get(name, {}), **process.parameters}
                for key, value in process.parameters.items():
                    parameter_files.check(name, name, key, value)
        subjects.check(subject, given)
        folder = given['pacsbo_optimizer']['run_dir']
        if folder and RunFolder(folder).journal.exists():
            raise ArgumentError(f'run_dir is {folder}, which already has a run; give resume:= to '
                                'go on with it, or another run_dir')
    except ValueError as error:
        raise ArgumentError(error) from error


def _check_decided(file: Path | None, node: str, subject: Subject,
                   given: Mapping[str, Any]) -> None:
    """Refuse what a parameter file says in vain, because the task or the robot decides it."""
    decided = subject.decides(node)
    for key in given:
        if key in decided:
            raise ArgumentError(f'{file}: {node}: {key} is decided by {subject.source}; change it '
                                'there')


def _new_folder() -> str:
    return _path(f'runs/{datetime.now():%Y%m%d-%H%M%S}')


def _path(text: str) -> str:
    return str(Path(text).expanduser().resolve()) if text else ''
