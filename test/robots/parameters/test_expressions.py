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

"""Expressions: what they may say, what they give, and that nothing else gets in."""
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.robots.parameters.expressions import Expression
from pacsbo_ros.robots.parameters.units import dimension
from pacsbo_ros.robots.parameters.windows import Series, together
from pacsbo_ros.robots.parameters.words import TaskError
import pytest

UNITS = {'error': dimension('rad'), 'effort': dimension('N m'), 'speed': dimension('rad/s')}
T = np.linspace(0.0, 2.0, 201)
WINDOW = {'error': Series(T, np.exp(-T)), 'effort': Series(T[::2], 5 * np.cos(T[::2])),
          'speed': Series(T, -np.exp(-T))}


def complaint(text):
    """Return the one line that refuses an expression; empty if it is none."""
    try:
        Expression(text, UNITS, 'reward')
    except TaskError as error:
        return str(error)
    return ''


def value(text):
    return Expression(text, UNITS, 'reward')(WINDOW)


def test_numbers_come_out_as_in_python():
    assert value('1 + 2 * 3 - 4 / 8') == 6.5
    assert value('-peak(effort) + 0.5') == pytest.approx(-4.5)
    assert value('max(peak(effort), 2) - min(1, 2) + abs(-3) + sqrt(4)') == pytest.approx(9.0)
    assert value('iae(error)') == pytest.approx(1 - np.exp(-2), rel=1e-4)
    assert value('settling_time(error, 0, 0.5)') == pytest.approx(np.log(2), rel=1e-3)


def test_signals_of_different_rates_meet_in_between():
    assert value('peak(0.0 * effort + error)') == pytest.approx(1.0)
    assert value('peak(error - error)') == 0.0
    a, b = together(Series(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])),
                    Series(np.array([0.5, 1.0, 1.5, 1.75]), np.zeros(4)))
    assert a.t.tolist() == b.t.tolist() == [0.5, 1.0, 1.5, 1.75]
    assert a.y.tolist() == a.t.tolist()


@pytest.mark.parametrize(('text', 'words'), [
    ('', 'give an expression'), ('rms(error', 'cannot be read'), ('error', 'rms(error)'),
    ('rms(eror)', "did you mean 'error'"), ('rsm(error)', "did you mean 'rms'"),
    ('rms', 'without its brackets'), ('rms(3)', 'first value is a signal'),
    ('rms(error, effort)', 'takes 1'), ('share_of_time(error)', 'takes 2'),
    ('overshoot(error, effort)', 'two signals'), ('peak(error) + peak(effort)', 'a weight'),
    ('peak(error) - peak(speed)', 'a weight'), ('error ** 2', 'there are names'),
    ('error[0]', 'there are names'), ('error.t', 'there are names'),
    ('__import__("os").system("true")', 'there are names'), ('(lambda: 1)()', 'there are names'),
    ('1 if error else 2', 'there are names'), ('rms(error) > 1', 'there are names'),
    ('"a" * 3', 'there are names'), ('True', 'there are names'), ('1e999', 'not finite'),
    ('open(error)', 'not known'), ('[1 for x in error]', 'there are names'),
    ('rms(y=error)', 'there are names'), ('sqrt(error)', 'metric first'), ('9' * 600, 'most'),
    ('(' * 240 + '1' + ')' * 240, 'cannot be read')])
def test_whatever_else_is_one_line(text, words):
    line = complaint(text)
    assert words in line
    assert len(line.splitlines()) == 1


def test_a_weight_carries_the_missing_unit():
    assert np.isfinite(value('-rms(error) - 0.1 * rms(effort)'))
    assert np.isfinite(value('rms(error) / iae(error) + 1 / settling_time(error)'))


def test_no_number_is_nan_and_no_exception():
    assert np.isnan(value('1 / (peak(error) - peak(error))'))
    assert np.isnan(value('log(0 * peak(error))'))
    assert np.isnan(value('exp(10000 * peak(error))'))


def test_the_scale_of_a_limit_minus_a_metric_is_the_limit():
    assert Expression('0.2 - overshoot(error)', UNITS, 'c').at_rest() == 0.2
    assert Expression('2 * (3 - peak(effort))', UNITS, 'c').at_rest() == 6.0
    assert np.isnan(Expression('1 / peak(effort)', UNITS, 'c').at_rest())


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='()+-*/., 01eE_[]{}:;\'"abcrmsok\nλ', max_size=40))
def test_any_text_is_a_number_or_one_line(text):
    line = complaint(text)
    assert len(line.splitlines()) == bool(line)
    assert line or isinstance(value(text), float)


leaves = st.sampled_from(['1', '2.5', 'rms(error)', 'peak(error)', 'mean(error)'])
trees = st.recursive(leaves, lambda inner: st.tuples(inner, st.sampled_from('+-*'), inner).map(
    lambda x: f'({x[0]} {x[1]} {x[2]})'), max_leaves=8)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_trees_of_operations_agree_with_python(text):
    known = {n: value(f'{n}(error)') for n in ('rms', 'peak', 'mean')}
    plain = text
    for name, number in known.items():
        plain = plain.replace(f'{name}(error)', repr(number))
    line = complaint(text)
    if line:
        assert 'a weight' in line  # rad + rad² is refused, as it should be
    else:
        assert value(text) == pytest.approx(eval(plain), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize('text', ['-rms(error) / 0', '1 / 0.0 * rms(error)'])
def test_a_division_by_zero_is_found_before_anything_moves(text):
    assert complaint(text).endswith('divides by zero')


def test_what_cannot_be_read_names_no_file_that_nobody_has():
    assert complaint('iae(error') == "reward 'iae(error' cannot be read: '(' was never closed"


@pytest.mark.parametrize(('unit', 'right'), [
    ('°C', 'degC'), ('kg m²', 'm^2'), ('meters', 'm'), ('Newton', 'N'), ('radians/s', 'rad')])
def test_a_unit_in_other_letters_is_told_as_it_is_written_here(unit, right):
    with pytest.raises(TaskError, match=rf'write .* as {right.replace("^", ".")}$'):
        dimension(unit)
