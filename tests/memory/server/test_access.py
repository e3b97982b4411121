"""Which Host, Origin and bearer are let in, and what a server reads of its variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import ServerOpenError
from dshloop.memory.server.access import bearer_is_right, host_is_ours, origin_is_ours
from dshloop.memory.server.settings import Settings, is_loopback, read_settings

LOCAL = Settings()
OPEN = Settings(host="0.0.0.0", secret="s")


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9:1", True),
        ("localhost.", True),
        ("[::1]", True),
        ("::1", True),
        ("app.localhost", True),
        ("localhost.evil.example", False),
        ("evil.example", False),
        ("10.0.0.1", False),
        ("", False),
        ("127.0.0.1@evil.example", False),
    ],
)
def test_a_local_server_answers_to_names_of_this_machine(host: str, ours: bool) -> None:
    assert host_is_ours(LOCAL, host) is ours


def test_names_that_are_allowed_are_ours() -> None:
    settings = read_settings({}, hosts=(" Memory.Lan ", ""))
    assert host_is_ours(settings, "memory.lan:3111")
    assert not host_is_ours(settings, "other.lan")


def test_a_server_for_others_answers_to_any_name_unless_names_are_given() -> None:
    assert host_is_ours(OPEN, "box.example")
    named = Settings(host="0.0.0.0", secret="s", hosts=("box.example",))
    assert host_is_ours(named, "box.example:80")
    assert host_is_ours(named, "192.0.2.7:3111")
    assert not host_is_ours(named, "evil.example")


@pytest.mark.parametrize(
    ("origin", "ours"),
    [
        (None, True),
        ("http://localhost:3111", True),
        ("http://127.0.0.1:3113", True),
        ("http://[::1]:3111", True),
        ("http://localhost:3112", False),
        ("http://localhost", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("http://evil.example:3111", False),
        ("http://localhost:99999", False),
        ("chrome-extension://abc", False),
    ],
)
def test_pages_of_this_machine_on_our_ports_may_ask(origin: str | None, ours: bool) -> None:
    assert origin_is_ours(LOCAL, origin, "localhost:3111") is ours


def test_a_server_for_others_lets_its_own_pages_ask() -> None:
    assert origin_is_ours(OPEN, "http://box.example:3111", "box.example:3111")
    assert not origin_is_ours(OPEN, "http://evil.example:3111", "box.example:3111")


@given(st.text())
def test_only_the_very_secret_is_right(given_: str) -> None:
    assert bearer_is_right(OPEN, given_) is (given_ == "Bearer s")
    assert bearer_is_right(LOCAL, given_)


@given(st.text(max_size=30))
def test_any_host_is_loopback_or_not(host: str) -> None:
    assert is_loopback(host) in (True, False)


def test_variables_are_read_as_the_daemon_does() -> None:
    settings = read_settings(
        {
            "AGENTMEMORY_SECRET": " s ",
            "AGENT_ID": " a ",
            "AGENTMEMORY_AGENT_SCOPE": "Isolated",
            "TOKEN_BUDGET": "300",
            "MAX_OBS_PER_SESSION": "nonsense",
        }
    )
    assert (settings.secret, settings.agent, settings.isolated) == ("s", "a", True)
    assert (settings.token_budget, settings.session_limit) == (300, 500)
    assert not read_settings({"AGENTMEMORY_AGENT_SCOPE": "isolated"}).isolated
    assert read_settings({"AGENTMEMORY_SECRET": " ", "TOKEN_BUDGET": "0"}) == Settings()


def test_others_are_let_in_with_a_secret_only() -> None:
    with pytest.raises(ServerOpenError):
        read_settings({}, host="0.0.0.0")
    assert read_settings({"AGENTMEMORY_SECRET": "s"}, host="0.0.0.0").secret == "s"
