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

"""What `ros2 param dump` writes of a node starts it again and can be loaded into it."""
from pathlib import Path

from pacsbo_ros.nodes.furuta_controller import FurutaController, PARAMETERS
from pacsbo_ros.nodes.pacsbo_optimizer import PacsboOptimizer
from pacsbo_ros.nodes.progress_markers import ProgressMarkers
from pacsbo_ros.nodes.safety_monitor import SafetyMonitor
from pacsbo_ros.nodes.simulated_plant import SimulatedPlant
import pytest
import yaml

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'furuta.yaml'


def start(kind, context, *files):
    words = [word for file in files for word in ('--params-file', str(file))]
    return kind(context=context, cli_args=['--ros-args', *words])


def values(node):
    """Return all parameters by name."""
    names = node.list_parameters([], 0).names
    return {p.name: p.value for p in node.get_parameters(names)}


def dump(node, file):
    """Write what `ros2 param dump` does: parts of a name are nested sections."""
    tree = {}
    for name, value in values(node).items():
        *sections, last = name.split('.')
        inner = tree
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = value if isinstance(value, (str, int, float)) else list(value)
    file.write_text(yaml.safe_dump({node.get_fully_qualified_name(): {'ros__parameters': tree}}))


@pytest.mark.parametrize('kind', [SafetyMonitor, FurutaController, PacsboOptimizer,
                                  ProgressMarkers, SimulatedPlant])
def test_a_dump_starts_the_node_with_the_same_values(kind, context, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The optimiser waits until a robot has said what it is.
    robot = start(FurutaController, context, CONFIG) if kind is PacsboOptimizer else None
    first = start(kind, context, CONFIG)
    dump(first, tmp_path / 'dump.yaml')
    before = values(first)
    first.destroy_node()
    again = start(kind, context, tmp_path / 'dump.yaml')
    assert values(again) == before
    again.destroy_node()
    if robot is not None:
        robot.destroy_node()


def test_loading_a_dump_sets_what_is_live_and_names_what_is_not(context, tmp_path):
    node = start(FurutaController, context, CONFIG)
    live = {p.name for p in PARAMETERS if p.live}
    assert live
    for parameter in node.get_parameters(list(values(node))):
        (answer,) = node.set_parameters([parameter])
        if parameter.name in live:
            assert answer.successful, (parameter.name, answer.reason)
        elif not answer.successful:
            assert 'read-only' in answer.reason, (parameter.name, answer.reason)
    node.destroy_node()
