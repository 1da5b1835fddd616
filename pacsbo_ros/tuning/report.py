# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Write one self-contained HTML page about a run: `ros2 run pacsbo_ros report PATH`.

Works on the folder alone, while the run goes on or years later, without ROS and without network.
"""
from __future__ import annotations

import argparse
from html import escape
import io
import math
from pathlib import Path
import sys
from typing import TYPE_CHECKING, Any

from pacsbo_ros.furuta.outcome import Outcome
from pacsbo_ros.tuning import plots
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.tuning.trial import START, Told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT = 'report.html'
CSS = '''
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: #1f2933;
       font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
main { max-width: 1020px; margin: 0 auto; padding: 28px 18px 60px; }
header { background: #0d131a; color: #eef3f8; }
header div { max-width: 1020px; margin: 0 auto; padding: 30px 18px 26px; }
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
.tile b { display: block; font-size: 19px; white-space: nowrap; font-weight: 650;
          font-variant-numeric: tabular-nums; }
.tile span { color: #66727f; font-size: 13px; }
section.card { padding: 14px; overflow-x: auto; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
        font-size: 13.5px; }
th { text-align: left; color: #66727f; font-weight: 600; border-bottom: 1px solid #d5dde4; }
th, td { padding: 5px 10px 5px 0; white-space: nowrap; }
td.words { white-space: normal; min-width: 16em; }
tr + tr td { border-top: 1px solid #eef2f5; }
tr.unsafe td { color: #c0272d; } tr.best td { background: #fff6dd; }
details summary { cursor: pointer; color: #66727f; }
'''


def write_report(folder: Path) -> Path:
    """Write the pictures and the page of a run into its folder; return the page."""
    run = RunData.load(folder)
    import matplotlib
    matplotlib.use('Agg')
    with matplotlib.rc_context(plots.STYLE):
        figures = _figures(run)
        for name in ('history', 'gain_plane'):
            if name in figures:
                figures[name].savefig(folder / f'{name}.png', dpi=130)
        content = _page(run, {name: _svg(figure) for name, figure in figures.items()})
    page = folder / REPORT
    temporary = folder / f'.{REPORT}.tmp'
    temporary.write_text(content, encoding='utf-8')
    temporary.replace(page)
    return page


def _figures(run: RunData) -> dict[str, Figure]:
    """Draw what there is data for."""
    figures = {}
    if run.planes:
        figures['gain_plane'] = plots.plane(run.planes[-1])
    if len(run.planes) > 1:
        figures['growth'] = plots.growth(run.planes)
    if run.told:
        figures['history'] = plots.history(run)
    if run.progress and run.progress[-1].functions:
        figures['norms'] = plots.norms(run)
    if run.traces:
        figures['traces'] = plots.traces(run)
    return figures


def _svg(figure: Figure) -> str:
    """Return a figure as an SVG element."""
    text = io.StringIO()
    figure.savefig(text, format='svg', dpi=160, metadata={'Date': None, 'Creator': None})
    return text.getvalue()[text.getvalue().index('<svg'):]


def _page(run: RunData, figures: dict[str, str]) -> str:
    verdict = (('good', 'verified') if run.verified else ('warn', 'not verified')
               if all(t.measured.safe for t in run.told) else ('bad', 'not verified'))
    parts = [f'<div class="tiles">{"".join(_tile(*tile) for tile in _tiles(run))}</div>']
    parts += [f'<p class="note">{escape(note)}</p>' for note in run.notes]
    for name, title, lead in (
            ('gain_plane', 'The gain plane',
             'What the model guarantees at the end of the run. Gains inside the line are safe '
             'with high probability; every circle was tried on the plant.'),
            ('growth', 'How the safe set grew', 'The close-up at some stages of the run.'),
            ('history', 'Episode by episode', 'What every episode measured.'),
            ('norms', 'What the optimiser estimated',
             'The bound B on the norm of each function, per domain, and the share of all gains '
             'that is known to be safe.'),
            ('traces', 'How it moved', 'Chosen episodes as they were measured; dashed: the '
             'limits that came near.')):
        if name in figures:
            parts.append(f'<h2>{title}</h2><p class="lead">{lead}</p>'
                         f'<section class="card">{figures[name]}</section>')
    parts += [_outcomes(run), _episodes(run), _parameters(run)]
    count = len(run.told)
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>Run {escape(run.run_id)}</title><style>{CSS}</style></head><body>'
            f'<header><div><h1>Run {escape(run.run_id)}'
            f'<span class="pill {verdict[0]}">{verdict[1]}</span></h1>'
            f'<p>Safe tuning of {escape(", ".join(run.names))} · {count} '
            f'episode{"s" * (count != 1)}</p></div></header>'
            f'<main>{"".join(parts)}</main></body></html>\n')


def _tiles(run: RunData) -> list[tuple[str, str]]:
    """Return the numbers that sum the run up."""
    unsafe = sum(not t.measured.safe for t in run.told)
    tiles = [(f'{unsafe} of {len(run.told)}', 'episodes unsafe')]
    best = run.best
    if best is not None:
        gain = best.measured.reward - run.told[0].measured.reward
        tiles = [(_gains(best), 'best gains'),
                 (f'{best.measured.reward:.4f}', f'their reward, {gain:+.4f} since the start'),
                 (f'{math.degrees(best.measured.max_alpha):.1f}°', 'their largest angle'), *tiles]
    if run.planes:
        first, last = run.planes[0], run.planes[-1]
        tiles.append((f'{100 * last.safe_share:.1f} %',
                      f'of the plane known safe, from {100 * first.safe_share:.1f} %'))
    return tiles


def _tile(value: str, words: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(words)}</span></div>'


def _gains(told: Told) -> str:
    return '(' + ', '.join(f'{g:.2f}' for g in told.trial.gains).replace('-', '−') + ')'


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
    counts: dict[Outcome, int] = {}
    for told in run.told:
        outcome = Outcome(told.measured.outcome)
        counts[outcome] = counts.get(outcome, 0) + 1
    return '<h2>Outcomes</h2><p class="lead">How the episodes ended.</p>' + _table(
        ['episodes', 'outcome', 'meaning'],
        [('', [n, o.name.lower().replace('_', ' '), o.sentence])
         for o, n in sorted(counts.items())])


def _episodes(run: RunData) -> str:
    if not run.told:
        return ''
    rows = []
    starts = {told.trial.gains for told in run.told if told.trial.role == START}
    for told in run.told:
        m, t = told.measured, told.trial
        guaranteed = ('by you' if t.gains in starts
                      else f'{min(t.lower[1:]):.2f}' if len(t.lower) > 1 else '–')
        kind = 'best' if told is run.best else '' if m.safe else 'unsafe'
        rows.append((kind, [
            t.iteration, _gains(told), t.role, t.domain, f'{m.reward:.4f}',
            f'{math.degrees(m.max_alpha):.1f}°', f'{min(m.values[1:]):.2f}', guaranteed,
            m.reason]))
    return ('<h2>Episodes</h2><p class="lead">Margins are scaled; 0 or more is safe. Start gains '
            'are safe because you said so.</p>') + _table(
        ['#', 'gains', 'role', 'domain', 'reward', 'max |α|', 'margin', 'guaranteed', 'end'], rows)


def _parameters(run: RunData) -> str:
    rows = [('', [name, value]) for name, value in run.parameters.items()]
    if not run.parameters:
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
