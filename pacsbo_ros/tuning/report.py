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
Write one self-contained HTML page about a run: `ros2 run pacsbo_ros report PATH`.

Works on the folder alone, while the run goes on or years later, without ROS and without network.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
import io
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.tuning import belief_plots, plots
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.tuning.trial import START, Told
from pacsbo_ros.view.numbers import label, number, quantity, shown, tuned_label, written
from pacsbo_ros.view.words import BEST_WHY, outcome_name, risk, role

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT = 'report.html'
CSS = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: #1f2933;
       font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 18px 60px; }
header { background: #0d131a; color: #eef3f8; }
header div { max-width: 1240px; margin: 0 auto; padding: 30px 18px 26px; }
h1 { margin: 0 0 6px; font-size: 27px; letter-spacing: -.01em; }
h2 { margin: 34px 0 4px; font-size: 19px; }
header p { margin: 0; color: #a9b6c2; }
p.lead { margin: 0 0 10px; color: #66727f; }
p.note { margin: 12px 0 0; padding: 8px 14px; border-left: 4px solid #c08212;
         background: #fff6e0; }
.pill { display: inline-block; padding: 3px 12px; border-radius: 99px; font-weight: 600;
        font-size: 13px; color: #fff; vertical-align: 4px; margin-left: 12px; }
.good { background: #2aa198; } .bad { background: #e5484d; } .warn { background: #c08212; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; }
.tile, section.card { background: #fff; border: 1px solid #e1e7ec; border-radius: 14px; }
.tile { padding: 13px 16px; }
.tile b { display: block; font-size: 19px; font-weight: 650;
          font-variant-numeric: tabular-nums; }
.tile span { color: #66727f; font-size: 13px; }
.values { display: flex; flex-wrap: wrap; gap: 6px 34px; margin: 0 0 12px; padding: 13px 16px;
        background: #fff6dd; border: 1px solid #f0dfae; border-radius: 14px; }
.values div { min-width: 0; overflow-wrap: anywhere; }
.values b { font-size: 19px; font-weight: 650; font-variant-numeric: tabular-nums; }
.values span { display: block; color: #7d6b33; font-size: 13px; }
section.card { padding: 14px; overflow-x: auto; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
        font-size: 13.5px; }
th { text-align: left; color: #66727f; font-weight: 600; border-bottom: 1px solid #d5dde4; }
th, td { padding: 5px 10px 5px 0; }
th { vertical-align: bottom; }
td { white-space: nowrap; }
td.words { white-space: normal; min-width: 9em; }
tr + tr td { border-top: 1px solid #eef2f5; }
tr.unsafe td { color: #c0272d; } tr.best td { background: #fff6dd; }
details summary { cursor: pointer; color: #66727f; }
"""


def write_report(folder: Path) -> Path:
    """Write the pictures and the page of a run into its folder; return the page."""
    run = RunData.load(folder)
    import matplotlib
    matplotlib.use('Agg')
    with matplotlib.rc_context(plots.STYLE):
        figures, failed = _figures(run)
        run = replace(run, notes=(*run.notes, *failed))
        for name in ('history', 'belief'):
            if name in figures:
                figures[name].savefig(folder / f'{name}.png', dpi=130)
        content = _page(run, {name: _svg(figure) for name, figure in figures.items()})
    page = folder / REPORT
    temporary = folder / f'.{REPORT}.tmp'
    temporary.write_text(content, encoding='utf-8')
    temporary.replace(page)
    return page


def _figures(run: RunData) -> tuple[dict[str, Figure], list[str]]:
    """Draw what there is data for; say what could not be drawn."""
    wanted: dict[str, Callable[[], Figure]] = {}
    if run.slices:
        wanted['belief'] = lambda: belief_plots.belief(run.slices[-1])
    if len(run.slices) > 1:
        shares = {p.iteration: p.safe_share[-1] for p in run.progress if p.safe_share}
        wanted['growth'] = lambda: belief_plots.growth(run.slices, shares)
    if run.told:
        wanted['history'] = lambda: plots.history(run)
    if run.progress and run.progress[-1].functions:
        wanted['norms'] = lambda: plots.norms(run)
    if run.progress and len(run.progress[-1].length_scales) > 1:
        wanted['scales'] = lambda: plots.length_scales(run.progress[-1])
    if run.traces:
        wanted['traces'] = lambda: plots.traces(run)
    figures, failed = {}, []
    for name, draw in wanted.items():
        try:
            figures[name] = draw()
        except Exception as error:  # sound files may still hold numbers that nobody can draw
            failed.append(f'The picture {name} could not be drawn: {error}')
    return figures, failed


def _svg(figure: Figure) -> str:
    """Return a figure as an SVG element."""
    text = io.StringIO()
    figure.savefig(text, format='svg', dpi=160, metadata={'Date': None, 'Creator': None})
    return text.getvalue()[text.getvalue().index('<svg'):]


def _page(run: RunData, figures: dict[str, str]) -> str:
    verdict = (('good', 'verified') if run.verified else ('warn', 'not verified')
               if all(t.measured.safe for t in run.told) else ('bad', 'not verified'))
    parts = [_best(run),
             f'<div class="tiles">{"".join(_tile(*tile) for tile in _tiles(run))}</div>']
    parts += [f'<p class="note">{escape(note)}</p>' for note in _notes(run)]
    for name, title, lead in (
            ('belief', 'What is guaranteed', _belief_lead(run)),
            ('growth', 'How the safe set grew', _growth_lead(run)),
            ('history', 'Episode by episode', f'What every episode measured. {BEST_WHY} At the '
             'end the best values and the best start are tried again, in turns.'),
            ('norms', 'What the optimiser estimated',
             'The bound B on the norm of each function, per domain, and the share of the whole '
             'box that is known to be safe within each domain.'),
            ('scales', 'How smooth the functions are', 'How much the data speak for '
             'each length scale.'),
            ('traces', 'How it moved', 'Chosen episodes as they were measured; dashed: the '
             'limits that came near.')):
        if name in figures:
            parts.append(f'<h2>{title}</h2><p class="lead">{escape(lead)}</p>'
                         f'<section class="card">{figures[name]}</section>')
    parts += [_outcomes(run), _risk(run), _episodes(run), _parameters(run)]
    count = len(run.told)
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>Run {escape(run.run_id)}</title><style>{CSS}</style></head><body>'
            f'<header><div><h1>Run {escape(run.run_id)}'
            f'<span class="pill {verdict[0]}">{verdict[1]}</span></h1>'
            f'<p>Safe tuning of {escape(", ".join(run.names))} of {escape(run.robot.name)} · '
            f'{count} episode{"s" * (count != 1)}</p></div></header>'
            f'<main>{"".join(parts)}</main></body></html>\n')


def _best(run: RunData) -> str:
    """Return the best values, however many, each with its unit."""
    if run.best is None:
        return ''
    return '<div class="values">' + ''.join(
        f'<div><span>best {escape(name)}</span><b>{number(value)}</b> '
        f'{escape(written(unit))}</div>' for name, unit, value in zip(
            run.names, run.units, run.best.trial.values, strict=True)) + '</div>'


def _tiles(run: RunData) -> list[tuple[str, str]]:
    """Return the numbers that sum the run up."""
    unsafe = sum(not t.measured.safe for t in run.told)
    tiles = [(f'{unsafe} of {len(run.told)}', 'episodes unsafe')]
    best, unit = run.best, run.robot.reward.unit
    if best is not None:
        tiles = [_reward_tile(run, best, unit),
                 *((quantity(peak, s.unit), f'its largest |{s.name}|' + (
                     f' of {quantity(s.limit, s.unit)} allowed' if s.limit is not None else ''))
                   for s, peak in zip(run.robot.signals, best.measured.peaks, strict=False)),
                 *tiles]
    if run.progress:
        first, last = run.progress[0], run.progress[-1]
        if last.safe_share:
            start = f', from {100 * first.safe_share[-1]:.1f} %' if first.safe_share else ''
            tiles.append((f'{100 * last.safe_share[-1]:.1f} %',
                          f'of the box known safe{start}'))
        if last.delta > 0:
            tiles.append((risk(last.delta_spent, last.delta), 'risk spent'))
    return tiles


def _reward_tile(run: RunData, best: Told, unit: str) -> tuple[str, str]:
    """Return the reward of the best values: as verified, or else the reading that chose them."""
    gain = run.gain
    if gain is None:
        return quantity(best.measured.reward, unit, 5), 'reading of the best values, not verified'
    if gain.size is None:
        return quantity(gain.best, unit, 5), 'reward of the best values, which are a start'
    doubt = '' if gain.half_width is None else f' ± {number(gain.half_width, 2)}'
    sign = '+' if gain.size >= 0 else ''
    return (quantity(gain.best, unit, 5),
            f'reward, verified: {sign}{number(gain.size, 3)}{doubt} beside the best start')


def _notes(run: RunData) -> list[str]:
    """Return what could not be read, and what the optimiser warned of at the end."""
    return [*run.notes, *(run.progress[-1].warnings if run.progress else ())]


def _belief_lead(run: RunData) -> str:
    """Say what is slice and what is projection."""
    if not run.slices:
        return ''
    last = run.slices[-1]
    if last.is_curve or len(last.names) == 2:
        return f'At the end of the run. {last.sentence()} Every dot was tried on the robot.'
    return ('At the end of the run, for every pair of values. Colour and line are slices '
            'through the best values: those that are not shown stay at their best. Dots and '
            'hulls are projections: pale dots had other values there.')


def _growth_lead(run: RunData) -> str:
    pair = run.slices[-1].pairs[0].replace(', ', ' and ') if run.slices else ''
    return f'The close-up over {pair} at some stages of the run.'


def _tile(value: str, words: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(words)}</span></div>'


def _table(head: list[str], rows: list[tuple[str, list[Any]]]) -> str:
    """Return a table; each row has a class and its cells, the last column may wrap."""
    last = len(head) - 1
    body = ''.join(
        f'<tr class="{kind}">' + ''.join(
            f'<td{" class=words" if i == last else ""}>{escape(str(cell))}</td>'
            for i, cell in enumerate(cells)) + '</tr>' for kind, cells in rows)
    heads = ''.join(f'<th>{escape(h)}</th>' for h in head)
    return f'<section class="card"><table><tr>{heads}</tr>{body}</table></section>'


def _outcomes(run: RunData) -> str:
    if not run.told:
        return '<p class="note">No episode has been told yet.</p>'
    counts: dict[int, int] = {}
    for told in run.told:
        counts[told.measured.outcome] = counts.get(told.measured.outcome, 0) + 1
    beyond = sum(not t.measured.safe for t in run.told)
    unsafe = f' {beyond} of them went beyond a constraint.' if beyond else ''
    return f'<h2>Outcomes</h2><p class="lead">How the episodes ended.{unsafe}</p>' + _table(
        ['episodes', 'outcome', 'meaning'],
        [('', [n, outcome_name(code), Outcome(code).sentence])
         for code, n in sorted(counts.items())])


def _risk(run: RunData) -> str:
    """Return who spent how much of the promised failure probability."""
    last = run.progress[-1] if run.progress else None
    if last is None or not last.ledger:
        return ''
    return ('<h2>Risk</h2><p class="lead">'
            f'{risk(last.delta_spent, last.delta)} of the promised failure probability is '
            'spent.</p>'
            + _table(['what it was spent on'], [('', [line]) for line in last.ledger]))


def _episodes(run: RunData) -> str:
    if not run.told:
        return ''
    rows = []
    signals = run.robot.signals
    starts = {told.trial.values for told in run.told if told.trial.role == START}
    for told in run.told:
        m, t = told.measured, told.trial
        guaranteed = (('by you' if m.safe else 'by you, wrongly') if t.values in starts
                      else f'{min(t.lower[1:]):.2f}' if len(t.lower) > 1 else '–')
        kind = 'best' if told is run.best else '' if m.safe else 'unsafe'
        rows.append((kind, [
            t.iteration, *map(number, t.values), role(t.role), t.domain, number(m.reward, 5),
            *(f'{margin:.2f}'.replace('-', '−') for margin in m.margins), guaranteed,
            *(number(shown(peak, s.unit), 3) for s, peak in zip(signals, m.peaks, strict=False)),
            _end(told, run.robot.constraints)]))
    wrong = len({t.trial.values for t in run.told if t.trial.role == START
                 and not t.measured.safe})
    trust = ('Starts are tried because you called them safe.' if not wrong else
             f'{wrong} of the starts that you called safe went beyond a constraint.')
    return (f'<h2>Episodes</h2><p class="lead">Margins are scaled; 0 or more is safe. {trust}'
            '</p>') + _table(
        ['#', *map(tuned_label, run.names, run.units), 'why', 'domain',
         label('reward', run.robot.reward.unit),
         *(f'margin of {name}' for name in run.robot.constraints), 'guaranteed',
         *(label(f'max |{s.name}|', s.unit) for s in signals), 'end'], rows)


def _end(told: Told, constraints: Sequence[str]) -> str:
    """Return how an episode ended, and which constraints it broke."""
    broken = [name for name, margin in zip(constraints, told.measured.margins, strict=False)
              if margin < 0]
    reason = told.measured.reason
    if not broken:
        return reason
    beyond = f'beyond the constraint{"s" * (len(broken) > 1)} {", ".join(broken)}'
    return (f'The episode ran to its end, {beyond}.' if reason == Outcome.COMPLETED.sentence
            else f'{reason} ({beyond})')


def _parameters(run: RunData) -> str:
    rows = [('', [name, value]) for name, value in
            ({f'fixed {name}': value for name, value in run.fixed.items()}
             | run.parameters).items()]
    if not rows:
        return ''
    return ('<h2>Parameters</h2><details open><summary>As they were in force</summary>'
            + _table(['parameter', 'value'], rows) + '</details>')


def main() -> int:
    """Write the report of the folder given on the command line."""
    parser = argparse.ArgumentParser(prog='report', description=__doc__.splitlines()[1])
    parser.add_argument('path', type=Path, help='a run folder, for example runs/20260101-120000')
    arguments, _ = parser.parse_known_args()  # ros2 run may append its own
    try:
        print(write_report(arguments.path))
    except (ValueError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
