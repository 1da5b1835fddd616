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
Check a ROS parameter file against the tables of the nodes, before any of them starts.

ROS takes what it is given: a misspelt section or name is silently left out, and the run goes on
with defaults. Here it is an error in one line that names the nearest right word.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
import re
from types import ModuleType, SimpleNamespace
from typing import Any

from pacsbo_ros.files import parse_yaml, read_bytes, TEXT
from pacsbo_ros.nodes.parameters import Group, nearest, OF_ROS, Parameter, problem_with

TABLES = {
    'episode_runner': 'pacsbo_ros.nodes.episode_runner',
    'furuta_controller': 'pacsbo_ros.nodes.furuta_controller',
    'safety_monitor': 'pacsbo_ros.nodes.safety_monitor',
    'pacsbo_optimizer': 'pacsbo_ros.nodes.tuning_parameters',
    'simulated_plant': 'pacsbo_ros.nodes.simulated_plant',
    'record_chirp': 'pacsbo_ros.nodes.record_chirp',
    'recorder': 'pacsbo_ros.nodes.recorder',
    'progress_markers': 'pacsbo_ros.nodes.progress_markers',
    'dashboard': 'pacsbo_ros.nodes.dashboard',
}
KEY = 'ros__parameters'


def tables(node: str) -> tuple[tuple[Parameter, ...], tuple[Group, ...]]:
    """Return the parameters and the groups that a node declares."""
    module: ModuleType = import_module(TABLES[node])
    return module.PARAMETERS, vars(module).get('GROUPS', ())


def read(path: Path, nodes: Iterable[str], namespace: str = '') -> dict[str, dict[str, Any]]:
    """Return the parameters of every node by name; ValueError says what is wrong with the file."""
    content = parse_yaml(read_bytes(path, TEXT), str(path))
    found: dict[str, dict[str, Any]] = {node: {} for node in nodes}
    for section, parameters in _sections(content, str(path)):
        name = section.rsplit('/', 1)[-1]
        if name == '**':
            _check_common(path, section, parameters)
            continue
        if name not in found and name not in TABLES:
            raise ValueError(f'{path}: section {section} names no node of ours'
                             f'{nearest(name, {*found, *TABLES})}')
        full = f'{"/" + namespace.strip("/") if namespace.strip("/") else ""}/{name}'
        if not _applies(section, full):
            raise ValueError(f'{path}: section {section} does not apply to {full}; write '
                             f'/**/{name}')
        if name in TABLES:
            for key, value in parameters.items():
                check(f'{path}: {name}', name, key, value)
        found.setdefault(name, {}).update(parameters)
    return found


def values(node: str, given: Mapping[str, Any]) -> SimpleNamespace:
    """Return the parameters of a node, defaults filled in; ValueError if one has to be given."""
    result = {}
    for parameter in tables(node)[0]:
        if parameter.required and parameter.name not in given:
            raise ValueError(f'{node}: {problem_with(parameter, None)}')
        result[parameter.name] = given.get(parameter.name, parameter.default)
    return SimpleNamespace(**result)


def _sections(content: Any, where: str, prefix: str = '') -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield every section with its name and its parameters, flat."""
    if content is None and not prefix:
        return
    if not isinstance(content, dict):
        raise ValueError(f'{where}: section {prefix or "of the file"} has no {KEY}; write '
                         f'/**/<node>: {{{KEY}: ...}}')
    for key, inner in content.items():
        name = f'{prefix}/{str(key).strip("/")}'
        if isinstance(inner, dict) and KEY in inner:
            if not isinstance(inner[KEY], dict):
                raise ValueError(f'{where}: {KEY} of {name} is {inner[KEY]!r}; give names with '
                                 'values')
            extra = set(inner) - {KEY}
            if extra:
                raise ValueError(f'{where}: {", ".join(map(str, extra))} of {name} stands beside '
                                 f'{KEY}; indent it below')
            yield name, dict(_flat(inner[KEY]))
        elif isinstance(inner, dict):
            yield from _sections(inner, where, name)
        else:
            raise ValueError(f'{where}: section {name} has no {KEY}'
                             f'{nearest(str(key), [KEY])}')


def _flat(parameters: Mapping[str, Any], prefix: str = '') -> Iterable[tuple[str, Any]]:
    for key, value in parameters.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value


def _applies(section: str, full: str) -> bool:
    """Tell whether ROS gives a section to the node of this name."""
    pattern = re.escape(section).replace(r'/\*\*', r'(/[^/]+)*').replace(r'\*', r'[^/]+')
    return re.fullmatch(pattern, full) is not None


def _check_common(path: Path, section: str, parameters: Mapping[str, Any]) -> None:
    for name in parameters:
        if name.split('.')[0] not in OF_ROS:
            raise ValueError(f'{path}: section {section} gives {name} to every node; write '
                             '/**/<node>, for example /**/pacsbo_optimizer')


def check(where: str, node: str, name: str, value: Any) -> None:
    """Refuse a name that the node does not have, and a value that it would not take."""
    parameters, groups = tables(node)
    known = {p.name: p for p in parameters}
    group = next((g for g in groups if name.startswith(f'{g.name}.')), None)
    if group is not None:
        user = name.split('.')[1]
        known = {f'{group.name}.{user}.{p.name}': p for p in group.parameters}
    if name not in known and name.split('.')[0] not in OF_ROS:
        names = {*known, *(g.name for g in groups)}
        raise ValueError(f'{where}: parameter {name} is unknown{nearest(name, names)}')
    wrong = problem_with(known[name], value, name) if name in known else ''
    if wrong:
        raise ValueError(f'{where}: {wrong}')
