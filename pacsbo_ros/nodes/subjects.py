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
What a bring-up tunes, free of ROS: the pendulum, the nodes of a task file, or a robot in Python.

A subject says which process serves it and what monitor and optimiser have to know of it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any

from pacsbo_ros.robots.contract import Description, Signal
from pacsbo_ros.robots.furuta.presets import STARTS
from pacsbo_ros.robots.furuta.robot import SIMULATED

MARGIN = 1.5  # the monitor stops a robot for good this far beyond the limit of an episode


@dataclass(frozen=True)
class Subject:
    """Describe what is tuned to a bring-up."""

    name: str  # of the node that serves it
    executable: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    simulated: bool = False
    description: Description | None = None  # None: the parameter file decides it
    monitor: Mapping[str, Any] = field(default_factory=dict)
    optimizer: Mapping[str, Any] = field(default_factory=dict)
    helpers: tuple[tuple[tuple[str, ...], str], ...] = ()  # programs to start first, and where
    keeps_folder: bool = False  # it keeps something in the folder of the run, too
    urdf: str = ''  # file in config/; empty: no drawing
    source: str = ''  # the file or class that decides all this; empty: the parameter file

    def decides(self, node: str) -> Mapping[str, Any]:
        """Return the parameters of a node that are not for a parameter file to change."""
        if not self.source:
            return {}
        return {'pacsbo_optimizer': self.optimizer, 'safety_monitor': self.monitor,
                self.name: self.parameters}.get(node, {})


def subject(values: Mapping[str, str]) -> Subject:
    """Return the subject that resolved arguments name; ValueError if there is none such."""
    if values.get('task'):
        return _task(Path(values['task']))
    if values.get('robot'):
        return _python(values['robot'])
    return _furuta(values)


def _furuta(values: Mapping[str, str]) -> Subject:
    simulated = values['plant'] in SIMULATED
    speed = 1.0 if not simulated else 0.0 if values['speed'] == 'max' else float(values['speed'])
    parameters: dict[str, Any] = {'plant': values['plant'], 'speed': speed}
    optimizer = {}
    if values['preset']:
        parameters['preset'] = values['preset']
        # A user's own file has starts of its own, and on a real pendulum these are not known.
        if simulated and values['preset'] in STARTS and not values['params_file']:
            optimizer['start'] = [k for start in STARTS[values['preset']] for k in start]
    return Subject('furuta_controller', 'furuta_controller', parameters, simulated=simulated,
                   optimizer=optimizer, urdf='furuta.urdf')


def _task(path: Path) -> Subject:
    from pacsbo_ros.robots.parameters import task as tasks
    task = tasks.load(path)
    return Subject(
        'episode_runner', 'episode_runner',
        {'task_file': str(task.path), 'launcher': os.getpid()}, simulated=task.simulated,
        description=task.description(),
        monitor={**_watched({Signal(s.name, s.unit, s.limit and MARGIN * s.limit): {
            'topic': s.topic, 'field': s.field} for s in task.signals}),
                 # No loop is closed in the runner: its silence is no worse than a signal's.
                 **dict.fromkeys(('state_timeout', 'heartbeat_timeout'),
                                 max(s.timeout for s in task.signals))},
        optimizer=task.optimizer_parameters(),
        helpers=tuple((words, str(task.path.parent)) for words in task.processes),
        keeps_folder=True, source=str(task.path))


def _python(name: str) -> Subject:
    from pacsbo_ros.nodes.serve import load
    robot = load(name)
    d = robot.description
    start = [*robot.safe] or [[t.default for t in d.tunables]]
    # Its signals come from its own node: nobody else measures them.
    signals = {Signal(s.name, s.unit, s.limit and MARGIN * s.limit): {
        'topic': 'controller_state', 'type': 'pacsbo_ros/msg/ControllerState',
        'field': f'peaks[{i}]'} for i, s in enumerate(d.signals)}
    return Subject(
        d.name, 'serve', arguments=(name,), simulated=not robot.real, description=d,
        monitor=_watched(signals),
        optimizer={'tuned': [t.name for t in d.tunables],
                   'box_lower': [t.lower for t in d.tunables],
                   'box_upper': [t.upper for t in d.tunables],
                   'start': [float(v) for vector in start for v in vector]}, source=name)


def _watched(signals: Mapping[Signal, Mapping[str, str]]) -> dict[str, Any]:
    """Return the monitor's parameters for signals."""
    result: dict[str, Any] = {}
    for signal, source in signals.items():
        limit = {} if signal.limit is None else {'limit': float(signal.limit)}
        for key, value in {**source, **limit, 'unit': signal.unit}.items():
            result[f'signals.{signal.name}.{key}'] = value
    return result


def check(what: Subject, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a problem that cannot be on this subject; ValueError says why."""
    from pacsbo_ros.nodes import furuta_controller, parameter_files, tuning_parameters
    p = parameter_files.values('pacsbo_optimizer', given['pacsbo_optimizer'])
    tuning_parameters.check(p)
    description = what.description
    if description is None:
        controller = parameter_files.values('furuta_controller', given['furuta_controller'])
        description = furuta_controller.description(controller)
        if what.simulated:
            _check_starts(controller.preset, p.start)
    tuning_parameters.make_problem(p, description)


def _check_starts(name: str, start: list[float]) -> None:
    """Refuse the starts of one preset on another; those of a user's own are tried."""
    shipped = {other: [k for gains in known for k in gains] for other, known in STARTS.items()}
    theirs = [other for other, known in shipped.items() if known == list(start)]
    if name in shipped and theirs and name not in theirs:
        raise ValueError(f'start holds the gains of the preset {theirs[-1]}, which are not safe '
                         f'on {name}; launch with preset:={name}, or give others')
