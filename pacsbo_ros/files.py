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
Read files that somebody else may have written: regular ones only, of bounded size and depth.

Nothing here waits for a writer, follows an alias, unpickles, or raises anything but FileError,
whose message is one line with the path.
"""
from __future__ import annotations

import contextlib
from io import BytesIO
import json
import math
import os
from pathlib import Path
import stat
from typing import Any
import zipfile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

DEPTH = 32  # of nested lists and mappings; ours have five
LINE = 200_000  # bytes of one line; an episode has one per cent of it
TEXT = 200_000  # bytes of a parameter file
RECORDS = 16_000_000  # bytes of a file of lines; 10000 episodes have half of it
ARRAYS = 32_000_000  # bytes of an archive of arrays once it is unpacked


class FileError(ValueError):
    """A file that cannot be used; the message names it and says why."""


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a regular file of at most so many bytes."""
    name = os.fspath(path)
    try:
        with open(name, 'rb', opener=_open) as file:
            return read_open(file, name, most)
    except OSError as error:
        raise FileError(f'{name}: cannot be read: {error.strerror}') from error


def _open(name: str, flags: int) -> int:
    """Open without waiting: a pipe would last until somebody writes."""
    return os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)


def read_open(file: Any, name: str, most: int) -> bytes:
    """Return the content of a file that is open, from its beginning."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f'{name}: cannot be read: not a regular file')
    if status.st_size > most:
        raise FileError(f'{name}: {status.st_size} bytes are too many; at most {most} are read')
    file.seek(0)
    content = file.read(most + 1)
    if len(content) > most:
        raise FileError(f'{name}: grows beyond {most} bytes while it is read')
    return content


def refuse_output(path: Path) -> None:
    """Say what is wrong with a file that is to be made, before the work that fills it."""
    if os.path.lexists(path):
        raise FileError(f'{path}: exists; nothing is overwritten, give another file')
    if not path.parent.is_dir():
        raise FileError(f'{path}: there is no folder {path.parent}; make it first')
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileError(f'{path}: the folder {path.parent} cannot be written to')


def write_new(path: Path, text: str) -> None:
    """Make a file that is whole or absent, and never in place of another; OSError if not."""
    part = path.with_name(f'.{path.name}.{os.getpid()}.part')
    try:
        with part.open('x', encoding='utf-8') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)  # which fails where there is one, unlike a renaming
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with path.open('x', encoding='utf-8') as file:
                file.write(text)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def parse_json(text: bytes, name: str, most: int = LINE) -> Any:
    """Return what a JSON text says."""
    if len(text) > most:
        raise FileError(f'{name}: {len(text)} bytes are too many; at most {most} are read')
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f'{name}: is not JSON') from error
    _check_depth(data, name)
    return data


def parse_yaml(text: bytes, name: str) -> Any:
    """Return what a YAML text without aliases says; None if it is empty."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuse aliases, a few of which unfold to gigabytes, and depth, which takes long."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise FileError(f'{name}: has aliases, which are not read')
            self.depth += 1
            if self.depth > DEPTH:
                raise FileError(f'{name}: is nested more than {DEPTH} deep')
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            """Refuse a key that stands twice, where YAML would take the last one silently."""
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    raise FileError(f'{name}: line {key.start_mark.line + 1}: {key.value!r} is '
                                    'given twice')
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    try:
        data = Loader(text).get_single_data()
    except FileError:
        raise
    except Exception as error:  # the constructors of scalars fail in many ways
        mark = getattr(error, 'problem_mark', None)
        where = f'line {mark.line + 1}: ' if mark else ''
        raise FileError(f'{name}: {where}is not YAML') from error
    _check_depth(data, name)
    return data


def _check_depth(data: Any, name: str) -> None:
    level = [data]
    for _ in range(DEPTH):
        level = [inner for outer in level if isinstance(outer, dict | list)
                 for inner in (outer.values() if isinstance(outer, dict) else outer)
                 if isinstance(inner, dict | list)]
        if not level:
            return
    raise FileError(f'{name}: is nested more than {DEPTH} deep')


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file; their sizes are known before they are unpacked."""
    name = os.fspath(path)
    content = read_bytes(path, ARRAYS)
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            size = sum(info.file_size for info in archive.infolist())
            if size > ARRAYS:
                raise FileError(f'{name}: unpacks to {size} bytes; at most {ARRAYS} are read')
            return {info.filename.removesuffix('.npy'): _array(archive.read(info))
                    for info in archive.infolist()}
    except FileError:
        raise
    except Exception as error:  # archives and headers fail in many ways
        raise FileError(f'{name}: is not an archive of arrays') from error


def _array(content: bytes) -> NDArray[Any]:
    """Return an array of its .npy text, without ever making more of it than is there."""
    file = BytesIO(content)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[
        npy.read_magic(file)]
    shape, fortran, dtype = read_header(file)
    if dtype.hasobject or dtype.itemsize * math.prod(shape) != len(content) - file.tell():
        raise FileError('an array does not have the size that it states')
    flat = np.frombuffer(content, dtype, offset=file.tell())
    return flat.reshape(shape, order='F' if fortran else 'C').copy()
