# Copyright the pacsbo_ros developers. Apache-2.0.
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
import math
import time
from typing import Any

from nicegui import Client, app, ui

from pacsbo_ros.view import charts, palette, pendulum, words
from pacsbo_ros.view.access import Guard, same_token
from pacsbo_ros.view.live import Live, Snapshot

LEVELS = {'info': '#3b82c4', 'good': palette.SAFE, 'warn': '#d99a1c', 'bad': palette.UNSAFE,
          'idle': palette.IDLE}
ZOOM = 10.0  # scene units per metre: three.js clips what is nearer than 0.1
MOVED = 0.002  # rad: smaller moves of the pendulum are not sent
STYLE = '''
body { background: #0d131a; }
.nicegui-content { padding: 0; }
.card { background: #151d27; border: 1px solid #222d3a; border-radius: 14px; padding: 14px;
        box-shadow: none; }
.card-title { color: #8796a5; font-size: 12px; letter-spacing: .08em; text-transform: uppercase;
              font-weight: 600; }
.number { font-variant-numeric: tabular-nums; font-size: 20px; color: #eef3f8; line-height: 1.2; }
.caption { color: #8796a5; font-size: 12px; }
.stop { font-size: 22px !important; font-weight: 800; letter-spacing: .12em; border-radius: 12px;
        min-height: 56px; min-width: 150px; box-shadow: 0 0 0 3px #0d131a, 0 0 0 5px #e5484d; }
.chart { height: 240px; }
@media (min-width: 1024px) { .chart { height: max(240px, calc(100vh - 606px)); } }
.events { font-size: 12.5px; border: none !important; background: transparent !important; }
.events * { white-space: pre-wrap !important; font-family: inherit; }
'''


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
    Action('finish', 'flag', 'Try no more new gains; verify the best ones'),
    Action('reset', 'restart_alt', 'Clear a stop; the plant stays disarmed'),
    Action('arm', 'power_settings_new', 'Allow the motor to move again'),
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
        self._pose = (math.inf, math.inf)
        ui.add_css(STYLE)
        self._header()
        with ui.element('main').classes(
                'w-full grid grid-cols-1 lg:grid-cols-12 gap-3 p-3 max-w-[1800px] mx-auto'):
            self._state_card()
            self._scene_card(round(rate))
            self._plane_card()
            self._reward = self._chart_card('Reward', charts.reward_history({}, 1))
            self._angle = self._chart_card('Largest pendulum angle',
                                           charts.angle_history({}, 1, math.nan))
            self._norms = self._chart_card('Norm bound B per function and domain',
                                           charts.norm_bounds((), (), ()))
            self._event_card()
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
            self._headline = ui.label('').classes('text-2xl font-semibold').mark('headline')
            self._sentence = ui.label('').classes('text-sm').style('color:#c9d4df').mark('words')
            with ui.grid(columns=2).classes('w-full gap-x-4 gap-y-2'):
                self._best = self._figure('best gains')
                self._best_reward = self._figure('best reward')
                self._volts = self._figure('motor voltage')
                self._safe_share = self._figure('gains known to be safe')
            ui.space()
            with ui.grid(columns=2).classes('w-full gap-2'):
                for action in ACTIONS:
                    ui.button(action.name.capitalize(), icon=action.icon,
                              on_click=lambda _, name=action.name: self._act(name)).props(
                        'outline no-caps color=blue-grey-3').tooltip(action.hint).mark(
                        action.name)
            if self._token:
                with ui.row().classes('w-full items-center no-wrap'):
                    self._key = ui.input('token', password=True).props('dense').classes('grow')
                    self._key.on('keydown.enter', self._unlock).mark('token')
                    self._lock = ui.button(icon='lock', on_click=self._unlock).props(
                        'flat round').mark('unlock')
                self._show_lock()

    def _figure(self, title: str) -> ui.label:
        with ui.column().classes('gap-0'):
            ui.label(title).classes('caption')
            return ui.label('–').classes('number')

    def _scene_card(self, fps: int) -> None:
        with ui.card().classes('card w-full lg:col-span-4 gap-2'):
            with ui.row().classes('w-full items-baseline justify-between no-wrap'):
                ui.label('The pendulum').classes('card-title')
                self._angles = ui.label('').classes('caption').style(
                    'font-variant-numeric:tabular-nums')
            with ui.scene(width=400, height=372, grid=False, background_color='#151d27', fps=fps,
                          camera=ui.scene.perspective_camera(fov=32)).classes('w-full') as scene:
                self._build_pendulum(scene)
            scene.move_camera(x=2.8, y=-5.5, z=2.9, look_at_x=0, look_at_y=0, look_at_z=1.1,
                              duration=0)

    def _build_pendulum(self, scene: ui.scene) -> None:
        base, pivot = ZOOM * pendulum.BASE, ZOOM * pendulum.PIVOT
        arm, rod, radius = (ZOOM * pendulum.ARM, ZOOM * pendulum.PENDULUM,
                            ZOOM * pendulum.RADIUS)
        scene.cylinder(1.5, 1.5, 0.02, 64).rotate(math.pi / 2, 0, 0).move(z=-0.01).material(
            '#1d2733')
        scene.box(base, base, base).move(z=base / 2).material('#39475a')
        scene.cylinder(0.16, 0.16, 0.3, 32).rotate(math.pi / 2, 0, 0).move(
            z=pivot - 0.06).material('#aeb9c5')
        with scene.group().move(z=pivot) as self._arm:
            scene.cylinder(radius, radius, arm, 24).rotate(0, 0, math.pi / 2).move(
                x=arm / 2).material('#c3ccd6')
            scene.sphere(1.6 * radius).move(x=arm).material('#c3ccd6')
            with scene.group().move(x=arm) as self._rod:
                self._coloured = [
                    scene.cylinder(radius, radius, rod, 24).rotate(math.pi / 2, 0, 0).move(
                        z=rod / 2).material(palette.IDLE),
                    scene.sphere(1.9 * radius).move(z=rod).material(palette.IDLE)]

    def _plane_card(self) -> None:
        with ui.card().classes('card w-full lg:col-span-5 gap-2'):
            with ui.row().classes('w-full items-baseline justify-between no-wrap'):
                ui.label('The gain plane: what is guaranteed').classes('card-title')
                self._whole = ui.switch('whole box').props('dense size=sm color=teal-5').classes(
                    'caption').mark('whole')
            self._plane = ui.echart(charts.gain_plane(None)).classes('w-full').style(
                'height:372px').mark('plane')

    def _chart_card(self, title: str, options: dict[str, Any]) -> ui.echart:
        with ui.card().classes('card w-full lg:col-span-3 gap-2'):
            ui.label(title).classes('card-title')
            return ui.echart(options).classes('w-full chart')

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

    def _move(self) -> None:
        """Turn the pendulum, and colour it by the verdict."""
        s = self._live.snapshot
        if max(abs(a - b) for a, b in zip(s.angles, self._pose, strict=True)) > MOVED:
            self._pose = s.angles
            self._arm.rotate(0, 0, s.angles[0])
            self._rod.rotate(s.angles[1], 0, 0)
        colour = palette.VERDICT_COLOURS[s.verdict(time.monotonic())]
        if self._changed('colour', colour):
            for part in self._coloured:
                part.material(colour)

    def _refresh(self) -> None:
        """Bring everything else up to date."""
        s = self._live.snapshot
        verdict = s.verdict(time.monotonic())
        self._refresh_words(s, verdict)
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
        self._angles.text = (f'θ {words.degrees(s.angles[0])}   α {words.degrees(s.angles[1])}')
        pages = sum(client.has_socket_connection for client in Client.instances.values())
        self._verdict.text = (f'safety monitor: {palette.VERDICT_WORDS[verdict]}'
                              + (f' · {pages} pages open' if pages > 1 else ''))
        if s.controller is not None:
            self._volts.text = f'{round(s.controller.voltage, 1) + 0.0:+.1f} V'.replace('-', '−')
        o = s.optimizer
        if o is not None:
            self._run.text = f'run {o.run_id}'
            self._count.text = f'episode {min(o.iteration, o.budget)} / {o.budget}'
            self._progress.value = min(1.0, o.iteration / max(1, o.budget))
            self._best.text = words.best_text(s)
            self._best_reward.text = f'{o.best_reward:.4f}' if len(o.best_gains) else '–'
            self._safe_share.text = (f'{100 * o.safe_share[-1]:.1f} % of the box'
                                     if len(o.safe_share) else '–')

    def _refresh_charts(self, s: Snapshot) -> None:
        candidate = None
        if s.candidate is not None and s.optimizer is not None and s.plane is not None:
            over = s.optimizer.state in (words.FINISHED, words.FAILED)
            candidate = None if over else tuple(s.candidate.gains)
        whole = bool(self._whole.value)
        if self._changed('plane', (id(s.plane), candidate, whole)):
            self._draw(self._plane, charts.gain_plane(s.plane, candidate, whole))
        if self._changed('told', (id(s.told), s.alpha_limit)):
            budget = s.optimizer.budget if s.optimizer else 1
            self._draw(self._reward, charts.reward_history(s.told, budget))
            self._draw(self._angle, charts.angle_history(s.told, budget, s.alpha_limit))
        o = s.optimizer
        if o is not None and self._changed('norms', tuple(o.norm_bound)):
            self._draw(self._norms, charts.norm_bounds(o.functions, o.domains, o.norm_bound))

    @staticmethod
    def _draw(chart: ui.echart, options: dict[str, Any]) -> None:
        chart.options.clear()
        chart.options.update(options)
        chart.update()


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
