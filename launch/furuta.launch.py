# Copyright the pacsbo_ros developers. Apache-2.0.
"""Tune the pendulum: optimiser, controller, safety monitor, and what shows them."""
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
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

from launch import LaunchDescription
from pacsbo_ros.nodes import bringup


def processes(context):
    """Turn the arguments into nodes."""
    share = Path(get_package_share_directory(bringup.PACKAGE))
    names = [a.name for a in bringup.ARGUMENTS]
    values = bringup.resolve({n: context.launch_configurations[n] for n in names})
    actions = []
    for process in bringup.processes(values, share):
        if bringup.program(process) is None and process.optional:
            actions.append(LogInfo(msg=bringup.absence(process)))
            continue
        if not process.node:
            actions.append(ExecuteProcess(cmd=[process.executable, *process.arguments],
                                          name=process.name, output='screen'))
            continue
        # A text stays a text, even if it could be read as YAML.
        parameters = {name: ParameterValue(value, value_type=str) if isinstance(value, str)
                      else value for name, value in process.parameters.items()}
        node = Node(
            package=process.package, executable=process.executable, name=process.name,
            namespace=values['namespace'], output='screen', emulate_tty=True,
            arguments=list(process.arguments),
            parameters=[str(bringup.parameter_file(values, share)), parameters],
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


def generate_launch_description():
    return LaunchDescription([
        *(DeclareLaunchArgument(a.name, default_value=a.default, description=a.description,
                                choices=list(a.choices) or None) for a in bringup.ARGUMENTS),
        OpaqueFunction(function=processes)])
