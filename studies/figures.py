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
Draw the paper's figures and print its numbers beside ours.

    python -m studies.figures --out results/figures
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pacsbo_ros.executors import carry_out
from studies import records
from studies.norm_figures import growth, interpolants, norms
from studies.records import Record
from studies.run_figures import pendulum, too_large, too_small

# Slowest first, so that two workers end together.
FIGURES = {'fig5': too_large, 'fig6': too_small, 'fig4': interpolants, 'fig2': growth,
           'pendulum': pendulum, 'fig1': norms}


def draw(key: Record, out: Path) -> Record:
    """Draw one figure and give its lines of the table."""
    return {'lines': FIGURES[key['figure']](out)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figures that were asked for."""
    parser = argparse.ArgumentParser(prog='python -m studies.figures',
                                     description="Draw the paper's figures.")
    records.add_options(parser, 'results/figures')
    parser.add_argument('--figures', nargs='+', default=list(FIGURES), choices=list(FIGURES))
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / 'lines.jsonl'
    store.unlink(missing_ok=True)  # a picture is always drawn anew
    with records.open_executor(options) as executor:
        found = records.collect(partial(draw, out=options.out),
                                [{'figure': name} for name in options.figures], store, executor,
                                'figures')
    store.unlink()
    lines = [line for entry in sorted(found, key=lambda e: e['figure']) for line in entry['lines']]
    origin = records.provenance('studies.figures', found, arguments)
    text = '\n\n'.join((records.markdown(('quantity', 'paper', 'here'), lines),
                        records.signature(origin)))
    (options.out / 'figures.md').write_text(text + '\n', encoding='utf-8')
    records.save(options.out / 'figures.json', {'made_by': origin, 'lines': lines})
    print(text)


if __name__ == '__main__':
    raise SystemExit(main())
