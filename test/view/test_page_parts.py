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

"""What the live page shows is what the graph said."""
import base64
from dataclasses import replace
import io
import json
import math
import threading
import time
from types import SimpleNamespace

from pacsbo_ros.core.ledger import Entry
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.view import belief_charts, charts, palette, rows, tables, words
from pacsbo_ros.view.live import EVENTS_KEPT, Live, Snapshot, Told
from pacsbo_ros.view.numbers import number, quantity, tuned_label
from pacsbo_ros.view.palette import SILENT
import pytest
from tools.made_up import MadeUp

COUNTS = (1, 2, 3, 4, 6)


def state(iteration, reward=0.9, margin=0.5, run_id='run', **changes):
    """Return what an OptimizerState looks like to Python."""
    return MadeUp(2).state(max(iteration, 1), **{
        'run_id': run_id, 'iteration': iteration, 'reward': reward, 'margin': margin,
        'margins': [margin, 1.0], 'peaks': [0.25, 0.4], 'budget': 20, 'reason': 'because',
        **changes})


def safety(code, error=0.1, **changes):
    return SimpleNamespace(**{'state': code, 'signals': ['error', 'effort'],
                              'newest': [error, 0.0], 'reason': 'angle',
                              'cause_persists': False, **changes})


def slices(count=2, told=20):
    return MadeUp(count).slices(told)


def test_the_history_grows_and_another_run_begins_anew():
    live = Live()
    live.see_optimizer(state(0))
    assert live.snapshot.told == {}
    live.see_optimizer(state(1, 0.9))
    live.see_optimizer(state(1, 0.9))
    live.see_optimizer(state(2, 0.8, margin=-0.1))
    best = [state(i).best_reward for i in (1, 2)]
    assert live.snapshot.told == {1: Told(0.9, True, (0.5, 1.0), (0.25, 0.4), best[0]),
                                  2: Told(0.8, False, (-0.1, 1.0), (0.25, 0.4), best[1])}
    live.see_optimizer(state(0, run_id='next'))
    assert live.snapshot.told == {}


def test_a_page_opened_late_or_after_a_resume_learns_every_signal_and_margin_of_the_past():
    live, past = Live(), slices()
    live.see_optimizer(state(20, 0.5, margin=-1))
    live.see_slices(past)
    told = live.snapshot.told
    assert list(told) == list(range(1, 21))
    assert told[3][:4] == (past.sample_reward[2], True, tuple(past.sample_margins[2]),
                           tuple(past.sample_peaks[2]))
    assert len(told[3].peaks) == 3
    assert told[20] == Told(0.5, False, (-1, 1.0), (0.25, 0.4), state(20).best_reward)


def test_an_episode_keeps_why_it_was_tried_when_the_next_candidate_is_there():
    live = Live()
    for episode, role in ((1, 'verification'), (2, 'comparison')):
        live.see_candidate(SimpleNamespace(run_id='run', iteration=episode, role=role))
        live.see_optimizer(state(episode - 1))  # it is on the robot
        live.see_optimizer(state(episode))
    live.see_candidate(SimpleNamespace(run_id='another', iteration=1, role='start'))
    live.see_optimizer(state(2))
    assert [t.role for t in live.snapshot.told.values()] == ['verification', 'comparison']
    assert series(charts.reward_history(live.snapshot.told, 2)).keys() >= {
        'best again', 'best start again'}


def test_a_snapshot_never_changes_under_its_reader():
    live = Live()
    live.see_optimizer(state(1))
    before, told = live.snapshot, dict(live.snapshot.told)
    live.see_optimizer(state(2))
    live.see_slices(slices())
    assert before.told == told
    assert before.slices is None


def test_silence_of_the_monitor_and_unusable_signals_are_seen():
    live = Live()
    assert live.snapshot.verdict(time.monotonic()) == SILENT
    live.see_safety(safety(1, error=0.2))
    live.see_safety(safety(1, error=math.nan))
    assert live.snapshot.newest == {'error': 0.2, 'effort': 0.0}
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
    assert words.headline(live.snapshot, 1)[0] == 'Trying values'


def test_words_for_a_candidate_say_why_and_what_is_guaranteed():
    candidate = SimpleNamespace(iteration=7, names=['p', 'd', 'fixed'], values=[-4.0, 30.0, 1.0],
                                tuned=2, role='expander', domain='enlarged',
                                lower=[0.1, 0.25, 0.4])
    text = words.sentence(Snapshot(optimizer=state(6), candidate=candidate), 1)
    assert text == ('Episode 7: (−4.000, 30.00), to enlarge the safe set, in the enlarged hull. '
                    'Guaranteed margin 0.25, 0 or more is safe.')
    candidate.tuned = 1
    assert 'Episode 7: p = −4.000, to' in words.sentence(
        Snapshot(optimizer=state(6), candidate=candidate), 1)


def test_there_are_words_for_every_state_of_the_optimiser():
    msg = pytest.importorskip('pacsbo_ros.msg', reason='needs the built messages')
    kind = msg.OptimizerState
    codes = {getattr(kind, name) for name in vars(type(kind))
             if name.isupper() and isinstance(getattr(kind, name), int)}
    assert codes == set(range(len(words.STATES)))
    for name in ('AWAITING_APPROVAL', 'RUNNING', 'PAUSED', 'VERIFYING', 'FINISHED', 'FAILED'):
        assert getattr(words, name) == getattr(msg.OptimizerState, name)
    assert words.STOPPED == msg.SafetyStatus.STOPPED


@pytest.mark.parametrize('code', [9, 200, 255])
def test_codes_that_nobody_knows_have_words(code):
    assert words.state(code) == (f'State {code}', 'warn')
    assert words.outcome_name(code) == f'outcome {code}'
    s = Snapshot(optimizer=state(1, state=code), safety=safety(code))
    assert words.headline(s, code)[0] == f'State {code}'
    assert words.sentence(s, code) == 'Because.'


def test_a_result_is_one_line_with_the_limited_signals():
    message = SimpleNamespace(
        iteration=4, is_datum=True, outcome=Outcome.CAUGHT, reward=0.9, reward_unit='m',
        signals=['error', 'temperature'], signal_units=['rad', 'K'], peaks=[0.5236, 300.0],
        limits=[0.8, math.nan], margins=[0.1, -0.2], reason='')
    assert words.result(message) == ('episode 4 caught: reward 0.90000\xa0m, max |error| 30.0°',
                                     'bad')
    assert words.result(SimpleNamespace(iteration=4, is_datum=False, outcome=77,
                                        reason='gone')) == ('episode 4 outcome 77: gone', 'warn')


def test_the_risk_is_told_as_spent_of_promised():
    assert words.risk(0.03, 0.1) == '0.03 of 0.10'
    assert words.risk(0.0, 0.1) == '0.00 of 0.10'
    assert words.risk(0.0004, 0.1) == '0.0004 of 0.10'
    assert words.risk(0.0, 0.0) == '–'


@pytest.mark.parametrize('robot', ['joint_pid', 'furuta'])
def test_rows_have_every_signal_and_constraint_by_name(robot):
    live, made = Live(), MadeUp(2, robot)
    made.tell(live, 20)
    s = live.snapshot
    signals, constraints = rows.signals(s), rows.constraints(s)
    assert [r.name for r in signals] == list(made.description().signals)
    assert [r.unit for r in signals] == list(made.description().signal_units)
    assert [r.name for r in constraints] == list(made.description().constraints)
    assert [r.margin for r in constraints] == pytest.approx(made.margins[19])
    assert signals[0].peak == pytest.approx(0.7 * made.peaks[-1][0]), 'of the running episode'
    html = tables.measured(signals, constraints)
    assert all(f'<td>{r.name}' in html for r in (*signals, *constraints))
    assert rows.outcomes(s) == (('completed', 18), ('tripped', 1), ('caught', 1))
    assert [name for name, _, _ in rows.tuned(s)] == made.names


def test_what_comes_from_messages_is_escaped():
    bad = '<img src=x>'
    html = (tables.measured((rows.SignalRow(bad, bad, 1.0, 0.5, 0.5),),
                            (rows.ConstraintRow(bad, 0.1, 0.1),))
            + tables.best(((bad, bad, 1.0),)) + tables.warnings([bad])
            + tables.risk(0.1, 0.1, [bad]))
    assert '<img' not in html


def series(chart):
    return {s.get('name', s['type']): s['data'] for s in chart['series']}


@pytest.mark.parametrize('whole', [True, False])
@pytest.mark.parametrize('count', COUNTS)
def test_every_slice_shows_every_sample_where_it_is(count, whole):
    known = slices(count)
    candidate = tuple(known.samples[0])
    for i, item in enumerate(known.slices):
        chart = belief_charts.belief(known, i, candidate, whole)
        json.dumps(chart, allow_nan=False)
        data = series(chart)
        xs = sorted(d['value'][0] for d in data['safe'] + data['unsafe'])
        assert xs == pytest.approx(sorted(known.samples[:, item.x]), rel=1e-4)
        assert data['best'][0]['value'][0] == pytest.approx(known.best[item.x], rel=1e-4)
        axis = chart['xAxis'][-1]
        assert axis['name'].startswith(known.names[item.x])
        if whole:
            assert (axis['min'], axis['max']) == (known.lower[item.x], known.upper[item.x])
        if count > 1:
            assert data['now'][0]['value'][1] == pytest.approx(candidate[item.y], rel=1e-4)
        else:
            assert data['now'][0][0] == candidate[0]
            assert [p[1] for p in data['threshold']] == [0.0, 0.0]
            assert data['safe set'][0][1] == 0.0


@pytest.mark.parametrize('whole', [True, False])
def test_the_map_behind_a_slice_has_the_colour_of_every_margin(whole):
    image = pytest.importorskip('matplotlib.image')
    known = slices(2)
    css = belief_charts.backdrop(known, 0, whole)
    pixels = image.imread(io.BytesIO(base64.b64decode(css.split(',')[1].split(')')[0])))
    assert pixels.shape == (belief_charts.CELLS, belief_charts.CELLS, 3)
    chart = belief_charts.belief(known, 0, None, whole)
    (x,), (y,) = chart['xAxis'], chart['yAxis']
    corners = {(0, 0): (x['min'], y['max']), (-1, -1): (x['max'], y['min']),
               (-1, 0): (x['min'], y['min'])}
    for (row, column), values in corners.items():
        margin = float(known.plane(0).margin_at([values])[0])
        assert pixels[row, column] == pytest.approx(palette.margin_rgb(margin), abs=0.01)
    assert belief_charts.backdrop(None) == belief_charts.backdrop(slices(1)) == 'none'


def test_the_star_says_what_was_read_and_what_is_expected_of_the_best():
    for count in (1, 2, 4):
        made, known = MadeUp(count), slices(count)
        best = made.points[[made.best(20)]]
        assert known.best_expected == pytest.approx(made.reward(best)[0], abs=0.005)
        star = series(belief_charts.belief(known))['best'][0]['name']
        assert f'expected {number(known.best_expected)}' in star
        assert f'reading {number(made.rewards[made.best(20)], 5)}' in star


@pytest.mark.parametrize(('value', 'digits', 'text'), [
    (1718.87, 3, '1719'), (3437.7, 3, '3438'), (0.41, 4, '0.4100'), (-4.4, 3, '−4.40'),
    (9.999, 3, '10.0'), (123456.0, 4, '123456'), (5e7, 3, '5.00·10⁷'), (-2e-6, 2, '−2.0·10⁻⁶'),
    (-1.14e-13, 3, '0'), (0.0, 3, '0'), (math.nan, 3, '–')])
def test_numbers_are_written_as_people_write_them(value, digits, text):
    assert number(value, digits) == text


def test_a_best_outside_the_line_is_said_to_have_been_tried():
    known = slices(2)
    doubted = replace(known, slices=(replace(
        known.slices[0], margin=known.slices[0].margin - 5),))
    assert 'star is outside' in doubted.sentence()
    assert 'star is outside' not in known.sentence()


def test_units_are_written_with_raised_powers_and_never_broken():
    assert quantity(2.0, '1/s^2') == '2.00\xa01/s²'
    assert tuned_label('i', 'N m/s^-2') == 'i [N\xa0m/s⁻²]'
    assert quantity(30.0, 'rad/s') == '1719°/s'


def test_what_rounding_leaves_of_a_signal_is_nothing():
    html = tables.measured((rows.SignalRow('speed', 'rad/s', 30.0, -2e-9, 11.0),), ())
    assert '<td>0°/s</td>' in html


def test_a_candidate_of_another_run_is_not_drawn():
    data = series(belief_charts.belief(slices(3), 0, (1.0, 2.0)))
    assert data['now'] == []


def test_empty_charts_are_charts():
    for chart in (belief_charts.belief(None), charts.reward_history({}, 1),
                  charts.peak_history({}, 1, 0, 'rad', math.nan),
                  charts.margin_history({}, 1, ()), charts.norm_bounds((), (), ()),
                  charts.length_scales((), (), ())):
        json.dumps(chart, allow_nan=False)


def test_histories_show_the_runs_own_best_every_margin_and_the_limit():
    told = {1: Told(0.9, True, (0.5, 0.2), (0.2, 3.0), 0.9),
            2: Told(0.99, False, (-0.1, 0.3), (0.6, 4.0), 0.9), 3: Told(0.85, True, best=0.85)}
    # The best is what the run called so, although its reading fell.
    assert series(charts.reward_history(told, 5))[words.BEST_LINE] == [
        [1, 0.9], [2, 0.9], [3, 0.85]]
    angles = series(charts.peak_history(told, 5, 0, 'rad', math.radians(30)))
    assert [d['value'][0] for d in angles['safe']] == [1]
    assert angles['limit'][0][1] == pytest.approx(30)
    assert 'limit' not in series(charts.peak_history(told, 5, 1, 'N', math.nan))
    margins = series(charts.margin_history(told, 5, ['overshoot', 'effort']))
    assert [d['value'] for d in margins['overshoot']] == [[1, 0.5], [2, -0.1]]
    assert [d['value'] for d in margins['effort']] == [[1, 0.2], [2, 0.3]]


def test_norm_bounds_are_grouped_by_domain_and_length_scales_have_their_weights():
    data = series(charts.norm_bounds(['reward', 'effort'], ['hull', 'box'], [1, 2, 3, 4]))
    assert [d['value'] for d in data['hull']] == [1, 3]
    assert [d['value'] for d in data['box']] == [2, 4]
    data = series(charts.length_scales(['reward', 'effort'], [0.1, 0.4], [0.25, 0.75, 0.9, 0.1]))
    assert [d['value'] for d in data['reward']] == [25, 75]
    assert [d['value'] for d in data['effort']] == [90, 10]


def test_the_ledger_has_one_line_for_each_purpose_however_many_experiments_there_were():
    progress = pytest.importorskip('pacsbo_ros.nodes.progress', reason='messages need ROS 2')
    entries = [Entry('noise', 'noise of reward', 0, 0.01),
               *(Entry('student', 'one experiment', n, 0.001) for n in range(3, 33))]
    assert progress.ledger(entries) == [
        '0.01 for noise of reward',
        '0.03 for calling the next values safe, spread over 30 episodes']
