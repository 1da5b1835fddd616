# Copyright the pacsbo_ros developers. Apache-2.0.
"""What the live page shows is what the graph said."""
import json
import math
import threading
import time
from types import SimpleNamespace

import pytest

from pacsbo_ros.view import charts, words
from pacsbo_ros.view.live import EVENTS_KEPT, Live, Snapshot, Told
from pacsbo_ros.view.palette import SILENT


def state(iteration, reward=0.9, margin=0.5, run_id='run', **changes):
    """Return what an OptimizerState looks like to Python."""
    return SimpleNamespace(**{
        'run_id': run_id, 'iteration': iteration, 'reward': reward, 'max_alpha': 0.25,
        'margin': margin, 'budget': 20, 'state': words.RUNNING, 'reason': 'because',
        'best_gains': [-4.0, 30.0], 'best_reward': 0.95, **changes})


def safety(code, alpha=0.1, **changes):
    return SimpleNamespace(**{'state': code, 'theta': 0.0, 'alpha': alpha, 'reason': 'angle',
                              'cause_persists': False, **changes})


@pytest.fixture
def plane():
    import numpy as np

    from pacsbo_ros.view.plane import GainPlane
    margin = np.linspace(-2, 1, 30).reshape(5, 6)
    samples = np.array([[-4.0, 30.0], [-1.0, 45.0]])
    return GainPlane('run', 2, ('k_theta', 'k_alpha'), (-6.0, 10.0), (0.0, 50.0), margin, margin,
                     samples, samples, samples, np.array([0.9, 0.5]), np.array([0, 1]),
                     np.array([True, False]))


def test_the_history_grows_and_another_run_begins_anew():
    live = Live()
    live.see_optimizer(state(0))
    assert live.snapshot.told == {}
    live.see_optimizer(state(1, 0.9))
    live.see_optimizer(state(1, 0.9))
    live.see_optimizer(state(2, 0.8, margin=-0.1))
    assert live.snapshot.told == {1: Told(0.9, 0.25, True), 2: Told(0.8, 0.25, False)}
    live.see_optimizer(state(0, run_id='next'))
    assert live.snapshot.told == {}


def test_a_page_opened_late_learns_the_past_from_the_map(plane):
    live = Live()
    live.see_optimizer(state(2, 0.5, margin=-1))
    live.see_plane(plane)
    told = live.snapshot.told
    assert list(told) == [1, 2]
    assert told[1].reward == 0.9
    assert math.isnan(told[1].max_alpha)
    assert told[2] == Told(0.5, 0.25, False)


def test_a_snapshot_never_changes_under_its_reader(plane):
    live = Live()
    live.see_optimizer(state(1))
    before, told = live.snapshot, dict(live.snapshot.told)
    live.see_optimizer(state(2))
    live.see_plane(plane)
    assert before.told == told
    assert before.plane is None


def test_silence_of_the_monitor_and_unusable_angles_are_seen():
    live = Live()
    assert live.snapshot.verdict(time.monotonic()) == SILENT
    live.see_safety(safety(1, alpha=0.2))
    live.see_safety(safety(1, alpha=math.nan))
    assert live.snapshot.angles == (0.0, 0.2)
    assert live.snapshot.verdict(time.monotonic()) == 1
    assert live.snapshot.verdict(time.monotonic() + 1) == SILENT


def test_events_of_many_threads_are_numbered_and_bounded():
    live = Live()
    threads = [threading.Thread(target=lambda: [live.say('x') for _ in range(100)])
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [event.number for event in live.events()]
    assert numbers == list(range(401 - EVENTS_KEPT, 401))
    assert [e.number for e in live.events(after=398)] == [399, 400]


def test_words_for_a_stop_come_before_everything_else():
    s = Snapshot(safety=safety(2), optimizer=state(3))
    assert words.headline(s, 2) == ('Stopped', 'bad')
    assert 'Reset' in words.sentence(s, 2)
    assert 'Reset' not in words.sentence(
        Snapshot(safety=safety(2, cause_persists=True), optimizer=state(3)), 2)


def test_words_for_an_optimiser_that_left():
    live = Live()
    live.see_presence(False)
    assert words.headline(live.snapshot, 1)[0] == 'Waiting for the optimiser'
    for code, title in ((3, 'The optimiser is gone'), (7, 'Finished')):
        live.see_optimizer(state(1, state=code))
        live.see_presence(False)
        assert words.headline(live.snapshot, 1)[0] == title
    live.see_optimizer(state(2))
    live.see_presence(True)
    assert words.headline(live.snapshot, 1)[0] == 'Trying gains'


def test_words_for_a_candidate_say_why_and_what_is_guaranteed():
    candidate = SimpleNamespace(iteration=7, gains=[-4.0, 30.0], role='expander',
                                domain='enlarged', lower=[0.1, 0.25, 0.4])
    text = words.sentence(Snapshot(optimizer=state(6), candidate=candidate), 1)
    assert text == ('Episode 7: gains (−4.00, 30.00), which would enlarge the safe set, in the '
                    'enlarged hull. Guaranteed margin 0.25, 0 or more is safe.')


def test_there_are_words_for_every_state_of_the_optimiser():
    msg = pytest.importorskip('pacsbo_ros.msg', reason='needs the built messages')
    kind = msg.OptimizerState
    codes = {getattr(kind, name) for name in vars(type(kind))
             if name.isupper() and isinstance(getattr(kind, name), int)}
    assert codes == set(range(len(words.STATES)))
    for name in ('AWAITING_APPROVAL', 'RUNNING', 'PAUSED', 'VERIFYING', 'FINISHED', 'FAILED'):
        assert getattr(words, name) == getattr(msg.OptimizerState, name)
    assert words.STOPPED == msg.SafetyStatus.STOPPED


def series(chart):
    return {s.get('name', s['type']): s['data'] for s in chart['series']}


@pytest.mark.parametrize('whole', [True, False])
def test_the_map_shows_every_sample_where_it_is(plane, whole):
    chart = charts.gain_plane(plane, (-3.0, 20.0, 1.0), whole)
    json.dumps(chart, allow_nan=False)
    data = series(chart)
    assert [d['value'] for d in data['safe']] == [[-4.0, 30.0]]
    assert [d['value'] for d in data['unsafe']] == [[-1.0, 45.0]]
    assert [d['value'] for d in data['best']] == [[-4.0, 30.0]]
    assert [d['value'] for d in data['now']] == [[-3.0, 20.0]]
    cells = data['heatmap']
    assert len(cells) == charts.CELLS ** 2
    assert all(0 <= i < charts.CELLS and 0 <= j < charts.CELLS and m >= -1 for i, j, m in cells)
    if whole:
        assert (chart['xAxis'][1]['min'], chart['yAxis'][1]['max']) == (-6.0, 50.0)


def test_empty_charts_are_charts():
    for chart in (charts.gain_plane(None), charts.reward_history({}, 1),
                  charts.angle_history({}, 1, math.nan), charts.norm_bounds((), (), ())):
        json.dumps(chart, allow_nan=False)


def test_histories_show_the_best_safe_reward_and_the_limit():
    told = {1: Told(0.9, 0.2, True), 2: Told(0.99, 0.6, False), 3: Told(0.95, math.nan, True)}
    assert series(charts.reward_history(told, 5))['best so far'] == [[1, 0.9], [2, 0.9], [3, 0.95]]
    angles = series(charts.angle_history(told, 5, math.radians(30)))
    assert [d['value'][0] for d in angles['safe']] == [1]
    assert angles['limit'][0][1] == pytest.approx(30)


def test_norm_bounds_are_grouped_by_domain():
    data = series(charts.norm_bounds(['reward', 'alpha_margin'], ['hull', 'box'], [1, 2, 3, 4]))
    assert [d['value'] for d in data['hull']] == [1, 3]
    assert [d['value'] for d in data['box']] == [2, 4]
