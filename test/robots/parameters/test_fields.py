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

"""Field paths, compiled against message classes that only look like those of ROS."""
import math
from types import SimpleNamespace

from pacsbo_ros.robots.parameters import fields
from pacsbo_ros.robots.parameters.words import TaskError
import pytest


def kind(title, /, **types):
    return type(title, (), {
        '__module__': 'fake_msgs.msg._x',
        'get_fields_and_field_types': classmethod(lambda cls: types)})


POINT = kind('Point', positions='sequence<double>', x='double', frame='string')
STATE = kind('State', error='fake_msgs/Point', name='sequence<string>',
             position='sequence<double>', cov='double[3]', points='sequence<fake_msgs/Point, 4>',
             on='boolean', header='std_msgs/Header')


@pytest.fixture(autouse=True)
def classes(monkeypatch):
    monkeypatch.setattr(fields, 'message_class', {'fake_msgs/Point': POINT}.__getitem__)


MESSAGE = SimpleNamespace(
    error=SimpleNamespace(positions=[0.5, 0.25], x=2, frame='a'), name=['hip', 'elbow'],
    position=[1.0, 2.0], cov=[1.0, 2.0, 3.0],
    points=[SimpleNamespace(positions=[7.0], x=8.0)], on=True,
    header=SimpleNamespace(stamp=SimpleNamespace(sec=3, nanosec=500_000_000)))


@pytest.mark.parametrize(('path', 'value'), [
    ('error.positions[1]', 0.25), ('error.x', 2.0), ('cov[2]', 3.0), ('position[elbow]', 2.0),
    ('points[0].positions[0]', 7.0), ('on', 1.0)])
def test_a_path_reads_its_number(path, value):
    assert fields.reader(path, STATE)(MESSAGE) == value


@pytest.mark.parametrize(('path', 'words'), [
    ('eror.x', "did you mean 'error'"), ('error.y', 'there are positions'),
    ('error', 'positions'),
    ('error.positions', 'positions[0]'), ('error.x[0]', 'no list'), ('cov[3]', 'only 3'),
    ('error.frame', 'not a number'), ('on.x', 'no fields'), ('cov[-1]', 'not a number from 0'),
    ('error.positions[hip]', 'names no places'), ('', 'not a path'), ('.x', 'not a path'),
    ('a..b', 'not a path'), ('a b', 'not a path'), ('a[0', 'not a path'), ('os.system()', 'path')])
def test_a_wrong_path_is_one_line(path, words):
    with pytest.raises(TaskError, match=r'^.*$') as caught:
        fields.reader(path, STATE)
    assert words in str(caught.value)


def test_a_list_that_is_too_short_gives_no_number():
    assert math.isnan(fields.reader('position[5]', STATE)(MESSAGE))
    assert math.isnan(fields.reader('position[knee]', STATE)(MESSAGE))


def test_the_stamp_of_a_header_is_found():
    assert fields.stamp_reader(STATE)(MESSAGE) == 3.5
    assert fields.stamp_reader(POINT) is None
