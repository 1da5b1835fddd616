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
Who may talk to the live page.

The page is served to this machine alone unless a token is set. A browser may only come from the
page's own address: a foreign page that a user happens to have open must not be able to press a
button here. What does not look like a message of the page is refused and logged.
"""
from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
import hmac
import ipaddress
import json
import socket
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

SOCKET_PATH = '/_nicegui_ws/'
# The messages of the page, and the fields that each must have.
MESSAGES: dict[str, dict[str, type]] = {
    'handshake': {'client_id': str, 'tab_id': str, 'document_id': str},
    'event': {'client_id': str, 'id': int, 'listener_id': str, 'args': list},
    'javascript_response': {'client_id': str, 'request_id': str},
    'ack': {'client_id': str, 'next_message_id': int},
    'log': {'client_id': str, 'level': str, 'message': str},
}
LONGEST = 100_000  # characters of one message
POLICY_VIOLATION = 1008  # close code of RFC 6455


def is_loopback(host: str) -> bool:
    """Tell whether an address is reachable from this machine only."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, token: str) -> None:
    """Refuse to serve other machines without a token."""
    if not token and not is_loopback(host):
        raise ValueError(f'host is {host!r}, which other machines can reach, but no token is set; '
                         'set the parameter token, or host to 127.0.0.1')


def same_token(given: str, token: str) -> bool:
    """Compare tokens in constant time; without a token everybody is trusted."""
    return not token or hmac.compare_digest(given.encode(), token.encode())


def problem_with(frame: str | bytes | None) -> str | None:
    """Say what is wrong with a frame from a browser; None if it is a message of the page."""
    if not isinstance(frame, str):
        return 'a binary frame'
    if len(frame) > LONGEST:
        return f'a frame of {len(frame)} characters'
    if frame[:2] in ('40', '41') or frame in ('1', '2', '3', '3probe', '2probe', '5'):
        return None  # open, close, ping and pong of the protocol
    if frame[:2] != '42':
        return f'an unknown frame {frame[:40]!r}'
    try:
        content = json.loads(frame[2:].lstrip('0123456789'))
    except (ValueError, RecursionError):
        return f'a frame that is no JSON {frame[:40]!r}'
    return None if _is_message(content) else f'an unknown message {frame[:40]!r}'


def _is_message(content: Any) -> bool:
    match content:
        case [str(name), dict(fields)] if name in MESSAGES:
            return all(isinstance(fields.get(key), kind) for key, kind in MESSAGES[name].items())
    return False


class Guard:
    """ASGI middleware: refuse foreign hosts and origins, and malformed messages."""

    def __init__(self, app: Callable, host: str, log: Callable[[str], None]) -> None:
        """Serve browsers that address `host`, an IP address or this machine's name."""
        self._app = app
        self._log = log
        name = socket.gethostname().lower()
        self._names = {'localhost', host.lower(), name, f'{name}.local'}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass on what is in order."""
        if scope['type'] not in ('http', 'websocket'):
            return await self._app(scope, receive, send)
        reason = self._objection(scope)
        if reason:
            self._log(f'refused {scope["type"]} request for {scope["path"]!r}: {reason}')
            return await _refuse(scope, send)
        if scope['type'] == 'websocket':
            return await self._app(scope, self._checked(receive, send), send)
        return await self._app(scope, receive, _unframed(send))

    def _objection(self, scope: Message) -> str | None:
        headers = {key.decode('latin-1').lower(): value.decode('latin-1')
                   for key, value in scope['headers']}
        host, origin = headers.get('host', ''), headers.get('origin')
        if not self._is_ours(host):
            return f'host {host[:80]!r} is not this machine'
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return f'origin {origin[:80]!r} is not {host!r}'
        if scope['type'] == 'websocket' and origin is None:
            return 'a websocket without an origin'
        if scope['type'] == 'http' and scope['path'].startswith(SOCKET_PATH):
            return 'messages come by websocket only'
        return None

    def _is_ours(self, host: str) -> bool:
        """Accept names of this machine and bare IP addresses; those cannot be rebound."""
        try:
            name = urlsplit(f'//{host}').hostname or ''
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
            return True
        except ValueError:
            return name in self._names

    def _checked(self, receive: Receive, send: Send) -> Receive:
        """Return a receive that ends the connection at the first malformed message."""
        async def checked() -> Message:
            message = await receive()
            if message['type'] == 'websocket.receive':
                problem = problem_with(message.get('text') or message.get('bytes'))
                if problem:
                    self._log(f'refused {problem}; the connection is closed')
                    await send({'type': 'websocket.close', 'code': POLICY_VIOLATION})
                    return {'type': 'websocket.disconnect', 'code': POLICY_VIOLATION}
            return message
        return checked


def _unframed(send: Send) -> Send:
    """Return a send that forbids other pages to show ours inside them and catch its clicks."""
    async def unframed(message: Message) -> None:
        if message['type'] == 'http.response.start':
            message['headers'] = [*message.get('headers', ()), (b'x-frame-options', b'DENY')]
        await send(message)
    return unframed


async def _refuse(scope: Message, send: Send) -> None:
    if scope['type'] == 'websocket':
        await send({'type': 'websocket.close', 'code': POLICY_VIOLATION})
        return
    await send({'type': 'http.response.start', 'status': 403,
                'headers': [(b'content-type', b'text/plain')]})
    await send({'type': 'http.response.body', 'body': b'refused\n'})
