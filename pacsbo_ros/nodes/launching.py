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

"""Both launch files, made from the table of the bring-up."""
from __future__ import annotations

from difflib import get_close_matches
import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription  # type: ignore[attr-defined]  # mypy sees our folder
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from pacsbo_ros.nodes import bringup
from pacsbo_ros.nodes.lifeline import PARENT


def processes(context, arguments):
    """Turn the values of the arguments into nodes."""
    share = Path(get_package_share_directory(bringup.PACKAGE))
    known = {a.name for a in arguments}
    # What belongs to a launch file around this one is none of ours, but for a slip of the pen.
    given = {name: value for name, value in context.launch_configurations.items()
             if name in known or get_close_matches(name, known, 1, 0.8)}
    values = bringup.resolve(given, arguments)
    bringup.check(values, share)
    file = bringup.parameter_file(values, share)
    actions = []
    for process in bringup.processes(values, share):
        if bringup.program(process) is None and process.optional:
            actions.append(LogInfo(msg=bringup.absence(process)))
            continue
        if not process.node:
            actions.append(ExecuteProcess(cmd=[process.executable, *process.arguments],
                                          name=process.name, cwd=process.cwd,
                                          output='screen'))
            continue
        # A text stays a text, even if it could be read as YAML.
        parameters = {name: ParameterValue(value, value_type=str) if isinstance(value, str)
                      else value for name, value in process.parameters.items()}
        node = Node(
            package=process.package, executable=process.executable, name=process.name,
            namespace=values['namespace'], output='screen', emulate_tty=True,
            additional_env={PARENT: str(os.getpid())},  # a launch that is killed ends its nodes
            arguments=list(process.arguments),
            parameters=[*([str(file)] if file else []), parameters],
            ros_arguments=['--log-level', values['log_level'], '--enclave', process.enclave])
        actions.append(node)
        if process.essential:
            actions.append(RegisterEventHandler(OnProcessExit(
                target_action=node, on_exit=ended)))
    return actions


def ended(event, context):
    """End the launch with the process; fail if it failed."""
    if event.returncode > 0 and not context.is_shutdown:
        raise RuntimeError(f'{event.process_name} has ended with code {event.returncode}')
    return [EmitEvent(event=Shutdown(reason=f'{event.process_name} has ended'))]


def description(arguments):
    """Return the launch description of a launch file with these arguments."""
    return LaunchDescription([
        *(DeclareLaunchArgument(a.name, default_value=a.default, description=a.description,
                                choices=list(a.choices) or None) for a in arguments),
        OpaqueFunction(function=processes, args=[arguments])])
