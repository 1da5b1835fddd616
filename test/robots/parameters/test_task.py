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

"""Task files: a right one is read, every wrong one is exactly one line."""
import copy

from hypothesis import given, settings
from hypothesis import strategies as st
from pacsbo_ros.robots.parameters import task as tasks
from pacsbo_ros.robots.parameters.words import TaskError
import pytest
import yaml

GOOD = {
    'task': 'joint_pid',
    'tuned': {
        'p': {'node': '/joint_pid', 'parameter': 'p', 'unit': 'N m/rad', 'lower': 1.0,
              'upper': 40.0, 'safe': [8.0, 9.0, 8.0]},
        'd': {'node': '/joint_pid', 'unit': 'N m s/rad', 'lower': 0.0, 'upper': 4.0,
              'safe': [0.8, 0.8, 1.0]}},
    'episode': {'start': '/joint_pid/step_test', 'type': 'std_srvs/srv/Trigger',
                'duration': 4.0, 'settle': 0.5},
    'signals': {
        'error': {'topic': '/joint_pid/state', 'field': 'error.positions[0]', 'unit': 'rad',
                  'limit': 0.8},
        'effort': {'topic': '/joint_pid/state', 'field': 'output.effort[0]', 'unit': 'N m',
                   'limit': 12.0}},
    'reward': '-itae(error)',
    'constraints': {'overshoot': '0.2 - overshoot(error)', 'effort': '10.0 - peak(effort)'},
    'stop': {'service': '/joint_pid/disable', 'type': 'std_srvs/srv/Trigger'},
    'optimizer': {'iterations': 12, 'noise_bound': 0.1, 'length_scales': [0.3, 0.2]},
    'processes': ['python3 joint_pid.py --rate 100'],
}


def write(folder, data, wrap=True):
    path = folder / 'task.yaml'
    body = {'/**': {'ros__parameters': data}} if wrap else data
    path.write_text(body if isinstance(body, str) else yaml.safe_dump(body, sort_keys=False))
    return path


def changed(*path, value=None, remove=False):
    data = copy.deepcopy(GOOD)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return data


def test_a_right_file_becomes_a_robot(tmp_path):
    task = tasks.load(write(tmp_path, GOOD))
    description = task.description()
    assert [t.name for t in description.tunables] == ['p', 'd']
    assert [(s.name, s.unit, s.limit) for s in description.signals] == [
        ('error', 'rad', 0.8), ('effort', 'N m', 12.0)]
    assert description.constraints == ('overshoot', 'effort')
    assert task.safe == [(8.0, 0.8), (9.0, 0.8), (8.0, 1.0)]
    assert [c.scale for c in task.constraints] == [0.2, 10.0]
    assert task.tuned[1].parameter == 'd'
    assert task.processes == (('python3', 'joint_pid.py', '--rate', '100'),)
    parameters = task.optimizer_parameters()
    assert parameters['start'] == [8.0, 0.8, 9.0, 0.8, 8.0, 1.0]
    assert parameters['iterations'] == 12


WRONG = [
    (changed('taks', value=1), "did you mean 'task'"),
    (changed('task', remove=True), "lacks 'task'"),
    (changed('task', value='a b'), 'letters'),
    (changed('task', value=3), 'give the name'),
    (changed('simulated', value='yes'), 'true or false'),
    (changed('tuned', remove=True), "lacks 'tuned'"),
    (changed('tuned', value={}), 'give 1 to 6'),
    (changed('tuned', value=[1]), 'a section'),
    (changed('tuned', 'p', 'lwoer', value=1.0), "did you mean 'lower'"),
    (changed('tuned', 'p', 'lower', value=50.0), 'below upper'),
    (changed('tuned', 'p', 'lower', value='1e0'), 'YAML wants'),
    (changed('tuned', 'p', 'lower', value=True), 'give a number'),
    (changed('tuned', 'p', 'upper', value=float('inf')), 'finite'),
    (changed('tuned', 'p', 'upper', value=float('nan')), 'finite'),
    (changed('tuned', 'p', 'upper', value=10 ** 400), 'finite'),
    (changed('tuned', 'p', 'unit', value=None), "lacks a value of 'unit'"),
    (changed('tuned', 'p', 'node', value='/jöint'), 'its full name'),
    (changed('tuned', 'p', 'node', value='/joint\n'), 'its full name'),
    (changed('tuned', 'p', 'upper', remove=True), "lacks 'upper'"),
    (changed('tuned', 'p', 'safe', value=[8.0]), 'different numbers'),
    (changed('tuned', 'p', 'safe', value=[]), 'at least one'),
    (changed('tuned', 'p', 'safe', value=[99.0, 9.0, 8.0]), 'outside [1, 40]'),
    (changed('tuned', 'p', 'safe', value=['x', 9.0, 8.0]), 'give a number'),
    (changed('tuned', 'p', 'unit', value='Nm/rad'), 'N m'),
    (changed('tuned', 'p', 'unit', value='N m/deg'), 'give the values in rad'),
    (changed('tuned', 'p', 'unit', value='N m/'), 'write it like'),
    (changed('tuned', 'p', 'unit', value='Volt'), 'write Volt as V'),
    (changed('tuned', 'p', 'unit', value=5), 'give a text'),
    (changed('tuned', 'p', 'node', value='joint pid'), 'its full name'),
    (changed('tuned', 'p', 'node', value='joint_pid'), 'like /joint_pid'),
    (changed('tuned', 'p', 'node', remove=True), "lacks 'node'"),
    (changed('tuned', 'd', 'parameter', value='p'), 'tuned twice'),
    (changed('tuned', 'd', 'parameter', value=' '), 'give a name or leave it out'),
    (changed('tuned', 'p q', value=GOOD['tuned']['p']), 'letters'),
    (changed('episode', remove=True), "lacks 'episode'"),
    (changed('episode', 'duration', value=-1.0), '0.05 to 3600'),
    (changed('episode', 'duration', remove=True), "lacks 'duration'"),
    (changed('episode', 'settle', value=-0.1), '0 to 600'),
    (changed('episode', 'type', remove=True), "lacks 'type'"),
    (changed('episode', 'type', value='std_srvs/Trigger'), 'std_srvs/srv/Trigger'),
    (changed('episode', 'start', remove=True), "lacks 'start'"),
    (changed('episode', 'start', value=''), 'a name like'),
    (changed('episode', 'strat', value='/x'), "did you mean 'start'"),
    (changed('episode', 'request', value=3), 'names and values'),
    (changed('signals', value={}), 'at least one'),
    (changed('signals', 'error', 'feild', value='x'), "did you mean 'field'"),
    (changed('signals', 'error', 'field', value='a..b'), 'not a path'),
    (changed('signals', 'error', 'topic', remove=True), "lacks 'topic'"),
    (changed('signals', 'error', 'topic', value=''), 'a name like'),
    (changed('signals', 'error', 'limit', value=0.0), 'positive'),
    (changed('signals', 'error', 'limit', value='big'), 'give a number'),
    (changed('signals', 'error', 'timeout', value=0.0), '0.01 to 60'),
    (changed('signals', 'error', 'unit', value='°'), 'give the values in rad'),
    (changed('reward', remove=True), "lacks 'reward'"),
    (changed('reward', value='-itea(error)'), "did you mean 'itae'"),
    (changed('reward', value='3 * log(2)'), 'no signal'),
    (changed('reward', value='1' + 400 * '0' + ' * iae(error)'), 'not finite'),
    (changed('reward', value={'expression': '-iae(error)', 'scale': None}), 'lacks a value'),
    (changed('reward', value='error'), 'a metric'),
    (changed('reward', value={'expression': '-iae(error)', 'scale': 0.0}), 'positive'),
    (changed('reward', value={'expresion': '-iae(error)'}), "did you mean 'expression'"),
    (changed('reward', value=3), 'a section'),
    (changed('constraints', value={}), 'at least one'),
    (changed('constraints', 'effort', value='10 - peak(efort)'), "did you mean 'effort'"),
    (changed('constraints', 'effort', value='-peak(effort)'), 'no scale'),
    (changed('constraints', 'effort', value='3'), 'no signal'),
    (changed('constraints', 'effort', value={'expression': '1 - peak(effort)'}), "lacks 'scale'"),
    (changed('stop', value={'type': 'std_srvs/srv/Trigger'}), 'a service or a topic'),
    (changed('stop', 'type', value='std_msgs/msg/Empty'), 'std_srvs/srv/Trigger'),
    (changed('stop', 'sevice', value='/x'), "did you mean 'service'"),
    (changed('optimizer', 'noise_bund', value=0.1), "did you mean 'noise_bound'"),
    (changed('optimizer', value=None), 'leave the key out'),
    (changed('optimizer', 'iterations', value=2.5), 'whole number'),
    (changed('optimizer', 'iterations', value=-1), '0 or more'),
    (changed('optimizer', 'length_scales', value=[0.1, 0.2, 0.3]), 'one for each'),
    (changed('optimizer', 'require_approval', value='yes'), 'true or false'),
    (changed('pacsbo_optimiser', value={}), "did you mean 'optimizer'"),
    (changed('processes', value='python3'), 'a list'),
    (changed('processes', value=["python3 'x"]), 'quotation'),
]


@pytest.mark.parametrize(('data', 'words'), WRONG, ids=[w for _, w in WRONG])
def test_a_wrong_file_is_one_line_with_the_remedy(tmp_path, data, words):
    path = write(tmp_path, data)
    with pytest.raises(TaskError) as caught:
        tasks.load(path)
    text = str(caught.value)
    assert text.startswith(f'{path}: ')
    assert words in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(('text', 'words'), [
    ('', 'a section'), ('[1, 2]', 'a section'), ('a: [', 'not YAML'), ('/**: 3', 'a section'),
    ('/**:\n  ros_parameters: {}', "did you mean 'ros__parameters'"),
    ('joint:\n  ros__parameters: {}', 'is not known'), ('/**: {ros__parameters: }', 'lacks'),
    ('/**:\n  ros__parameters:\n    task: a\n    task: b', 'given twice'),
    ('!!python/object/apply:os.system ["true"]', 'not YAML'), ('\x00', 'not YAML')])
def test_what_is_no_task_is_one_line(tmp_path, text, words):
    path = write(tmp_path, text, wrap=False)
    with pytest.raises(TaskError) as caught:
        tasks.load(path)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(TaskError, match='No such file'):
        tasks.load(tmp_path / 'nothing.yaml')
    with pytest.raises(TaskError, match='directory'):
        tasks.load(tmp_path)
    (tmp_path / 'bytes.yaml').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(TaskError, match='not YAML'):
        tasks.load(tmp_path / 'bytes.yaml')


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner,
                                                                max_size=3), max_leaves=5)
paths = [(k,) for k in GOOD] + [(k, i) for k, v in GOOD.items() if isinstance(v, dict) for i in v]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(paths), junk)
def test_any_junk_anywhere_is_a_task_or_one_line(tmp_path_factory, path, value):
    file = write(tmp_path_factory.getbasetemp(), changed(*path, value=value))
    line = ''
    try:
        tasks.load(file)
    except TaskError as error:
        line = str(error)
    assert len(line.splitlines()) == bool(line)
