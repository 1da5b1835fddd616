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

"""A tuning run without ROS: its order, its end, its resumption."""
from dataclasses import replace
import json

from pacsbo_ros.core import Box, REPEAT, Settings
from pacsbo_ros.robots.contract import Description, Outcome, Signal, Tunable
from pacsbo_ros.tuning.journal import Journal, JournalError
from pacsbo_ros.tuning.run_data import best_of
from pacsbo_ros.tuning.run_folder import RunFolder
from pacsbo_ros.tuning.trial import COMPARISON, Measured, START, VERIFICATION
from pacsbo_ros.tuning.tuning import Problem, Tuning
import pytest

ROBOT = Description(
    'hexapod',
    (Tunable('lift', 'N/m', -10.0, 0.0, -1.0), Tunable('damp', 'N s/m', 0.0, 100.0, 5.0),
     Tunable('gait', '', 0.0, 5.0, 2.0, 'legs', 'gait.speed')),
    (Signal('tilt', 'rad', 0.5), Signal('speed', 'm/s')), (), ('tilt',))
BOX = Box(('lift', 'damp'), (-6.0, 10.0), (0.0, 50.0))
SETTINGS = Settings(dimension=2, constraints=1, length_scales=(0.3,), lam=1e-3, candidates=400,
                    library_size=400, noise_bound=1e-3)
STARTS = ((-3.0, 30.0), (-3.6, 33.0), (-2.4, 28.0))


def problem(**changes):
    return Problem(**{'robot': ROBOT, 'box': BOX, 'start': STARTS, 'settings': SETTINGS,
                      **changes})


def measure(trial):
    """Answer like a plant with its best gains near (-2, 35) that is unsafe far from there."""
    x, y = trial.point
    reward = 1.0 - (x - 0.66) ** 2 - (y - 0.62) ** 2
    margin = 0.8 - 2.0 * ((x - 0.6) ** 2 + (y - 0.6) ** 2)
    return Measured(reward, reward - 0.5, (margin,), (), (0.5 * (1 - margin), 0.3), 0, 'fine')


def make(path, budget=8, **changes):
    case = problem(**changes)
    return Tuning(case, budget, Journal(path, case.identity('')))


def run(tuning, steps=10 ** 6):
    trials = []
    while len(trials) < steps and (trial := tuning.next()) is not None:
        trials.append(trial)
        tuning.tell(measure(trial))
    return trials


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'episodes.jsonl'


def test_values_that_differ_look_different_and_the_best_says_what_is_expected_of_it(path):
    terminal = pytest.importorskip('pacsbo_ros.nodes.terminal', reason='needs rich')
    assert terminal.values_text(BOX, (-3.0, 30.0)) == 'lift -3.000, damp 30.00'
    box = Box(('p', 'count'), (0.05, 0.0), (1.0, 50000.0))
    assert terminal.values_text(box, (0.4101, 12.0)) != terminal.values_text(box, (0.4099, 12.0))
    assert terminal.values_text(box, (0.41, 12.0)) == 'p 0.4100, count 12'
    tuning = make(path)
    trials = run(tuning, 7)
    line = terminal.line(tuning, tuning.told[-1], 3.0)
    expected = tuning.problem.robot.reward.reward(tuning.choice.means[0])
    assert f'best {tuning.best.measured.reward:.4f} (expected {expected:.4f})' in line
    assert trials[-1].role not in line, 'a plain word instead'


def test_a_run_evaluates_the_starts_then_searches_then_verifies(path):
    tuning = make(path)
    trials = run(tuning)
    assert [t.role for t in trials[:6]] == [START] * 3 + [REPEAT] * 3
    assert [t.values for t in trials[:3]] == list(STARTS)
    assert all(t.role in ('maximiser', 'expander') for t in trials[6:8])
    assert [t.role for t in trials[8:]] == [VERIFICATION, COMPARISON] * 2
    assert {t.values for t in trials[8::2]} == {tuning.best.trial.values}
    assert {t.values for t in trials[9::2]} == {max(STARTS, key=lambda v: measure(trials[
        STARTS.index(v)]).reward)}
    assert tuning.verified.trial is trials[-2]
    assert '8 episodes' in tuning.reason
    assert tuning.best.measured.reward > max(measure(t).reward for t in trials[:3])


def test_a_start_that_was_not_safe_is_said_and_not_tried_again(path):
    wrong = (-0.1, 11.0)
    tuning = make(path, start=(STARTS[0], wrong, STARTS[1]))
    assert not tuning.notices
    trials = run(tuning, 6)
    assert [t.values for t in trials[3:5]] == [STARTS[0], STARTS[1]]
    assert wrong not in [t.values for t in trials[3:]]
    assert tuning.notices[0].startswith('the start lift -0.1, damp 11 was called safe and is not')


def test_a_reward_that_is_always_clipped_is_said_and_ends_with_the_best_start(tmp_path):
    """All looks alike to the optimiser then, and what it calls best may be worse than a start."""
    def clipped(trial):
        found = measure(trial)
        return replace(found, reward=-10 * trial.point[0], scaled_reward=-1.0)

    tuning = make(tmp_path / 'run')
    while (trial := tuning.next()) is not None:
        tuning.tell(clipped(trial))
        assert 'is scaled to -1, out of -1 to 3' in ' '.join(tuning.notices)
    start = min(STARTS, key=lambda values: BOX.to_unit(values)[0])
    assert tuning.best.trial.values == tuning.verified.trial.values == start
    assert tuning.gain.start is None
    assert 'so the start is kept' in tuning.notices[-1]
    tuning.journal.close()
    again = make(tmp_path / 'run')
    assert again.next() is None
    assert again.best == tuning.best
    assert best_of(again.told) == tuning.best


@pytest.mark.parametrize('stop_after', [1, 3, 5, 8])
def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(tmp_path, stop_after):
    whole = run(make(tmp_path / 'whole'))
    first = make(tmp_path / 'parts')
    head = run(first, stop_after)
    first.journal.close()
    second = make(tmp_path / 'parts')
    assert head + run(second) == whole


def test_a_finished_run_has_nothing_left_to_do(path):
    first = make(path)
    run(first)
    first.journal.close()
    assert make(path).next() is None


def test_a_pending_trial_stays_the_same_until_it_is_told(path):
    tuning = make(path)
    assert tuning.next() is tuning.next()


def test_another_seed_is_another_problem(path):
    tuning = make(path)
    run(tuning, 4)
    tuning.journal.close()
    with pytest.raises(JournalError, match='seed'):
        make(path, seed=1)


def test_a_journal_with_other_gains_than_proposed_is_refused(path):
    tuning = make(path)
    run(tuning, 5)
    tuning.journal.close()
    header, *episodes = path.read_text().splitlines(keepends=True)
    assert str(STARTS[1][0]) in episodes[1]
    episodes[1] = episodes[1].replace(str(STARTS[1][0]), '-3.3')
    path.write_text(header + ''.join(episodes))
    with pytest.raises(JournalError, match='line 3 has values'):
        make(path)


@pytest.mark.parametrize('line', [2, 5, 6])
@pytest.mark.parametrize(('field', 'value'), [
    ('values', [-1.0, 20.0]), ('point', [0.5, 0.5]), ('seed', 7), ('role', 'expander!'),
    ('domain', 'elsewhere'), ('mean', [9.0, 9.0]), ('lower', [9.0, 9.0]), ('upper', [])])
def test_no_field_of_a_replayed_trial_may_differ(path, line, field, value):
    tuning = make(path)
    run(tuning, 6)
    tuning.journal.close()
    lines = path.read_text().splitlines()
    record = json.loads(lines[line - 1])
    if record['trial'][field] == value:
        return  # a start has no predictions
    record['trial'][field] = value
    lines[line - 1] = json.dumps(record)
    path.write_text('\n'.join(lines) + '\n')
    before = path.read_bytes()
    with pytest.raises(JournalError, match=f'line {line} (has|is)'):
        make(path)
    assert path.read_bytes() == before


def test_finishing_early_still_verifies(path):
    tuning = make(path, budget=30)
    run(tuning, 5)
    tuning.next()
    tuning.finish('finished by the operator')
    assert [t.role for t in run(tuning)] == [VERIFICATION] * 2, 'the best values are a start'
    assert tuning.verified is not None


def test_a_run_that_was_over_goes_on_with_a_larger_budget(path):
    first = make(path, budget=8)
    run(first)
    first.journal.close()
    second = make(path, budget=12)
    more = run(second)
    second.journal.close()
    assert [t.role for t in more].count(VERIFICATION) <= 2
    assert second.searched == 12
    assert second.verified is not None
    assert [t.iteration for t in more] == list(range(13, 13 + len(more)))
    third = make(path, budget=12)  # a third start finds everything done, and nothing different
    assert third.next() is None
    assert [t.trial for t in third.told] == [t.trial for t in second.told]
    third.journal.close()
    with pytest.raises(ValueError, match='iterations is 5, but the run has 12 episodes already'):
        make(path, budget=5)


def test_a_run_that_was_finished_among_its_starts_goes_on_with_them(path):
    first = make(path, budget=8)
    run(first, 1)
    first.finish('finished by the operator')
    assert [t.role for t in run(first)] == [VERIFICATION] * 2
    first.journal.close()
    assert [t.role for t in run(make(path, budget=8), 2)] == [START, START]


def test_best_gains_that_fail_their_verification_are_not_the_best(path):
    tuning = make(path)
    run(tuning, 8)
    first = tuning.next()
    assert first.role == VERIFICATION
    good = measure(first)
    tuning.tell(Measured(good.reward, good.scaled_reward, (-0.2,), (), (0.6, 0.3), 1, 'fell'))
    assert tuning.verified is None
    second = tuning.next()
    assert second.role == VERIFICATION
    assert second.values != first.values
    tuning.tell(measure(second))
    assert tuning.verified is None, 'one of two verifications is not enough'
    assert {t.values for t in run(tuning) if t.role == VERIFICATION} == {second.values}
    assert tuning.verified.trial.values == second.values


def test_a_run_whose_best_values_fail_again_and_again_ends_without_any(path):
    tuning = make(path)
    run(tuning, 8)
    tried = []
    while (trial := tuning.next()) is not None:
        tried.append(trial.values)
        good = measure(trial)
        tuning.tell(Measured(good.reward, good.scaled_reward, (-0.2,), (), (0.6, 0.3), 1, 'fell'))
    assert len(set(tried)) == len(tried) == 3
    assert tuning.verified is None


@pytest.mark.parametrize(('share', 'kept'), [(0.5, True), (10.0, False)])
def test_what_is_verified_stays_the_best_unless_the_start_surely_gives_more(path, share, kept):
    tuning = make(path)
    run(tuning, 8)
    best = tuning.best
    start = max((t for t in tuning.told if t.trial.role == START),
                key=lambda t: t.measured.reward)
    low = share * (best.measured.reward - start.measured.reward)
    assert low > 0
    while (trial := tuning.next()) is not None:
        good = measure(trial)
        if trial.role == VERIFICATION and trial.values == best.trial.values:
            good = replace(good, reward=good.reward - low, scaled_reward=good.scaled_reward - low)
        tuning.tell(good)
    assert tuning.verified.trial.values == (best if kept else start).trial.values


def test_unsafe_start_gains_end_the_run_with_a_reason(path):
    tuning = make(path)
    for _ in range(3):
        tuning.next()
        tuning.tell(Measured(0.5, 0.0, (-0.5,), (), (0.6, 0.3), 1, 'fell'))
    assert tuning.next() is None
    assert tuning.best is None
    assert 'none of the start values is safe' in tuning.reason


def test_after_unsafe_starts_no_advice_is_given_that_cannot_help(path, capsys):
    terminal = pytest.importorskip('pacsbo_ros.nodes.terminal', reason='needs rich')
    tuning = make(path)
    for _ in range(3):
        tuning.next()
        tuning.tell(Measured(0.5, 0.0, (-0.5,), (), (0.6, 0.3), 1, 'fell'))
    tuning.next()
    terminal.print_summary(RunFolder(path.parent), tuning, [0] * len(Outcome))
    said = capsys.readouterr().out
    assert 'resume' not in said
    assert 'a new run with other start values' in said


@pytest.mark.parametrize(('changes', 'words'), [
    ({'start': ()}, 'no start values'),
    ({'start': ((-9.0, 30.0),)}, 'lift is -9'),
    ({'settings': Settings(dimension=1)}, 'dimension'),
    ({'settings': SETTINGS.replace(constraints=2)}, '2 constraints, hexapod promises tilt'),
    ({'box': Box(('lift', 'dampp'), BOX.lower, BOX.upper)}, 'dampp is not a value of hexapod'),
    ({'box': Box(BOX.names, (-11.0, 10.0), BOX.upper)}, r'box of lift is .-11, 0., but hexapod'),
])
def test_a_problem_that_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        problem(**changes)


def test_a_budget_below_the_number_of_starts_is_refused(path):
    with pytest.raises(ValueError, match='iterations is 2'):
        make(path, budget=2)


def test_safeopt_with_a_known_norm_runs_through_the_same_steps(path):
    trials = run(make(path, known_norm=2.0))
    assert trials[-1].role in (VERIFICATION, COMPARISON)


def test_the_best_values_are_a_parameter_file_with_all_values_for_the_right_nodes(tmp_path):
    yaml = pytest.importorskip('yaml')
    folder = RunFolder(tmp_path / 'run')
    tuning = make(folder.journal)
    run(tuning)
    folder.write_best_gains(tuning.problem, tuning.best, tuning.verified, tuning.gain)
    assert yaml.safe_load(folder.best_gains.read_text()) == {
        '/**/hexapod': {'ros__parameters': dict(
            zip(BOX.names, tuning.best.trial.values, strict=True))},
        '/**/legs': {'ros__parameters': {'gait.speed': 2.0}}}
    assert 'max |tilt|' in folder.best_gains.read_text()


def test_another_fixed_value_is_another_problem_but_another_default_of_a_tuned_one_is_not(path):
    lift, damp, gait = ROBOT.tunables
    tuning = make(path)
    run(tuning, 4)
    tuning.journal.close()
    moved = replace(ROBOT, tunables=(replace(lift, default=-3.0), damp, gait))
    make(path, robot=moved).journal.close()
    moved = replace(ROBOT, tunables=(lift, damp, replace(gait, default=3.0)))
    with pytest.raises(JournalError, match=r'fixed\.gait was 2\.0, is 3\.0'):
        make(path, robot=moved)


def test_new_run_folders_never_collide(tmp_path):
    assert len({RunFolder.new(tmp_path).path for _ in range(5)}) == 5
