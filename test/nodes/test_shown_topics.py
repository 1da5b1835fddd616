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

"""What rviz and rqt are set up to show exists in the running graph, also under a namespace."""
import ast
import json
from pathlib import Path

from faults.graph import wait_for
from pacsbo_ros import msg
from pacsbo_ros.nodes import bringup
import pytest
import yaml

CONFIG = Path(__file__).resolve().parents[2] / 'config'
TOPICS = ('markers/robot', 'markers/gain_map', 'markers/candidate', 'optimizer_state',
          'controller_state', 'safety_status', 'episode_result')
SERVICES = ('safety_monitor/stop', 'pacsbo_optimizer/pause', 'pacsbo_optimizer/resume',
            'safety_monitor/reset')


@pytest.fixture(scope='module')
def offered(common_graph):
    """Return topics with their types, services and nodes once the graph is complete."""
    common_graph.start_monitor()
    common_graph.start_controller()
    common_graph.start_optimizer(iterations=1000)
    common_graph.start('progress_markers')
    node, inside = common_graph.client.node, f'/{common_graph.namespace}/'

    def found():  # what a busy machine announces last may be any of these
        topics = dict(node.get_topic_names_and_types())
        services = {name for name, _ in node.get_service_names_and_types()}
        nodes = set(node.get_fully_qualified_node_names())
        whole = ({inside + name for name in TOPICS} <= set(topics)
                 and {inside + name for name in SERVICES} <= services
                 and f'{inside}furuta_controller' in nodes)
        return (common_graph.namespace, topics, services, nodes) if whole else None

    return wait_for(found, 'the whole graph', 90.0)


def settings(namespace, monkeypatch, tmp_path):
    """Return the settings of all plugins in the perspective of a namespace."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    values = bringup.resolve({'rqt': 'true', 'namespace': namespace})
    (rqt,) = (p for p in bringup.processes(values, CONFIG.parent) if p.name == 'rqt')
    plugins = json.loads(Path(rqt.arguments[-1]).read_text())['groups']['pluginmanager']['groups']
    return [{key: ast.literal_eval(item['repr']) for key, item in keys.items()
             if item['type'] == 'repr'}
            for keys in (plugin['groups']['plugin']['keys'] for plugin in plugins.values()
                         if 'plugin' in plugin['groups'])]


def test_rviz_shows_every_marker_topic(offered):
    namespace, topics, _, _ = offered
    displays = yaml.safe_load((CONFIG / 'tune.rviz').read_text())['Visualization Manager'][
        'Displays']
    shown = {f'/{namespace}/{d["Topic"]["Value"]}' for d in displays
             if d['Class'].endswith('/MarkerArray')}
    assert shown == {name for name, kinds in topics.items() if name.startswith(f'/{namespace}/')
                     and 'visualization_msgs/msg/MarkerArray' in kinds}


def test_rqt_plots_numbers_calls_services_and_sets_a_node_of_the_graph(
        offered, monkeypatch, tmp_path):
    namespace, topics, services, nodes = offered
    found = settings(namespace, monkeypatch, tmp_path)
    plotted = [path for s in found for path in s.get('topics', ())]
    for path in plotted:
        topic, field = path.rsplit('/', 1)
        (kind,) = topics[topic]
        fields = getattr(msg, kind.rsplit('/', 1)[-1]).get_fields_and_field_types()
        name, bracket, _ = field.partition('[')
        assert fields[name] == ('sequence<double>' if bracket else 'double'), path
    assert {'reward', 'best_reward', 'peaks[0]', 'reward_norm', 'newest[0]', 'newest[1]'} <= {
        path.rsplit('/', 1)[-1] for path in plotted}
    called = {s['current_service_name'] for s in found if 'current_service_name' in s}
    assert called == {f'/{namespace}/{name}' for name in SERVICES}
    assert called <= services
    (chosen,) = (s['selected_nodes'] for s in found if 'selected_nodes' in s)
    assert chosen == [f'/{namespace}/furuta_controller']
    assert set(chosen) <= nodes
