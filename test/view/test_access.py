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

"""Nobody talks to the page who should not."""
import asyncio

from pacsbo_ros.view.access import check_exposure, Guard, is_loopback, problem_with, same_token
import pytest


@pytest.mark.parametrize(('host', 'local'), [
    ('127.0.0.1', True), ('127.3.2.1', True), ('::1', True), ('localhost', True),
    ('0.0.0.0', False), ('192.168.1.5', False), ('::', False), ('robot.example', False),
    ('', False)])
def test_what_counts_as_this_machine(host, local):
    assert is_loopback(host) is local


def test_other_machines_need_a_token():
    check_exposure('127.0.0.1', '')
    check_exposure('0.0.0.0', 'secret')
    with pytest.raises(ValueError, match=r"host is '0.0.0.0'.*token"):
        check_exposure('0.0.0.0', '')


def test_tokens():
    assert same_token('', '')
    assert same_token('anything', '')
    assert same_token('secret', 'secret')
    assert not same_token('', 'secret')
    assert not same_token('Secret', 'secret')
    assert not same_token('ü', 'u')


@pytest.mark.parametrize('frame', [
    '2', '3', '40', '40{}', '2probe',
    '42["handshake",{"client_id":"a","tab_id":"b","document_id":"c","next_message_id":0}]',
    '4213["event",{"client_id":"a","id":3,"listener_id":"b","args":[]}]'])
def test_messages_of_the_page_pass(frame):
    assert problem_with(frame) is None


@pytest.mark.parametrize('frame', [
    None, b'\x00\x01', '', 'hello', '42', '42{', '42[]', '42["event"]', '42["event",3]',
    '42["event",{}]', '42["event",{"client_id":5}]', '42["shutdown",{"client_id":"a"}]',
    '42["event",{"client_id":"a","id":3}]', '42["ack",{"client_id":"a"}]',
    '42["event",{"client_id":"a","id":[],"listener_id":"b","args":[]}]', '42[["event"],{}]',
    '42' + '[' * 50_000, '42["event",{"client_id":"' + 'a' * 200_000 + '"}]', '44{}', '9'])
def test_everything_else_is_refused(frame):
    assert problem_with(frame)


def talk(kind='http', path='/', host='127.0.0.1:8080', frames=(), **headers):
    """Send a request through the guard; return what it sent, what reached the app, the log."""
    sent, reached, logged = [], [], []

    async def app(scope, receive, send):
        reached.append(scope['path'])
        for _ in frames:
            reached.append((await receive())['type'])
        if scope['type'] == 'http':
            await send({'type': 'http.response.start', 'status': 200, 'headers': []})

    async def receive():
        return {'type': 'websocket.receive', 'text': next(source)}

    async def send(message):
        sent.append(message)

    source = iter(frames)
    pairs = [(b'host', host.encode())] + [(k.encode(), v.encode()) for k, v in headers.items()]
    guard = Guard(app, '127.0.0.1', logged.append)
    asyncio.run(guard({'type': kind, 'path': path, 'headers': pairs}, receive, send))
    return sent, reached, logged


def test_the_pages_own_browser_is_served_and_may_not_be_framed():
    sent, reached, logged = talk()
    assert reached == ['/']
    assert not logged
    assert (b'x-frame-options', b'DENY') in sent[0]['headers']
    assert talk('websocket', '/_nicegui_ws/x', origin='http://127.0.0.1:8080')[1]
    assert talk(host='localhost:8080')[1]
    assert talk(host='[::1]:8080')[1]


@pytest.mark.parametrize('request_', [
    {'kind': 'websocket', 'origin': 'http://evil.example'},
    {'kind': 'websocket', 'origin': 'http://127.0.0.1:9999'},
    {'kind': 'websocket', 'origin': 'null'},
    {'kind': 'websocket'},
    {'kind': 'http', 'origin': 'http://evil.example'},
    {'kind': 'http', 'host': 'evil.example:8080'},
    {'kind': 'websocket', 'host': 'evil.example', 'origin': 'http://evil.example'},
    {'kind': 'http', 'host': ''}, {'kind': 'http', 'host': '[::1'},
    {'kind': 'http', 'path': '/_nicegui_ws/socket.io/?transport=polling'}])
def test_foreign_hosts_and_origins_are_refused_and_logged(request_):
    sent, reached, logged = talk(**request_)
    assert reached == []
    assert len(logged) == 1
    assert logged[0].startswith('refused')
    assert sent[0].get('status') == 403 or sent[0] == {'type': 'websocket.close', 'code': 1008}


def test_a_malformed_message_ends_the_connection():
    frames = ('2', '42["event",{}]')
    sent, reached, logged = talk('websocket', frames=frames, origin='http://127.0.0.1:8080')
    assert reached[1:] == ['websocket.receive', 'websocket.disconnect']
    assert sent == [{'type': 'websocket.close', 'code': 1008}]
    assert len(logged) == 1
