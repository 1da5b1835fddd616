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

import argparse
import json

import numpy as np
import pytest
from scipy.stats import binomtest
from studies import records


def square(key):
    return {'square': key['x'] ** 2}


def refuse(key):
    raise AssertionError(f'{key} was already known')


KEYS = [{'x': x} for x in range(5)]


def test_a_stopped_study_goes_on_where_it_was(tmp_path):
    path = tmp_path / 'runs.jsonl'
    records.collect(square, KEYS[:3], path)
    seen = []
    found = records.collect(lambda key: seen.append(key) or square(key), KEYS, path)
    assert seen == KEYS[3:]
    assert [r['square'] for r in found] == [0, 1, 4, 9, 16]
    assert records.collect(refuse, KEYS, path) == found


def test_a_torn_line_is_made_again(tmp_path):
    path = tmp_path / 'runs.jsonl'
    records.collect(square, KEYS, path)
    path.write_bytes(path.read_bytes()[:-7])
    seen = []
    found = records.collect(lambda key: seen.append(key) or square(key), KEYS, path)
    assert seen == KEYS[-1:]
    assert found[-1]['square'] == 16
    assert len(path.read_text().splitlines()) == 5


def test_a_pool_gives_the_same_results(tmp_path):
    # A worker must be able to import the task, which it cannot from this file.
    alone = records.collect(dict, KEYS, tmp_path / 'a.jsonl')
    options = argparse.Namespace(workers=2, scheduler='')
    with records.open_executor(options) as executor:
        assert records.collect(dict, KEYS, tmp_path / 'b.jsonl', executor) == alone


def test_every_result_says_which_code_made_it(tmp_path):
    found = records.collect(square, KEYS, tmp_path / 'runs.jsonl')
    origin = records.provenance('some.module', found, ['--out', 'a b'])
    assert origin['code'] == [records.commit()]
    assert "python -m some.module --out 'a b'" in records.signature(origin)


@pytest.mark.parametrize(('hits', 'count'), [(0, 50), (1, 50), (25, 50), (50, 50), (3, 1000)])
def test_the_interval_of_a_share_is_the_exact_one(hits, count):
    exact = binomtest(hits, count).proportion_ci(0.95, method='exact')
    assert records.share_interval(hits, count) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize('count', [6, 7, 50, 51])
def test_the_interval_of_a_median_covers_it_often_enough(count):
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        low, high = records.median_interval(rng.exponential(size=count))
        hits += low <= np.log(2) <= high
    assert hits >= 935


def test_saved_data_can_be_read(tmp_path):
    data = {'made_by': {'a': 1}, 'runs': [{'x': 1}, {'x': None}], 'none': []}
    records.save(tmp_path / 'data.json', data)
    assert json.loads((tmp_path / 'data.json').read_text()) == data
