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
The live page, made of NiceGUI's widgets.

A page is built once per open tab and refreshed by timers that read the newest snapshot and send
only what has changed. A button hands its name over and returns at once; the answer arrives as an
event. Whether a tab may press a button is decided here on the server at every press, never in
the browser.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import time
from typing import Any

from nicegui import app, Client, ui
from pacsbo_ros.view import charts, palette, rows, tables, words
from pacsbo_ros.view.access import Guard, same_token
from pacsbo_ros.view.belief_card import BeliefCard, draw
from pacsbo_ros.view.live import Live, Snapshot
from pacsbo_ros.view.numbers import label, quantity
from pacsbo_ros.view.robot_card import RobotCard
from pacsbo_ros.view.style import STYLE

# A browser acknowledges every 3 s. One that is slower is sent nothing more until it has caught up:
# it would only work off old pictures, and a press would wait behind them.
LAG = 5.0  # s
LEVELS = {'info': '#3b82c4', 'good': palette.SAFE, 'warn': '#d99a1c', 'bad': palette.UNSAFE,
          'idle': palette.IDLE}


@dataclass(frozen=True)
class Action:
    """Describe a button; `name` is the service that it calls."""

    name: str
    icon: str
    hint: str


ACTIONS = (
    Action('pause', 'pause', 'Hold before the next episode'),
    Action('resume', 'play_arrow', 'Go on after a pause'),
    Action('approve', 'check', 'Let the waiting candidate run'),
    Action('finish', 'flag', 'Try no more new values; verify the best ones'),
    Action('reset', 'restart_alt', 'Clear a stop; the robot stays disarmed'),
    Action('arm', 'power_settings_new', 'Allow the robot to move again'),
)


class Page:
    """One open tab."""

    def __init__(self, live: Live, press: Callable[[str], None], refuse: Callable[[str], None],
                 token: str, given: str, rate: float) -> None:
        """Build the widgets and start the timers."""
        self._live, self._press, self._refuse, self._token = live, press, refuse, token
        self._trusted = same_token(given, token)
        if given and not self._trusted:
            self._refuse('refused: the address of the page carries a wrong token')
        self._event = max(0, *(e.number - 40 for e in live.events()), 0)
        self._shown: dict[str, Any] = {}
        self._client = ui.context.client
        ui.add_css(STYLE)
        self._header()
        with ui.element('main').classes(
                'w-full grid grid-cols-1 lg:grid-cols-12 gap-3 p-3 max-w-[1800px] mx-auto'):
            self._state_card()
            self._robot = RobotCard(round(rate))
            self._belief = BeliefCard()
            self._reward_title, self._reward = self._chart_card('Reward')
            _, self._margins = self._chart_card('Margins of the constraints')
            self._peak_card()
            self._event_card()
            _, self._norms = self._chart_card('Norm bound B per function and domain')
            self._scale_card()
            self._risk_card()
        ui.timer(1.0 / rate, self._move)
        ui.timer(0.2, self._refresh)

    # Widgets.

    def _header(self) -> None:
        with ui.header().classes('items-center gap-3 px-4 py-2').style(
                'background:#0d131a; border-bottom:1px solid #222d3a'):
            with ui.column().classes('gap-0'):
                ui.label('pacsbo_ros').classes('text-lg font-bold text-white leading-tight')
                self._run = ui.label('no run yet').classes('caption')
            ui.space()
            with ui.column().classes('gap-0 items-end max-sm:hidden'):
                self._count = ui.label('').classes('number')
                self._verdict = ui.label('').classes('caption')
            ui.button('STOP', on_click=self._stop).props('color=negative unelevated').classes(
                'stop').mark('stop')
        self._progress = ui.linear_progress(0.0, show_value=False, size='4px',
                                            color='teal-5').classes('fixed top-0 left-0 z-max')

    def _state_card(self) -> None:
        with ui.card().classes('card w-full lg:col-span-3 gap-3').style('min-height:430px'):
            ui.label('What happens now').classes('card-title')
            self._button_rows()  # above all that grows: a button must not move under a finger
            self._headline = ui.label('').classes('text-2xl font-semibold').mark('headline')
            self._sentence = ui.label('').classes('text-sm').style('color:#c9d4df').mark('words')
            self._warnings = ui.html('', sanitize=False).classes('w-full').mark('warnings')
            self._best = ui.html('', sanitize=False).classes('w-full').mark('best')
            with ui.grid(columns=2).classes('w-full gap-x-4 gap-y-2'):
                self._best_reward = self._figure(words.BEST_LINE, words.BEST_WHY)
                self._safe_share = self._figure('of the box known safe')
                self._risk = self._figure('risk spent')
                self._command = self._figure('command')

    def _button_rows(self) -> None:
        with ui.grid(columns=2).classes('w-full gap-2'):
            for action in ACTIONS:
                ui.button(action.name.capitalize(), icon=action.icon,
                          on_click=lambda _, name=action.name: self._act(name)).props(
                    'outline no-caps color=blue-grey-3').tooltip(action.hint).mark(action.name)
        if self._token:
            with ui.row().classes('w-full items-center no-wrap'):
                self._key = ui.input('token', password=True).props('dense').classes('grow')
                self._key.on('keydown.enter', self._unlock).mark('token')
                self._lock = ui.button(icon='lock', on_click=self._unlock).props(
                    'flat round').mark('unlock')
            self._show_lock()

    def _figure(self, title: str, hint: str = '') -> ui.label:
        with ui.column().classes('gap-0'):
            ui.label(title).classes('caption')
            figure = ui.label('–').classes('number')
            if hint:
                ui.tooltip(hint).style('max-width:320px; font-size:12px')
            return figure

    def _chart_card(self, title: str) -> tuple[ui.label, ui.echart]:
        with ui.card().classes('card w-full lg:col-span-3 gap-2'):
            name = ui.label(title).classes('card-title')
            return name, ui.echart({}).classes('w-full chart')

    def _peak_card(self) -> None:
        with ui.card().classes('card w-full lg:col-span-3 gap-2'):
            with ui.row().classes('w-full items-center justify-between no-wrap'):
                ui.label('Largest |signal|').classes('card-title')
                self._signal = ui.select([]).props('dense options-dense borderless').classes(
                    'caption pair').mark('signal')
            self._peaks = ui.echart({}).classes('w-full chart')

    def _scale_card(self) -> None:
        with ui.card().classes('card w-full lg:col-span-3 gap-2') as self._scale_box:
            ui.label('Length scale: what the data say').classes('card-title')
            self._scales = ui.echart({}).classes('w-full chart')
        self._scale_box.visible = False

    def _risk_card(self) -> None:
        with ui.card().classes('card w-full lg:col-span-6 gap-2'):
            ui.label('Risk: what it was spent on').classes('card-title')
            self._ledger = ui.html('', sanitize=False).classes('w-full').mark('ledger')

    def _event_card(self) -> None:
        with ui.card().classes('card w-full lg:col-span-3 gap-2'):
            ui.label('Events').classes('card-title')
            self._log = ui.log(max_lines=200).classes('events chart w-full').mark('events')

    # Buttons.

    def _stop(self) -> None:
        """Stop, for everybody who sees the page."""
        self._press('stop')

    def _act(self, name: str) -> None:
        if not self._trusted:
            self._refuse(f'refused: {name} needs the token')
            return
        self._press(name)

    def _unlock(self) -> None:
        if same_token(self._key.value or '', self._token):
            self._trusted = True
            self._live.say('a page was unlocked with the token')
        else:
            self._refuse('refused: a wrong token was entered')
        self._key.value = ''
        self._show_lock()

    def _show_lock(self) -> None:
        self._lock.props(f'icon={"lock_open" if self._trusted else "lock"}')
        self._key.visible = not self._trusted

    # Refreshing.

    def _changed(self, key: str, value: Any) -> bool:
        """Tell whether something differs from what this tab shows, and note it."""
        if self._shown.get(key, self) == value:
            return False
        self._shown[key] = value
        return True

    def _behind(self) -> bool:
        """Tell whether the browser has not yet taken what it was sent a while ago."""
        sent = self._client.outbox.message_history  # what the browser has not acknowledged
        return bool(sent) and time.time() - sent[0][1] > LAG

    def _move(self) -> None:
        """Move the drawing of the robot."""
        if self._behind():
            return
        s = self._live.snapshot
        self._robot.move(s, s.verdict(time.monotonic()))

    def _refresh(self) -> None:
        """Bring everything else up to date."""
        if self._behind():
            return
        s = self._live.snapshot
        verdict = s.verdict(time.monotonic())
        self._refresh_words(s, verdict)
        self._robot.refresh(s)
        self._belief.refresh(s, wide=not self._robot.is_drawn)
        self._refresh_charts(s)
        for event in self._live.events(self._event):
            self._event = event.number
            colour = LEVELS['idle' if event.level == 'info' else event.level]
            self._log.push(f'{event.time}  {event.text}', style=f'color:{colour}')

    def _refresh_words(self, s: Snapshot, verdict: int) -> None:
        title, level = words.headline(s, verdict)
        self._headline.text = title
        if self._changed('level', level):
            self._headline.style(f'color:{LEVELS[level]}')
        self._sentence.text = words.sentence(s, verdict)
        pages = sum(client.has_socket_connection for client in Client.instances.values())
        self._verdict.text = (f'safety monitor: {palette.verdict_words(verdict)}'
                              + (f' · {pages} pages open' if pages > 1 else ''))
        self._command.text = ', '.join(
            quantity(value, unit) for _, unit, value in rows.commands(s)) or '–'
        o = s.optimizer
        if o is not None:
            self._run.text = f'run {o.run_id}'
            self._count.text = f'{min(o.iteration, o.budget)} of {o.budget} episodes'
            self._progress.value = min(1.0, o.iteration / max(1, o.budget))
            self._best.content = tables.best(rows.tuned(s))
            self._best_reward.text = (quantity(o.best_reward, o.reward_unit, 5)
                                      if len(o.best_values) else '–')
            self._safe_share.text = (f'{100 * o.safe_share[-1]:.1f} %'
                                     if len(o.safe_share) else '–')
            self._risk.text = words.risk(o.delta_spent, o.delta)
            self._warnings.content = tables.warnings(o.warnings)
            self._ledger.content = tables.risk(o.delta_spent, o.delta, o.ledger)

    def _refresh_charts(self, s: Snapshot) -> None:
        o = s.optimizer
        if o is None:
            return
        signals = rows.signals(s)
        names = [row.name for row in signals]
        if names != self._signal.options:
            self._signal.set_options(names, value=names[0] if names else None)
        chosen = names.index(self._signal.value) if self._signal.value in names else 0
        limits = tuple(row.limit for row in signals)
        if self._changed('told', (id(s.told), o.budget, chosen, str(limits))):
            self._reward_title.text = label('Reward', o.reward_unit)
            draw(self._reward, charts.reward_history(s.told, o.budget, o.reward_unit))
            draw(self._margins, charts.margin_history(
                s.told, o.budget, [row.name for row in rows.constraints(s)]))
            if signals:
                row = signals[chosen]
                draw(self._peaks, charts.peak_history(s.told, o.budget, chosen, row.unit,
                                                      row.limit))
        if self._changed('norms', tuple(o.norm_bound)):
            draw(self._norms, charts.norm_bounds(o.functions, o.domains, o.norm_bound))
        if self._changed('scales', (tuple(o.length_scales), tuple(o.length_scale_weights))):
            self._scale_box.visible = len(o.length_scales) > 1
            draw(self._scales, charts.length_scales(o.functions, o.length_scales,
                                                    o.length_scale_weights))


def serve(live: Live, press: Callable[[str], None], refuse: Callable[[str], None], host: str,
          port: int, token: str, rate: float, silence: float) -> None:
    """Serve the page until the process is told to end; `refuse` logs what was not done."""
    app.add_middleware(Guard, host=host, log=refuse)
    secret = token

    @ui.page('/', title='pacsbo_ros', dark=True)
    def root(token: str = '') -> None:
        Page(live, press, refuse, secret, token, rate)

    ui.run(host=host, port=port, title='pacsbo_ros', dark=True, reload=False, show=False,
           show_welcome_message=False, favicon='🎛️',
           reconnect_timeout=silence)
