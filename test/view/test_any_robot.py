# Copyright the pacsbo_ros developers. Apache-2.0.
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
