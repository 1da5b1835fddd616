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

"""Rules that turn samples into bands; importing them enters them in `rule.RULES`."""

from pacsbo_ros.core.rule import RULES
from pacsbo_ros.core.rules import (  # noqa: F401, entered in the order of the tables
    bernstein,
    cantelli,
    given,
    hoeffding,
    mean,
    none,
    scale_free,
    scenario,
    student,
)

# What needs neither a predictor nor a known norm.
COMPLETE = tuple(name for name in RULES if name not in ('none', 'given'))
