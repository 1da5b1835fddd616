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

"""The files for rviz, rqt and diagnostics fit the programs and the graph."""
import ast
import json
from pathlib import Path
import re
from xml.etree import ElementTree

import yaml

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / 'config'
NODES = ROOT / 'pacsbo_ros' / 'nodes'


def test_rviz_has_the_sections_that_it_reads_and_a_camera():
    config = yaml.safe_load((CONFIG / 'tune.rviz').read_text())
    assert set(config) == {'Panels', 'Visualization Manager', 'Window Geometry'}
    manager = config['Visualization Manager']
    assert {'Class', 'Displays', 'Enabled', 'Global Options', 'Name', 'Tools', 'Transformation',
            'Value', 'Views'} <= set(manager)
    assert manager['Name'] == 'root'
    assert manager['Transformation']['Current']['Class'] == 'rviz_default_plugins/TF'
    view = manager['Views']['Current']
    assert view['Class'] == 'rviz_default_plugins/Orbit'
    assert 0.3 < view['Distance'] < 3


def test_rviz_shows_markers_latched_in_their_frame():
    manager = yaml.safe_load((CONFIG / 'tune.rviz').read_text())['Visualization Manager']
    for display in manager['Displays']:
        assert {'Class', 'Name', 'Enabled', 'Value'} <= set(display)
        assert display['Class'].startswith('rviz_default_plugins/')
        if display['Class'].endswith('/MarkerArray'):
            topic = display['Topic']
            assert topic['Durability Policy'] == 'Transient Local'
            assert topic['Reliability Policy'] == 'Reliable'
            assert not topic['Value'].startswith('/'), 'it would leave the namespace'
    markers = (NODES / 'progress_markers.py').read_text(encoding='utf-8')
    frame = re.search(r"Parameter\('frame_id', '(\w+)'", markers).group(1)
    assert manager['Global Options']['Fixed Frame'] == frame


def perspective():
    """Return the plugins of the perspective: class name to the settings of its instances."""
    data = json.loads((CONFIG / 'tune.perspective').read_text())
    manager = data['groups']['pluginmanager']
    running = ast.literal_eval(manager['keys']['running-plugins']['repr'])
    plugins = {}
    for name, numbers in running.items():
        for number in numbers:
            group = manager['groups'][f'plugin__{name.replace("/", "__")}__{number}']
            keys = group['groups']['plugin']['keys']
            plugins.setdefault(name, []).append(
                {key: ast.literal_eval(value['repr']) for key, value in keys.items()
                 if value['type'] == 'repr'})
    assert len(manager['groups']) == sum(map(len, running.values()))
    assert set(data['groups']['mainwindow']['keys']) == {'geometry', 'state'}
    return plugins


def test_rqt_has_plots_sliders_monitor_and_service_callers():
    plugins = perspective()
    assert set(plugins) == {'rqt_plot/Plot', 'rqt_reconfigure/Param',
                            'rqt_robot_monitor/RobotMonitor', 'rqt_service_caller/ServiceCaller'}


def test_a_caller_calls_what_its_tab_says():
    callers = perspective()['rqt_service_caller/ServiceCaller']
    titles = re.findall(r"'Call (\w+)'", (CONFIG / 'tune.perspective').read_text())
    assert 'stop' in titles
    assert [c['current_service_name'].rsplit('/', 1)[1] for c in callers] == titles


def test_the_analyzers_match_what_the_nodes_report():
    (content,) = yaml.safe_load((CONFIG / 'diagnostics.yaml').read_text()).values()
    analyzers = {k: v for k, v in content['ros__parameters'].items() if isinstance(v, dict)}
    wanted = {part for a in analyzers.values() for part in a['contains']}
    reported = {f': {what}' for p in NODES.glob('*.py') for what in re.findall(
        r"report_health\(self, '([a-z ]+)'", p.read_text('utf-8'))}
    assert wanted == reported == {': control loop', ': safety', ': tuning run'}
    assert all(a['type'] == 'diagnostic_aggregator/GenericAnalyzer' for a in analyzers.values())


KINDS = {'optimizer_state': 'OptimizerState', 'safety_status': 'SafetyStatus',
         'safety_event': 'SafetyStatus', 'controller_state': 'ControllerState',
         'episode_result': 'EpisodeResult'}


def assert_published(topic, field):
    """Check that a topic has a field that can be plotted, an array if it is indexed."""
    name, bracket, _ = field.partition('[')
    kinds = {name for kind, name in re.findall(
        r'^([a-z0-9]+(?:\[\])?) +(\w+)(?= |$)',
        (ROOT / 'msg' / f'{KINDS[topic]}.msg').read_text(), re.MULTILINE)
        if kind.endswith('[]') == bool(bracket)}
    assert name in kinds, (topic, field)


def test_plotjuggler_plots_what_is_published():
    root = ElementTree.parse(CONFIG / 'plotjuggler.xml').getroot()
    paths = [curve.get('name').split('/')[1:] for curve in root.iter('curve')]
    assert len(paths) >= 15
    for topic, field in paths:
        assert_published(topic, field)
    assert {f'/{topic}' for topic, _ in paths} == {t.get('name') for t in root.iter('topic')}
    for splitter in root.iter('DockSplitter'):
        assert int(splitter.get('count')) == len(splitter.findall('DockArea'))


def test_foxglove_shows_what_is_published_and_can_stop():
    layout = json.loads((CONFIG / 'foxglove.json').read_text())
    panels = layout['configById']
    paths = [path['value'] for panel in panels.values() for path in panel.get('paths', ())]
    paths += [panel['topicPath'] for panel in panels.values() if 'topicPath' in panel]
    assert len(paths) >= 18
    for path in paths:
        assert_published(*path.removeprefix('/').split('.'))

    def shown(part):
        return [part] if isinstance(part, str) else shown(part['first']) + shown(part['second'])

    assert sorted(shown(layout['layout'])) == sorted(panels)
    drawn = yaml.safe_load((CONFIG / 'tune.rviz').read_text())['Visualization Manager']['Displays']
    assert set(panels['3D!scene']['topics']) == {
        '/' + d['Topic']['Value'] for d in drawn if d['Class'].endswith('/MarkerArray')}
    assert panels['CallService!stop']['serviceName'] == '/safety_monitor/stop'
