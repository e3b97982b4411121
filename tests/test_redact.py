"""Secrets in text."""

from __future__ import annotations

import pytest

from dshloop.redact import MARK, redact, redact_text

SECRETS = [
    "sk-ant-" + "a" * 25,
    "ghp_" + "a" * 36,
    "gho_" + "a" * 36,
    "github_pat_" + "a" * 22,
    "glpat-" + "a" * 20,
    "npm_" + "a" * 36,
    "xoxp-1-2-3-abcdef",
    "AKIA" + "A" * 16,
    "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 12,
]


@pytest.mark.parametrize("secret", SECRETS)
def test_known_shapes_go_and_their_surroundings_stay(secret: str) -> None:
    assert redact_text(f"a {secret} b") == f"a {MARK} b"
    assert redact_text(secret) == MARK


def test_names_with_values_go() -> None:
    value = "ABCDEFGHIJKLMNOPQRSTUVWX"
    for text in (
        f"api_key={value}",
        f"token: {value}",
        f'"MY_SECRET": "{value}',
        f"password={value}",
    ):
        assert value not in redact_text(f"see {text}")
        assert redact_text(f"see {text}").startswith("see ")


@pytest.mark.parametrize(
    "text",
    [
        "password=short",
        "token: shorty",
        "see task-management-for-beginners now",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "git@github.com:owner/repository.git",
        "https://example.org/path?x=1",
        "the token is a word",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_a_password_in_a_url_goes_and_the_address_stays() -> None:
    assert redact_text("postgres://u:hunter2@h/db") == f"postgres://u:{MARK}@h/db"


def test_private_keys_go_even_when_cut() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    assert redact_text(f"x {block} y") == f"x {MARK} y"
    assert redact_text("x -----BEGIN PRIVATE KEY-----\nabc") == f"x {MARK}"


def test_values_under_telling_keys_go_whole_and_are_counted() -> None:
    done = redact({"api_key": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "n": [1, SECRETS[0]], "key": "k" * 30})
    assert done.value == {"api_key": MARK, "n": [1, MARK], "key": "k" * 30}
    assert done.found == 2


@pytest.mark.parametrize(
    "text",
    ["a" * 500_000, "a:" * 250_000, "token" * 100_000, "://" * 150_000, "-----BEGIN " * 40_000],
)
def test_long_texts_without_a_secret_come_back_whole(text: str) -> None:
    assert redact(text) == (text, 0)
