# Copyright the pacsbo_ros developers. Apache-2.0.
"""Every fault of the campaign: what is done, to whom, when, and what has to follow."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
import re
import resource
import signal

from faults.graph import wait_for
from faults.rig import Member, PHASES, Rig

LIMIT = 0.1  # s from the fault to zero volts
HOLD = 4.0  # s, at least three more than every timeout of the graph
EPISODE = tuple(PHASES)
ANY = ('any',)


class Effect(Enum):
    """Say what a fault has to lead to."""

    ZERO = 'zero volts'  # within the limit, wherever the episode was
    GOES_ON = 'the episode goes on'  # and is told like any other
    EITHER = 'either'  # depends on the moment


class Where(Enum):
    """Say where the end of the voltage is measured."""

    MOTOR = 'motor'
    WIRE = 'wire'  # the command on its way, for faults of the plant itself


@dataclass(frozen=True)
class Fault:
    """Describe one fault."""

    name: str
    inject: Callable[[Rig], float | None]  # returns when it began, if that is not at once
    effect: Effect = Effect.ZERO
    limit: float | None = LIMIT  # s; None where the beginning of the fault has no exact time
    phases: tuple[str, ...] = EPISODE
    heal: Callable[[Rig], object] = Rig.heal
    where: Where = Where.MOTOR
    hold: float = 0.3  # s for which the graph is left alone
    words: str = ''  # that have to be in the reason of the episode, where there is one
    never_told: bool = False  # no episode that it touched may be a datum
    ends: tuple[str, ...] = field(default=())  # processes that have to end by themselves, code 0


def signals(name: str, number: int) -> Callable[[Rig], float | None]:
    """Return what sends a signal to a process."""
    return lambda rig: rig.processes[name].signal(number)


def says(relay: str, mode: str) -> Callable[[Rig], float]:
    """Return what makes a relay behave in some way, and says since when it does."""
    def tell(rig: Rig) -> float:
        process = rig.processes[relay]
        said = len(process.output)
        process.popen.stdin.write(f'{mode}\n'.encode())
        process.popen.stdin.flush()
        line = wait_for(lambda: re.search(rf'^([\d.]+) {mode}$', process.output[said:], re.M),
                        f'{mode} of the relay')
        return float(line[1])
    return tell


def processes() -> Iterator[Fault]:
    """Kill, freeze, hang and end every process."""
    what = {'SIGKILL': signal.SIGKILL, 'SIGSTOP': signal.SIGSTOP, 'hung callback': signal.SIGUSR1}
    for name in ('monitor', 'operator', 'controller', 'plant'):
        where = Where.WIRE if name == 'plant' else Where.MOTOR
        for word, number in what.items():
            yield Fault(f'{name}: {word}', signals(name, number), where=where)
    for word, number in what.items():
        yield Fault(f'optimiser: {word}', signals('optimizer', number), Effect.GOES_ON, None)
    for name in ('monitor', 'controller', 'plant', 'optimizer'):
        for word in ('SIGINT', 'SIGTERM'):
            goes_on = name == 'optimizer'
            yield Fault(f'{name.replace("izer", "iser")}: {word}',
                        signals(name, getattr(signal, word)),
                        Effect.EITHER if goes_on else Effect.ZERO, None if goes_on else LIMIT, ANY,
                        where=Where.WIRE if name == 'plant' else Where.MOTOR, hold=1.0,
                        ends=(name,))
    yield Fault('operator calls stop', lambda rig: rig.client.call('stop') and None,
                words='operator')


def data() -> Iterator[Fault]:
    """Spoil what the sensor and the monitor say; needs both relays."""
    for word, number in (('SIGKILL', signal.SIGKILL), ('SIGSTOP', signal.SIGSTOP),
                         ('hung callback', signal.SIGUSR1)):
        yield Fault(f'state source: {word}', signals('sensor', number))
    harmless = ('lose every second', 'duplicate')
    modes = {'sensor': ('lose all', 'delay', 'slow', 'stale', 'NaN', 'infinite',
                        'a joint missing', 'clock steps back', 'reorder', *harmless),
             'verdict': ('lose all', 'delay', 'slow', 'stale', 'clock steps back',
                         'clock steps ahead', 'reorder', *harmless)}
    titles = {'sensor': 'joint states', 'verdict': 'verdicts'}
    for relay, words in modes.items():
        for mode in words:
            effect = (Effect.GOES_ON if mode in harmless else
                      Effect.EITHER if mode == 'reorder' else Effect.ZERO)
            yield Fault(f'{titles[relay]}: {mode}', says(relay, mode), effect,
                        LIMIT if effect is Effect.ZERO else None, ('middle',),
                        says(relay, 'pass'), hold=0.0 if effect is Effect.GOES_ON else HOLD)


def lies() -> Iterator[Fault]:
    """Let the sensor lie with fresh stamps: nothing of it may be told."""
    for mode in ('frozen', 'flipped arm', 'flipped pendulum'):
        yield Fault(f'joint states: {mode}', says('sensor', mode), limit=None,
                    phases=('middle',), heal=says('sensor', 'pass'), hold=1.0,
                    words='sensors cannot be right', never_told=True)


def last_element() -> Iterator[Fault]:
    """Spoil commands and the dead man's handle; needs their relays."""
    for relay, title in (('command', 'commands'), ('hand', "operator's handle")):
        for mode in ('lose all', 'delay', 'slow', 'stale'):
            yield Fault(f'{title}: {mode}', says(relay, mode), phases=('middle',),
                        heal=says(relay, 'pass'), hold=HOLD)
        yield Fault(f'{title}: lose every second', says(relay, 'lose every second'),
                    Effect.GOES_ON, None, ('middle',), says(relay, 'pass'), hold=0.0)


def journals() -> Iterator[Fault]:
    """Replace or delete the journal of a run that goes on."""
    def replaced(rig: Rig) -> None:
        journal = rig.run / 'episodes.jsonl'
        copy = journal.with_name('copy')
        copy.write_bytes(journal.read_bytes())
        copy.replace(journal)
    yield Fault('journal replaced', replaced, Effect.EITHER, None, ANY, words='another file')


def doubles() -> Iterator[Fault]:
    """Start a second process of a kind."""
    def second(name: str, **parameters) -> Callable[[Rig], None]:
        def start(rig: Rig) -> None:
            member = rig.members.get(name) or Member('pacsbo_ros.nodes.pacsbo_optimizer', {
                'candidates': 300, 'run_dir': f'{rig.run}-second-{rig.random.random()}'})
            rig.start('second', Member(member.what, {**member.parameters, **parameters},
                                       member.remap))
        return start

    def end_second(rig: Rig) -> None:
        rig.processes.pop('second').end()
        rig.heal()

    for name, parameters, words in (
            ('monitor', {'auto_arm': True}, 'two safety monitors'),
            ('controller', {}, 'two nodes send heartbeats'), ('optimizer', {}, 'two optimisers')):
        yield Fault(f'second {name.replace("izer", "iser")}', second(name, **parameters),
                    limit=None, phases=ANY, heal=end_second, hold=8.0, words=words)


def disk() -> Iterator[Fault]:
    """Let the run folder be full."""
    def full(rig: Rig) -> None:
        size = (rig.run / 'episodes.jsonl').stat().st_size
        resource.prlimit(rig.processes['optimizer'].popen.pid, resource.RLIMIT_FSIZE,
                         (size + 20, size + 20))
    yield Fault('run folder full', full, Effect.EITHER, None, ANY, words='is not saved')


def views() -> Iterator[Fault]:
    """Kill and freeze what only shows the run."""
    for name in ('dashboard', 'markers'):
        for word in ('SIGKILL', 'SIGSTOP'):
            yield Fault(f'{name}: {word}', signals(name, getattr(signal, word)), Effect.GOES_ON,
                        None, ('middle',))


GROUPS: dict[str, tuple[Callable[[], Iterator[Fault]], dict]] = {
    'processes': (processes, {}),
    'data': (data, {'relays': ('sensor', 'verdict'), 'operator': False}),
    'lies': (lies, {'relays': ('sensor',), 'operator': False}),
    'last element': (last_element, {'relays': ('command', 'hand')}),
    'journal': (journals, {'operator': False}),
    'doubles': (doubles, {'operator': False}),
    'disk': (disk, {'operator': False}),
    'views': (views, {'views': True, 'operator': False}),
}
