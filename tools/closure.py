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

"""
Count the lines of the installed package, and how many of them the default launch imports.

    python3 tools/closure.py       (-v names the modules that are left over)

Imports are read from the source. `At its start` counts those at the head of files, `in all` those
inside functions and named in tables too: what a launch loads once an argument asks for it.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
import re
import sys

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'pacsbo_ros'
LICENCE = 14  # lines at the head of every file
LAUNCHED = ('nodes.run', 'nodes.launching', 'nodes.safety_monitor', 'nodes.furuta_controller',
            'nodes.pacsbo_optimizer', 'nodes.progress_markers')


def modules() -> dict[str, Path]:
    """Return the modules of the package by name."""
    return {'.'.join(p.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__'): p
            for p in sorted((ROOT / PACKAGE).rglob('*.py'))}


def tools() -> list[str]:
    """Return the modules that are installed as commands."""
    text = (ROOT / 'CMakeLists.txt').read_text(encoding='utf-8')
    return re.findall(r'^  \w+=([\w.]+)$', text, re.MULTILINE)


def imported(path: Path, known: dict[str, Path], everywhere: bool) -> set[str]:
    """Return the modules of the package that a file imports, at its head or anywhere in it."""
    found = set()
    tree = ast.parse(path.read_text(encoding='utf-8'))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f'{node.module}.{alias.name}' for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]  # a table of modules that are imported by name
        else:
            continue
        found |= {name for name in names if name in known}
    return found


def closure(names: Sequence[str], known: dict[str, Path], everywhere: bool) -> set[str]:
    """Return the modules and all that they import."""
    todo, seen = [f'{PACKAGE}.{name}' for name in names], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        parents = [name.rsplit('.', i)[0] for i in range(1, name.count('.') + 1)]
        todo += [*parents, *imported(known[name], known, everywhere)]
    return seen


def lines(names: set[str], known: dict[str, Path]) -> int:
    """Count lines of files, without the licence at their head."""
    return sum(len(known[name].read_text(encoding='utf-8').splitlines()) - LICENCE
               for name in names)


def main() -> int:
    """Print the counts and what is left over."""
    known = modules()
    total = lines(set(known), known)
    print(f'{total:6d} lines in {len(known)} modules of {PACKAGE}')
    reached: set[str] = set()
    for words, names, everywhere in (
            ('are imported by the default launch at its start', LAUNCHED, False),
            ('are imported by the default launch in all', LAUNCHED, True),
            ('are imported by that or by an installed command', (*LAUNCHED, *tools()), True)):
        reached = closure(names, known, everywhere)
        count = lines(reached, known)
        print(f'{count:6d} lines {words}: {count / total:.0%}')
    if '-v' in sys.argv:
        for name in sorted(set(known) - reached):
            print(f'       {lines({name}, known):4d} {name}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
