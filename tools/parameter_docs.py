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

"""Write docs/parameters.md from the tables that the nodes declare."""
from pathlib import Path

from pacsbo_ros.nodes import bringup, parameter_files
from pacsbo_ros.nodes.parameters import markdown
from pacsbo_ros.robots.parameters.task import OPTIMIZER

PAGE = Path(__file__).resolve().parent.parent / 'docs' / 'parameters.md'
HEAD = """# Launch arguments and parameters

Made by `.venv/bin/with-ros python tools/parameter_docs.py` from the tables in the code.

Parameters come from `config/furuta.yaml` (or your `params_file:=`), launch arguments win over it.
A section or name that no node has, a value outside its range or of the wrong type: `make run` and
the launch files refuse it before any node starts, with one line that says what is allowed or names
the nearest right word. Only parameters marked (live) can be changed while the node runs;
`ros2 param describe` shows the same text.
"""


def _arguments(title: str, table) -> str:
    rows = [f'## {title}\n', '| argument | default | choices | meaning |', '|---|---|---|---|']
    rows += [f'| `{a.name}` | {f"`{a.default}`" if a.default else ""} | {" / ".join(a.choices)} '
             f'| {a.description} |' for a in table]
    return '\n'.join(rows)


def _node(node: str) -> str:
    table, groups = parameter_files.tables(node)
    parts = [f'## {node}', markdown(table)]
    if node == 'pacsbo_optimizer':
        parts.append(_of_tasks({p.name: p.default for p in table}))
    parts += [f'For every name that you choose, `{group.name}.<name>.` with\n\n'
              + markdown(group.parameters) for group in groups]
    return '\n\n'.join(parts)


def _of_tasks(defaults) -> str:
    others = [f'`{name}` {str(value).lower()}' for name, value in OPTIMIZER.items()
              if value != defaults[name]]
    return ('A task file that says nothing of them sets these otherwise: ' + ', '.join(others)
            + '. A robot in Python has the defaults of the table.')


def page() -> str:
    """Return the whole page."""
    own = [a for a in bringup.TUNE_ARGUMENTS if a not in bringup.COMMON]
    return '\n\n'.join([
        HEAD.rstrip(), _arguments('Arguments of furuta.launch.py', bringup.ARGUMENTS),
        _arguments('Arguments of tune.launch.py', own)
        + '\n\nand those above but for plant and speed.',
        *map(_node, parameter_files.TABLES)]) + '\n'


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
