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

"""What is shown is shown for any robot: no view, report or marker knows one by name."""
from pathlib import Path
import re

import pytest

PACKAGE = Path(__file__).parents[2] / 'pacsbo_ros'
FILES = sorted([*(PACKAGE / 'view').glob('*.py'), *(PACKAGE / 'tuning').glob('*.py'),
                *(PACKAGE / 'safety').glob('*.py'),
                *(PACKAGE / 'nodes' / f'{name}.py' for name in (
                    'dashboard', 'marker_shapes', 'progress_markers', 'progress'))])


@pytest.mark.parametrize('path', FILES, ids=lambda path: f'{path.parent.name}/{path.name}')
def test_no_word_of_the_pendulum(path):
    text = path.read_text(encoding='utf-8')
    assert not re.search(r'theta|alpha|furuta|volt|pendulum', text, re.IGNORECASE)
