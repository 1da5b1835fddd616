# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The one description of the bring-up, free of ROS: its arguments and the processes they lead to.

`launch/furuta.launch.py` and `make run` are both made from it.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.util import find_spec
import math
import os
from pathlib import Path
import re
import shutil
from typing import Any

from pacsbo_ros.tuning.run_folder import JOURNAL

PACKAGE = 'pacsbo_ros'
BOOLEAN = ('true', 'false')
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


ARGUMENTS = (
    Argument('plant', 'simulated', 'What is driven.', ('simulated', 'topics', 'qube')),
    Argument('speed', '2', 'Simulated time per real time; 1 is real time, max is as fast as '
             'possible. Hardware needs 1.'),
    Argument('iterations', '', 'Episodes of the run, the start gains included; empty takes it '
             'from the parameter file.'),
    Argument('seed', '', 'Seed of everything random; empty takes it from the parameter file.'),
    Argument('params_file', '', "Parameter file; empty means the package's config/furuta.yaml."),
    Argument('namespace', '', 'Namespace of the whole graph, for several robots.'),
    Argument('run_dir', '', 'Folder of the run; empty makes runs/<date-time>.'),
    Argument('resume', '', 'Folder of a run to go on with.'),
    Argument('stay', 'auto', 'Keep the graph alive after the run; auto does so while rviz, rqt or '
             'the dashboard is shown.', ('auto', *BOOLEAN)),
    Argument('rviz', 'false', 'Show the pendulum and the gain plane in rviz2.', BOOLEAN),
    Argument('rqt', 'false', 'Show plots, sliders and diagnostics in rqt.', BOOLEAN),
    Argument('dashboard', 'false', 'Show a live page in the browser.', BOOLEAN),
    Argument('record', 'false', 'Record all topics with rosbag2 into the run folder.', BOOLEAN),
    Argument('log_level', 'info', 'How much the nodes say.',
             ('debug', 'info', 'warn', 'error', 'fatal')),
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


def resolve(given: Mapping[str, str]) -> dict[str, str]:
    """Fill in defaults; refuse unknown names and values."""
    known = {a.name: a for a in ARGUMENTS}
    for name, value in given.items():
        if name not in known:
            raise ArgumentError(f'unknown argument {name!r}; there are {", ".join(known)}')
        choices = known[name].choices
        if choices and value not in choices:
            raise ArgumentError(f'{name} is {value!r}; choose one of {", ".join(choices)}')
    values = {a.name: given.get(a.name, a.default) for a in ARGUMENTS}
    if values['speed'] != 'max':
        _number(values, 'speed', float, 'a number above 0, or max', lambda v: 0 < v < math.inf)
    if values['plant'] != 'simulated' and values['speed'] not in ('1', known['speed'].default):
        raise ArgumentError(f'speed is {values["speed"]!r}, but plant {values["plant"]} runs in '
                            'real time; leave speed out')
    if values['iterations']:
        _number(values, 'iterations', int, 'a whole number of 1 or more', lambda v: v >= 1)
    if values['seed']:
        _number(values, 'seed', int, 'a whole number of 0 or more', lambda v: v >= 0)
    if values['params_file'] and not Path(values['params_file']).expanduser().is_file():
        raise ArgumentError(f'params_file is {values["params_file"]!r}; there is no such file')
    journal = Path(_path(values['resume'])) / JOURNAL
    if values['resume'] and not journal.is_file():
        raise ArgumentError(f'resume is {values["resume"]!r}, which is no run folder: there is '
                            f'no {journal}')
    return values


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
    simulated = values['plant'] == 'simulated'
    speed = 1.0 if not simulated else 0.0 if values['speed'] == 'max' else float(values['speed'])
    optimizer: dict[str, Any] = {
        'plant': values['plant'], 'run_dir': _path(values['run_dir']),
        'resume': _path(values['resume'])}
    optimizer.update({name: int(values[name]) for name in ('iterations', 'seed') if values[name]})
    table = [
        Process('safety_monitor', 'safety_monitor', parameters={'auto_arm': simulated},
                enclave='/pacsbo/monitor'),
        Process('furuta_controller', 'furuta_controller',
                parameters={'plant': values['plant'], 'speed': speed},
                enclave='/pacsbo/controller'),
        Process('pacsbo_optimizer', 'pacsbo_optimizer', parameters=optimizer,
                enclave='/pacsbo/optimizer'),
        Process('progress_markers', 'progress_markers', essential=False),
    ]
    views = _views(values, share, optimizer)
    shown = any(view.name in SHOWING and program(view) for view in views)
    optimizer['stay'] = shown if values['stay'] == 'auto' else values['stay'] == 'true'
    return table + views


def _views(values: Mapping[str, str], share: Path, optimizer: dict[str, Any]) -> list[Process]:
    """Return what shows and records the run; the run goes on without any of it."""
    def view(name: str, executable: str, package: str, *arguments: str, **parameters: Any):
        return Process(name, executable, package, parameters=parameters, arguments=arguments,
                       essential=False, optional=True)

    config = share / 'config'
    views = []
    if values['dashboard'] == 'true':
        views.append(replace(view('dashboard', 'dashboard', PACKAGE), module='nicegui',
                             enclave='/pacsbo/operator'))
    if values['rviz'] == 'true':
        views += [view('robot_state_publisher', 'robot_state_publisher', 'robot_state_publisher',
                       robot_description=(config / 'furuta.urdf').read_text(encoding='utf-8')),
                  view('rviz2', 'rviz2', 'rviz2', '-d', str(config / 'furuta.rviz'))]
    if values['rqt'] == 'true':
        views += [view('diagnostic_aggregator', 'aggregator_node', 'diagnostic_aggregator',
                       '--ros-args', '--params-file', str(config / 'diagnostics.yaml')),
                  view('rqt', 'rqt_gui', 'rqt_gui', '--perspective-file',
                       str(_perspective(config, values['namespace'].strip('/'))))]
    if values['record'] == 'true':
        # The recorder has to know the folder, so it is chosen here.
        folder = optimizer['resume'] or optimizer['run_dir'] or _path(
            f'runs/{datetime.now():%Y%m%d-%H%M%S}')
        if not optimizer['resume']:
            optimizer['run_dir'] = folder
        words = ('bag', 'record', '--all-topics', '--disable-keyboard-controls', '--output',
                 f'{folder}/bag-{datetime.now():%Y%m%d-%H%M%S}')
        views.append(replace(view('rosbag2', 'ros2', 'ros2bag', *words), node=False))
    return views


def _perspective(config: Path, namespace: str) -> Path:
    """Return the perspective, whose names rqt takes as absolute, for a namespace."""
    shipped = config / 'furuta.perspective'
    if not namespace:
        return shipped
    text = re.sub(r"'/(?=\w)", f"'/{namespace}/", shipped.read_text(encoding='utf-8'))
    folder = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser() / PACKAGE
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'{namespace.replace("/", "_")}.perspective'
    path.write_text(text, encoding='utf-8')
    return path


def program(process: Process) -> str | None:
    """Return the path of a process's program; None where it is not installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix
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


def parameter_file(values: Mapping[str, str], share: Path) -> Path:
    """Return the parameter file of the run."""
    given = values['params_file']
    return Path(given).expanduser().resolve() if given else share / 'config' / 'furuta.yaml'


def _path(text: str) -> str:
    return str(Path(text).expanduser().resolve()) if text else ''
