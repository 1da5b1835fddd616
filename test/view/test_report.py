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

"""A run folder becomes one page that needs nothing else."""
from dataclasses import asdict, replace
import json
import re
import subprocess
import sys

from matplotlib.backends.backend_agg import FigureCanvasAgg
import numpy as np
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.tuning import belief_plots, plots
from pacsbo_ros.tuning.report import write_report
from pacsbo_ros.tuning.report_files import ReportFiles
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.tuning.trial import Measured, Told, Trial
from pacsbo_ros.view.words import BEST_LINE
import pytest
from tools.made_up import MadeUp

ROLES = ('start', 'maximiser', 'expander', 'maximiser', 'verification')
MADE = MadeUp(2, episodes=5)


def told(i, role, reward=0.9, margin=0.5):
    """Return one episode."""
    i_tried = 3 if role == 'verification' else i
    values = (-4.0 - 0.1 * i_tried, 28.0 + i_tried)
    bounds = () if role in ('start', 'verification') else (0.0, 0.1, 0.2, 0.3)
    return Told(Trial(i, values, (0.5, 0.5), i, role, 'hull', bounds, bounds, bounds),
                Measured(reward, reward, (margin, 1.0, 2.0), (), (0.25, 0.4, 300.0),
                         0 if margin >= 0 else 1, 'ended <so>'))


@pytest.fixture
def folder(tmp_path):
    """Make a run folder as the optimiser leaves it."""
    path = MADE.write(tmp_path / 'my <run>')
    lines = [json.dumps(MADE.header())]
    report_files = ReportFiles(path)
    for i, role in enumerate(ROLES, start=1):
        item = told(i, role, 0.9 + 0.01 * i * (role != 'verification'), -0.3 if i == 4 else 0.5)
        lines.append(json.dumps(asdict(item)))
        report_files.keep_slices(MADE.slices(i))
    (path / 'episodes.jsonl').write_text('\n'.join(lines) + '\n')
    return path


def test_kept_items_come_back(folder):
    report_files = ReportFiles(folder)
    trace, made = report_files.trace(2), MADE.trace(2)
    assert (trace.columns, trace.units) == (made.columns, made.units)
    np.testing.assert_allclose(trace.samples, made.samples, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(trace.limits, made.limits)
    assert [s.iteration for s in report_files.slices()] == [1, 2, 3, 4, 5]
    assert [s.iteration for s in report_files.slices(stages=3)] == [1, 3, 5]
    last = report_files.progress()[-1]
    assert (last.delta, last.delta_spent) == (0.1, pytest.approx(0.03))
    assert last.ledger == tuple(MADE.state(5).ledger)
    assert report_files.trace(99) is None


def test_a_run_is_read_and_its_telling_episodes_are_chosen(folder):
    run = RunData.load(folder)
    assert len(run.told) == 5
    assert run.best.trial.iteration == 3, 'episode 4 has more reward but was unsafe'
    chosen = {why: t.trial.iteration for why, (t, _) in run.traces.items()}
    assert chosen == {'start': 1, 'best': 3, 'worst': 4, 'verification': 5}
    assert run.robot.name == 'joint_pid'
    assert [s.name for s in run.robot.signals] == ['error', 'effort', 'temperature']
    assert run.robot.signals[2].limit is None
    assert (run.names, run.units) == (('p', 'd'), ('N m/rad', 'N m s/rad'))
    assert run.fixed == {'sample_time': 0.005}
    assert run.parameters['pacsbo_optimizer delta'] == 0.1


def rewrite(folder, *episodes, best=None):
    """Write another journal, and what the run called its best after every episode."""
    lines = [json.dumps(MADE.header()), *(json.dumps(asdict(e)) for e in episodes)]
    (folder / 'episodes.jsonl').write_text('\n'.join(lines) + '\n')
    made = ReportFiles(folder).progress()
    (folder / 'progress.jsonl').unlink()
    for progress, reading in zip(made, best or [], strict=False):
        ReportFiles(folder).keep_progress(replace(
            progress, best_reward=reading, best_values=next(
                e.trial.values for e in episodes if e.measured.reward == reading)))


def test_the_best_is_what_the_run_called_so_and_not_the_luckiest_reading(folder):
    rewrite(folder, told(1, 'start', 0.97), told(2, 'expander', 0.99), told(3, 'expander', 0.98),
            best=[0.97, 0.99, 0.98])
    run = RunData.load(folder)
    assert run.best.trial.iteration == 3
    axes = plots.history(run).axes[0]
    line, = (line for line in axes.get_lines() if line.get_label() == BEST_LINE)
    assert line.get_ydata().tolist() == [0.97, 0.99, 0.98], 'as the run said it at each time'


def test_the_episode_closest_to_a_limit_may_be_a_start(folder):
    rewrite(folder, told(1, 'start', 0.9), told(2, 'start', 0.91, 0.28),
            told(3, 'expander', 0.92, 0.43))
    chosen = {why: t.trial.iteration for why, (t, _) in RunData.load(folder).traces.items()}
    assert chosen == {'start': 1, 'closest to a limit': 2, 'best': 3}


def test_an_episode_that_tells_two_things_is_drawn_once_with_both(folder):
    rewrite(folder, told(1, 'start', 0.9, 0.1), told(2, 'expander', 0.95))
    assert list(RunData.load(folder).traces) == ['start, closest to a limit', 'best']


def test_best_values_and_best_start_tried_again_have_marks_of_their_own(folder):
    rewrite(folder, told(1, 'start'), told(2, 'expander', 0.95), told(3, 'verification', 0.94),
            told(4, 'comparison', 0.89), told(5, 'verification', 0.93, -0.1))
    axes = plots.history(RunData.load(folder)).axes[0]
    marks = {line.get_label(): (line.get_marker(), line.get_xdata().tolist())
             for line in axes.get_lines()}
    assert marks == {'safe': ('o', [1, 2]), 'best again': ('D', [3]),
                     'best start again': ('s', [4]), 'unsafe': ('X', [5])}


def test_episodes_are_whole_numbers(folder):
    run = RunData.load(folder)
    for figure in (plots.history(run), plots.norms(run)):
        for axes in (a for a in figure.axes if a.get_visible()):
            assert all(tick == round(tick) for tick in axes.get_xticks()), axes.get_title()


def test_the_share_of_the_box_that_is_safe_is_one_number(folder):
    run = RunData.load(folder)
    shares = {p.iteration: p.safe_share[-1] for p in run.progress}
    titles = [axes.get_title() for axes in belief_plots.growth(run.slices, shares).axes]
    assert titles == [f'after {s.iteration}: {100 * shares[s.iteration]:.1f} % safe'
                      for s in run.slices]
    assert f'<b>{100 * shares[5]:.1f} %</b>' in write_report(folder).read_text()


def test_a_start_that_was_unsafe_is_not_called_safe(folder):
    start = told(1, 'start', 0.9, -0.2)
    rewrite(folder, replace(start, measured=replace(
        start.measured, outcome=0, reason=Outcome.COMPLETED.sentence)), told(2, 'start'))
    page = write_report(folder).read_text()
    assert '1 of the starts that you called safe went beyond a constraint.' in page
    assert 'The episode ran to its end, beyond the constraint overshoot.' in page
    assert 'by you, wrongly' in page
    assert '1 of them went beyond a constraint.' in page


def test_names_of_signals_stay_within_the_picture_of_the_movement(folder):
    figure = plots.traces(RunData.load(folder))
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    for axes in figure.axes:
        if axes.get_ylabel():
            box = axes.yaxis.label.get_window_extent(renderer)
            assert box.x0 >= 0
            assert box.height <= 1.05 * axes.get_window_extent(renderer).height


def test_the_page_is_self_contained_and_complete(folder):
    page = write_report(folder).read_text(encoding='utf-8')
    assert (folder / 'history.png').stat().st_size > 10_000
    assert (folder / 'belief.png').stat().st_size > 10_000
    assert page.count('<svg') == 6
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(link.startswith(('#', 'data:')) for link in links)
    assert '<script' not in page
    assert 'my &lt;run&gt;' in page, 'names are escaped'
    assert 'ended &lt;so&gt;' in page
    for words in ('verified', 'Outcomes', 'tripped', '1 of 5', 'pacsbo_optimizer delta',
                  '−4.300', 'fixed sample_time', 'margin of overshoot', 'margin of settling',
                  'max |temperature| [K]', '0.03 of 0.10', 'raise noise_bound',
                  '0.02 for calling the next values safe, spread over 5'):
        assert words in page
    assert not [p for p in folder.iterdir() if p.name.endswith('.tmp')]


def test_a_start_that_is_repeated_is_safe_because_the_user_said_so(folder):
    lines = (folder / 'episodes.jsonl').read_text().splitlines()[:3]
    again = json.loads(lines[1])
    again['trial'].update(iteration=3, role='repeat')
    (folder / 'episodes.jsonl').write_text('\n'.join([*lines, json.dumps(again)]) + '\n')
    rows = re.findall(r'<tr class="[a-z]*"><td>(\d)</td>(.*?)</tr>',
                      write_report(folder).read_text())
    assert {number: 'by you' in cells for number, cells in rows} == {
        '1': True, '2': False, '3': True}


def test_a_torn_journal_and_damaged_files_give_a_report_that_says_so(folder):
    journal = folder / 'episodes.jsonl'
    journal.write_text(journal.read_text()[:-40])
    (folder / 'slices' / '0005.npz').write_bytes(b'PK\x03\x04 no archive')
    page = write_report(folder).read_text(encoding='utf-8')
    assert 'Line 6 of episodes.jsonl could not be read;' in page
    assert 'slices/0005.npz could not be read and is left out.' in page
    assert '1 of 4' in page
    assert page.count('<svg') == 6


@pytest.mark.parametrize('damage', [b'', b'PK\x03\x04 no archive', b'\xff\xfe\x00', b'a: [b'])
def test_damaged_files_are_left_out_and_named(folder, damage):
    names = {'slices/0005.npz', 'traces/0003.csv', 'parameters.yaml'}
    for name in names:
        (folder / name).write_bytes(damage)
    run = RunData.load(folder)
    unreadable = names if damage else names - {'parameters.yaml'}  # no parameters are none
    assert set(run.notes) == {f'{n} could not be read and is left out.' for n in unreadable}
    assert [p.iteration for p in run.slices] == [1, 2, 4]
    assert 'best' not in run.traces
    assert len(run.told) == 5


@pytest.mark.parametrize('line', ['{}', '[]', 'null', '{"trial": {}, "measured": {}}'])
def test_a_line_that_is_no_episode_is_named(folder, line):
    journal = folder / 'episodes.jsonl'
    head, *rest = journal.read_text().splitlines()
    journal.write_text('\n'.join([head, rest[0], line, *rest[1:]]))
    run = RunData.load(folder)
    assert len(run.told) == 1
    assert run.notes[0].startswith('Line 3 of episodes.jsonl could not be read')


@pytest.mark.parametrize('robot', [None, [], 'joint_pid', {'signals': [{}]},
                                   {'reward': {'scale': 0}}])
def test_a_header_that_describes_no_robot_is_named(folder, robot):
    journal = folder / 'episodes.jsonl'
    header = MADE.header()
    header['problem']['robot'] = robot
    journal.write_text('\n'.join([json.dumps(header), *journal.read_text().splitlines()[1:]]))
    run = RunData.load(folder)
    assert 'The first line of episodes.jsonl does not describe a robot.' in run.notes
    assert run.robot.constraints == ('constraint 1', 'constraint 2', 'constraint 3')
    assert [s.name for s in run.robot.signals] == ['signal 1', 'signal 2', 'signal 3']


@pytest.mark.parametrize('count', [1, 3, 6])
def test_no_best_value_is_cut_off_however_many_there_are(count, tmp_path, browser):
    made = MadeUp(count, episodes=8)
    folder = made.write(tmp_path / 'run')
    page = write_report(folder)
    best = RunData.load(folder).best
    for width, height in ((1100, 900), (390, 844)):
        browser.open(page.as_uri(), width, height)
        assert browser.overflow() <= 0
        shown = browser.driver.execute_script(
            'return [...document.querySelectorAll(".values b")].map(b => {'
            'const r = b.getBoundingClientRect(); return [b.innerText, r.left, r.right]})')
        assert len(shown) == count
        for (text, left, right), value in zip(shown, best.trial.values, strict=True):
            assert float(text.replace('−', '-')) == pytest.approx(value, rel=1e-3)
            assert 0 <= left < right <= width
    text = browser.driver.find_element('tag name', 'body').text
    assert ('projections' in text) == (count > 2)


def test_a_run_that_has_only_begun_has_a_report(tmp_path):
    (tmp_path / 'episodes.jsonl').write_text('{"format": 1, "problem": {}}\n')
    page = write_report(tmp_path).read_text(encoding='utf-8')
    assert 'not verified' in page
    assert 'No episode has been told yet.' in page


def test_the_command_names_what_is_wrong(tmp_path):
    result = subprocess.run([sys.executable, '-m', 'pacsbo_ros.tuning.report', str(tmp_path)],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert 'is not a run folder: it has no episodes.jsonl' in result.stderr
    assert 'Traceback' not in result.stderr


def test_a_browser_shows_it_without_network(folder, browser):
    page = write_report(folder).as_uri()
    for width, height in ((1440, 900), (390, 844)):
        browser.open(page, width, height)
        assert 'What is guaranteed' in browser.driver.find_element('tag name', 'body').text
        assert browser.requests() == []
        assert browser.errors() == []
        assert browser.overflow() <= 0
        drawn = browser.driver.execute_script(
            'return [...document.querySelectorAll("svg")].map(s => s.clientWidth)')
        assert len(drawn) == 6
        assert min(drawn) > 0.8 * min(width, 1000) - 80
