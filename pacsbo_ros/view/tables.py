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

"""The tables of the live page as HTML; what comes from messages is escaped."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape
import math

from pacsbo_ros.view import palette, rows, words
from pacsbo_ros.view.numbers import number, quantity, written

REST = 1e-6  # of limit or peak


def measured(signals: tuple[rows.SignalRow, ...],
             constraints: tuple[rows.ConstraintRow, ...]) -> str:
    """Return what is measured and what is promised, as HTML."""
    lines = []
    for r in signals:
        share = abs(r.newest) / r.limit if math.isfinite(r.limit) else math.nan
        near = math.isfinite(r.limit) and r.peak > r.limit
        lines.append(([escape(text) for text in (
            r.name, quantity(_settled(r), r.unit), quantity(r.peak, r.unit),
            quantity(r.limit, r.unit))], 'bad' if near else '', share))
    text = ''
    if lines:
        text += ('<table class="facts"><tr><th>signal</th><th>now</th><th>largest</th>'
                 '<th>limit</th></tr>' + ''.join(
                     f'<tr class="{kind}"><td>{name}{_bar(share)}</td><td>{now}</td>'
                     f'<td>{peak}</td><td>{limit}</td></tr>'
                     for (name, now, peak, limit), kind, share in lines) + '</table>')
    if constraints:
        text += ('<table class="facts"><tr><th>constraint</th><th></th><th>last margin</th>'
                 '<th>guaranteed</th></tr>' + ''.join(
                     f'<tr class="{"bad" if r.margin < 0 else ""}"><td>{escape(r.name)}</td>'
                     f'<td></td><td>{_margin(r.margin)}</td><td>{_margin(r.guaranteed)}</td>'
                     '</tr>' for r in constraints) + '</table>')
    return text


def _settled(row: rows.SignalRow) -> float:
    """Return the newest value; 0 for what rounding leaves of it beside all that matters."""
    scale = max((s for s in (row.limit, row.peak) if math.isfinite(s)), default=0.0)
    return 0.0 if abs(row.newest) < REST * scale else row.newest


def _margin(value: float) -> str:
    return f'{value:.3f}'.replace('-', '−') if math.isfinite(value) else '–'


def _bar(share: float) -> str:
    """Return a thin bar that is full at the limit."""
    if not math.isfinite(share):
        return ''
    colour = palette.SAFE if share < 0.8 else '#d99a1c' if share < 1 else palette.UNSAFE
    return (f'<div class="bar"><div style="width:{100 * min(share, 1.0):.0f}%;'
            f'background:{colour}"></div></div>')


def best(tuned: tuple[tuple[str, str, float], ...]) -> str:
    """Return the best values, one a line, as HTML."""
    if not tuned:
        return ''
    lines = ''.join(f'<tr><td>{escape(name)}</td><td><b>{number(value)}</b></td>'
                    f'<td>{escape(written(unit))}</td></tr>' for name, unit, value in tuned)
    return f'<table class="facts"><tr><th>best values</th><th></th><th></th></tr>{lines}</table>'


def risk(spent: float, promised: float, ledger: Sequence[str]) -> str:
    """Return who spent how much of the promised failure probability, as HTML."""
    lines = [f'{words.risk(spent, promised)} of the promised failure probability is spent',
             *ledger]
    return '<table class="facts lines">' + ''.join(
        f'<tr><td>{escape(text)}</td></tr>' for text in lines) + '</table>'


def warnings(texts: Sequence[str]) -> str:
    """Return what a person should know, as HTML."""
    return ''.join(f'<p class="warning">{escape(text)}</p>' for text in texts)
