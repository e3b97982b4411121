from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import InsecureHttpError, PeerConfigError
from dshloop.http import Peer, Retry, bearer
from dshloop.http.peer import check, is_loopback, proxy_for

KEY = "sk-abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:3111",
        "ftp://host/x",
        "http://",
        "http://[::1",
        "http://host:port/",
        "http://host:99999999/",
        "http://user:hunter2@host/",
        "http://user@host/",
        "http://host/?key=1",
        "http://host/#x",
        "http://ho st/",
        "http://host/\x1b[31m",
    ],
)
def test_an_address_that_is_none_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(PeerConfigError) as caught:
        check(Peer("the test server", url))
    assert "the test server" in caught.value.message
    assert "hunter2" not in str(caught.value.as_json())


@pytest.mark.parametrize("token", ["new\nline", "söme", " hunter2", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(PeerConfigError) as caught:
        check(Peer("the test server", "https://host", secrets={"x-api-key": token}))
    assert token.strip() not in str(caught.value.as_json())


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
        ("example.com", False),
    ],
)
def test_loopback_is_this_machine_only(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_a_key_goes_over_plain_http_to_this_machine_only() -> None:
    check(Peer("s", "http://127.0.0.1:1", secrets=bearer(KEY)))
    check(Peer("s", "http://[::1]:1", secrets=bearer(KEY)))
    check(Peer("s", "https://example.com", secrets=bearer(KEY)))
    check(Peer("s", "http://example.com", secrets=bearer("")))
    check(Peer("s", "http://example.com", secrets=bearer(KEY), allow_insecure_http=True))
    with pytest.raises(InsecureHttpError) as caught:
        check(Peer("s", "http://example.com", secrets=bearer(KEY)))
    assert KEY not in str(caught.value.as_json())


def test_a_peer_shows_no_secret() -> None:
    peer = Peer("s", "http://user:pass@example.com/v1/?q=1#f", secrets=bearer(KEY))
    assert KEY not in repr(peer)
    assert peer.shown == "http://example.com/v1"


@pytest.mark.parametrize(
    ("url", "variables", "proxy"),
    [
        ("http://a.com", {}, None),
        ("http://a.com", {"http_proxy": "http://p:1"}, "http://p:1"),
        ("http://a.com", {"HTTP_PROXY": "p:1"}, "http://p:1"),
        ("http://a.com", {"HTTP_PROXY": "http://x", "http_proxy": "http://y"}, "http://y"),
        ("https://a.com", {"http_proxy": "http://p:1"}, None),
        ("https://a.com", {"ALL_PROXY": "socks5://p:1"}, "socks5://p:1"),
        ("https://a.com", {"https_proxy": "http://p", "no_proxy": "b.com, a.com"}, None),
        ("https://x.a.com", {"https_proxy": "http://p", "no_proxy": ".a.com"}, None),
        ("https://a.com", {"https_proxy": "http://p", "NO_PROXY": "*"}, None),
        ("http://a.com", {"http_proxy": ""}, None),
        ("http://localhost:9", {"http_proxy": "http://p:1"}, None),
        ("http://127.0.0.1", {"all_proxy": "http://p:1"}, None),
        ("http://a.com", {"HTTP_PROXY": "http://evil", "REQUEST_METHOD": "GET"}, None),
    ],
)
def test_proxies_are_those_the_environment_names(
    url: str, variables: dict[str, str], proxy: str | None
) -> None:
    assert proxy_for(urlsplit(url), variables) == proxy


def test_pauses_double_up_to_the_longest() -> None:
    retry = Retry(attempts=6, first=1, longest=5)
    assert [retry.pause(number, None, 1.0) for number in range(1, 7)] == [1, 2, 4, 5, 5, None]


def test_a_server_that_asks_for_a_pause_gets_it_or_is_given_up() -> None:
    retry = Retry(attempts=3, first=1, longest=10)
    assert retry.pause(1, 7.0, 0.0) == 7.0
    assert retry.pause(1, 11.0, 0.0) is None


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_pauses_stay_within_bounds(attempt: int, chance: float) -> None:
    pause = Retry(attempts=10**7, first=0.5, longest=30).pause(attempt, None, chance)
    assert pause is not None
    assert 0.25 <= pause <= 30
