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

"""The SROS2 policy allows each node of the live graph what it uses, and nothing else."""
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from faults.graph import wait_for
from pacsbo_ros.nodes import bringup
import pytest
import rclpy
from rclpy.action import (
    get_action_client_names_and_types_by_node,
    get_action_server_names_and_types_by_node,
)
from rclpy.parameter import Parameter

FOLDER = Path(__file__).resolve().parents[2] / 'config' / 'sros2'
INCLUDE = '{http://www.w3.org/2001/XInclude}include'
POLICY = ElementTree.parse(FOLDER / 'policy.xml').getroot()


def rules(profile):
    """Return what a profile allows: sets of absolute names by kind and access."""
    found = defaultdict(set)
    groups = [group for child in profile for group in (
        ElementTree.parse(FOLDER / child.get('href')).getroot() if child.tag == INCLUDE
        else [child])]
    for group in groups:
        (access, qualifier), = group.attrib.items()
        assert qualifier == 'ALLOW'
        for item in group:
            name = item.text.replace('~', f'/{profile.get("node")}')
            found[group.tag, access].add(name if name.startswith('/') else f'/{name}')
    return found


PROFILES = {profile.get('node'): rules(profile) for profile in POLICY.iter('profile')}
ENCLAVES = {profile.get('node'): enclave.get('path') for enclave in POLICY.iter('enclave')
            for profile in enclave.iter('profile')}


@pytest.fixture(scope='module')
def used(tmp_path_factory):
    """Return what each node of a live graph publishes, subscribes, answers and calls."""
    pytest.importorskip('nicegui', reason='the live page needs nicegui')
    from pacsbo_ros.nodes.dashboard import Dashboard
    from pacsbo_ros.nodes.furuta_controller import FurutaController
    from pacsbo_ros.nodes.pacsbo_optimizer import PacsboOptimizer
    from pacsbo_ros.nodes.progress_markers import ProgressMarkers
    from pacsbo_ros.nodes.safety_monitor import SafetyMonitor
    from pacsbo_ros.nodes.simulated_plant import SimulatedPlant
    from pacsbo_ros.view.live import Live
    context = rclpy.Context()
    context.init()
    run = str(tmp_path_factory.mktemp('security') / 'run')
    config = ['--ros-args', '--params-file', str(FOLDER.parent / 'furuta.yaml')]
    nodes = [make(context=context, cli_args=config, parameter_overrides=[
        Parameter(name, value=value) for name, value in parameters.items()])
        for make, parameters in (
            (SafetyMonitor, {'require_operator': True}), (FurutaController, {'plant': 'topics'}),
            (PacsboOptimizer, {'run_dir': run}), (SimulatedPlant, {}), (ProgressMarkers, {}))]
    nodes.append(Dashboard(Live(), context=context))
    observer = rclpy.create_node('observer', context=context)
    graph = {node.get_name(): wait_for(lambda n=node: uses(observer, n.get_name()),
                                       f'{node.get_name()} in the graph') for node in nodes}
    yield graph
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


def uses(observer, name):
    """Return the rules that a node needs; nothing before all of it was found."""
    if (name, '/') not in observer.get_node_names_and_namespaces():
        return None
    found = {}
    for key, query in ((('topics', 'publish'), observer.get_publisher_names_and_types_by_node),
                       (('topics', 'subscribe'), observer.get_subscriber_names_and_types_by_node),
                       (('services', 'reply'), observer.get_service_names_and_types_by_node),
                       (('services', 'request'), observer.get_client_names_and_types_by_node)):
        found[key] = {topic for topic, _ in query(name, '/') if '/_action/' not in topic}
    for key, query in ((('actions', 'execute'), get_action_server_names_and_types_by_node),
                       (('actions', 'call'), get_action_client_names_and_types_by_node)):
        found[key] = {action for action, _ in query(observer, name, '/')}
    return found


def test_every_node_may_do_what_it_does_and_no_more(used):
    for name, found in used.items():
        # Older versions of ROS have no service for type descriptions.
        optional = {f'/{name}/get_type_description'}
        allowed = PROFILES[name]
        for key, names in found.items():
            assert names | optional == allowed[key] | optional, (name, key)
        assert set(allowed) <= set(found)


def test_only_the_right_enclaves_give_verdicts_send_goals_reset_and_arm():
    def holders(kind, access, name):
        return {ENCLAVES[node] for node, allowed in PROFILES.items()
                if {name, '/*'} & allowed[kind, access]}

    assert holders('topics', 'publish', '/safety_status') == {'/pacsbo/monitor'}
    assert holders('topics', 'publish', '/plant/command') == {'/pacsbo/controller'}
    assert holders('topics', 'publish', '/candidate') == {'/pacsbo/optimizer'}
    assert holders('topics', 'publish', '/operator_heartbeat') == {'/pacsbo/operator'}
    assert holders('actions', 'call', '/run_episode') == {'/pacsbo/optimizer', '/pacsbo/operator'}
    for service in ('/safety_monitor/reset', '/safety_monitor/arm',
                    '/furuta_controller/set_parameters'):
        assert holders('services', 'request', service) == {'/pacsbo/operator'}
    assert holders('services', 'request', '/safety_monitor/stop') == {
        '/pacsbo/operator', '/pacsbo/viewers'}


def test_the_bring_up_puts_every_node_into_its_enclave():
    table = bringup.processes(bringup.resolve({'dashboard': 'true'}), FOLDER)
    assert {process.name: process.enclave for process in table} == {
        process.name: ENCLAVES[process.name] for process in table}
