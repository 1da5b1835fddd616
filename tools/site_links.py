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

"""
Let the site of the docs hold the pages that stand outside docs/: a hook of mkdocs.yml.

Links are written as they work in the repository. On the site, where docs/ is the root, they are
turned to the page's new place; what is no page there (a file of code) keeps its words only.
"""
from __future__ import annotations

from os.path import normpath, relpath
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = ('README.md', 'SAFETY.md', 'CONTRIBUTING.md', 'QUALITY_DECLARATION.md',
           *(p.relative_to(ROOT).as_posix() for p in sorted(ROOT.glob('examples/*/README.md'))))
LINK = re.compile(r'(?<!!)\[(?P<words>[^][]*)\]'
                  r'\((?!\w+:|#)(?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)')
SOURCE = re.compile(r'(?P<before>!\[[^][]*\]\(|src=")(?!\w+:)(?P<target>[^)"\s]+)')


def on_files(files, config):
    """Add the pages that stand outside docs/."""
    from mkdocs.structure.files import File
    for path in OUTSIDE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn the links of a page."""
    return turned(markdown, page.file.src_uri, {file.src_uri for file in files})


def turned(markdown: str, page: str, known: set[str]) -> str:
    """Return a page's text with links that work on the site, whose files are known."""
    folder = Path(page if page in OUTSIDE else f'docs/{page}').parent

    def place(target: str) -> str | None:
        path = normpath(folder / target)
        for name in (path, f'{path}/README.md'):
            name = name.removeprefix('docs/')
            if name in known:
                return relpath(name, Path(page).parent)
        return None

    def link(match: re.Match[str]) -> str:
        new = place(match['target'])
        return match['words'] if new is None else (
            f'[{match["words"]}]({new}{match["anchor"] or ""})')

    def source(match: re.Match[str]) -> str:
        return match['before'] + (place(match['target']) or match['target'])

    return SOURCE.sub(source, LINK.sub(link, markdown))
