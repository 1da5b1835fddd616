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

"""How the live page looks."""
STYLE = """
body { background: #0d131a; }
.nicegui-content { padding: 0; }
.card { background: #151d27; border: 1px solid #222d3a; border-radius: 14px; padding: 14px;
        box-shadow: none; }
.card-title { color: #8796a5; font-size: 13px; font-weight: 600; }  /* as written: it has units */
.number { font-variant-numeric: tabular-nums; font-size: 20px; color: #eef3f8; line-height: 1.2; }
.caption { color: #8796a5; font-size: 12px; }
.stop { font-size: 22px !important; font-weight: 800; letter-spacing: .12em; border-radius: 12px;
        min-height: 56px; min-width: 150px; box-shadow: 0 0 0 3px #0d131a, 0 0 0 5px #e5484d; }
.chart { height: 236px; }
.belief { min-height: 338px; flex: 1 1 auto; }
.facts { width: 100%; border-collapse: collapse; font-size: 12.5px; color: #c9d4df;
         font-variant-numeric: tabular-nums; table-layout: fixed; }
.facts th { color: #8796a5; font-weight: 500; text-align: right; padding: 3px 0; }
.facts td { text-align: right; padding: 2px 0 2px 8px; border-top: 1px solid #222d3a;
            white-space: nowrap; }
.facts td:first-child, .facts th:first-child { text-align: left; padding-left: 0;
            overflow: hidden; text-overflow: ellipsis; }
.facts tr.bad td { color: #ff8084; }
.facts.lines { table-layout: auto; }
.facts.lines td { white-space: normal; vertical-align: top; }
.bar { height: 3px; border-radius: 2px; background: #222d3a; margin-top: 1px; }
.bar div { height: 3px; border-radius: 2px; }
.warning { font-size: 12.5px; color: #f3c669; border-left: 3px solid #d99a1c; padding-left: 8px; }
.pair .q-field__native, .pair .q-field__control { min-height: 24px !important; height: 24px;
            color: #c9d4df; font-size: 12px; }
.pair .q-field__append { height: 24px; }
.events { font-size: 12.5px; border: none !important; background: transparent !important; }
.events * { white-space: pre-wrap !important; font-family: inherit; }
"""
