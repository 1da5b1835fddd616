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
Run every benchmark, print a table, write build/bench.json.

A benchmark is a module `bench/bench_<area>.py` with a generator `run()` that yields
(name, value, unit, goal); a goal reads '>= 1000' or '<= 20', or is None where none was set.
"""
import argparse
import importlib
import json
import operator
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

HERE = Path(__file__).resolve().parent
OPERATORS = {'>=': operator.ge, '<=': operator.le}


def meets(value: float, goal: str | None) -> bool | None:
    """Say whether a value meets its goal; None where there is no goal."""
    if goal is None:
        return None
    sign, number = goal.split()
    return OPERATORS[sign](value, float(number))


def main() -> int:
    """Run the benchmarks that were asked for; exit with 1 if a goal is missed."""
    areas = sorted(p.stem.removeprefix('bench_') for p in HERE.glob('bench_*.py'))
    parser = argparse.ArgumentParser(prog='make bench', description=__doc__)
    parser.add_argument('areas', nargs='*', metavar='AREA',
                        help=f'which ones to run, all by default: {", ".join(areas)}')
    parser.add_argument('--output', type=Path, default=HERE.parent / 'build' / 'bench.json')
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.areas) - set(areas))
    if unknown:
        parser.error(f'no benchmark {", ".join(unknown)}; there are {", ".join(areas)}')

    console = Console()
    results = {}
    table = Table(Column('name', no_wrap=True), 'value', 'unit', 'goal', 'met')
    broken = []
    for area in arguments.areas or areas:
        with console.status(f'measuring {area}'):
            try:
                for name, value, unit, goal in importlib.import_module(
                        f'bench.bench_{area}').run():
                    met = meets(value, goal)
                    results[name] = {'value': value, 'unit': unit, 'goal': goal, 'met': met}
                    table.add_row(name, f'{value:.4g}', unit, goal or '',
                                  {True: '[green]yes', False: '[red]no', None: ''}[met])
            except Exception as error:  # the other areas still have something to say
                broken.append(f'{area} broke off: {type(error).__name__}: {error}')
    console.print(table)
    for line in broken:
        console.print(line, style='red')
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(results, indent=2) + '\n')
    console.print(f'written to {arguments.output}')
    return int(bool(broken) or any(r['met'] is False for r in results.values()))


if __name__ == '__main__':
    raise SystemExit(main())
