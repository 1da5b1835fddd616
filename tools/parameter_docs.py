# Copyright the pacsbo_ros developers. Apache-2.0.
"""Write docs/parameters.md from the tables that the nodes declare."""
import importlib
from pathlib import Path

from pacsbo_ros.nodes import bringup
from pacsbo_ros.nodes.parameters import markdown

PAGE = Path(__file__).resolve().parent.parent / 'docs' / 'parameters.md'
TABLES = {
    'furuta_controller': 'pacsbo_ros.nodes.furuta_controller',
    'safety_monitor': 'pacsbo_ros.nodes.safety_monitor',
    'pacsbo_optimizer': 'pacsbo_ros.nodes.tuning_parameters',
    'simulated_plant': 'pacsbo_ros.nodes.simulated_plant',
    'progress_markers': 'pacsbo_ros.nodes.progress_markers',
    'dashboard': 'pacsbo_ros.nodes.dashboard',
}
HEAD = '''# Launch arguments and parameters

Made by `.venv/bin/with-ros python tools/parameter_docs.py` from the tables in the code.

Parameters come from `config/furuta.yaml` (or your `params_file:=`), launch arguments win over it.
A value outside its range, of the wrong type or with an unknown name of a choice ends the start of
its node with one line that says what is allowed. Only parameters marked (live) can be changed
while the node runs; `ros2 param describe` shows the same text.

## Launch arguments
'''


def page() -> str:
    """Return the whole page."""
    rows = ['| argument | default | choices | meaning |', '|---|---|---|---|']
    rows += [f'| `{a.name}` | {f"`{a.default}`" if a.default else ""} | {" / ".join(a.choices)} '
             f'| {a.description} |' for a in bringup.ARGUMENTS]
    parts = [HEAD + '\n'.join(rows)]
    parts += [f'## {node}\n\n{markdown(importlib.import_module(module).PARAMETERS)}'
              for node, module in TABLES.items()]
    return '\n\n'.join(parts) + '\n'


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
