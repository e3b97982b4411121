"""Secrets in text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies

from dshloop.redact import MARK, is_telling, redact, redact_text, redact_words

SECRETS = [
    "sk-" + "a" * 20,
    "sk-proj-" + "a1" * 20,
    "pk-" + "Ab3" * 7,
    "rk-" + "Ab3" * 7,
    "ak-" + "Ab3" * 7,
    "sk_live_" + "a" * 24,
    "ghu_" + "a" * 36,
    "ghs_" + "a" * 36,
    "ghr_" + "a" * 36,
    "xoxb-123456789012-abcdef",
    "AIza" + "a" * 35,
    "dop_v1_" + "a" * 64,
    "hf_" + "a" * 34,
    "pypi-" + "a" * 60,
    "sk-ant-" + "a" * 25,
    "ghp_" + "a" * 36,
    "gho_" + "a" * 36,
    "github_pat_" + "a" * 22,
    "glpat-" + "a" * 20,
    "npm_" + "a" * 36,
    "xoxp-1-2-3-abcdef",
    "AKIA" + "A" * 16,
    "glrt-" + "a1B" * 7,
    "https://hooks.slack.com/services/T0000000/B0000000/" + "aB3" * 8,
    "https://discord.com/api/webhooks/1234567890/" + "aB3" * 20,
    "gsk_" + "aB3" * 16,
    "xai-" + "aB3" * 16,
    "nvapi-" + "aB3" * 16,
    "pplx-" + "a1" * 24,
    "r8_" + "aB3" * 12,
    "lsv2_pt_" + "a1" * 16 + "_" + "b2" * 5,
    "dapi" + "a1" * 16,
    "dckr_pat_" + "aB3" * 9,
    "hvs." + "aB3" * 30,
    "tskey-auth-" + "aB3" * 4 + "-" + "aB3" * 10,
    "ATATT3x" + "aB3" * 30,
    "lin_api_" + "aB3" * 13,
    "ntn_" + "aB3" * 15,
    "figd_" + "aB3" * 13,
    "PMAK-" + "a1" * 12 + "-" + "b2" * 17,
    "sntrys_" + "aB3" * 20,
    "sbp_" + "a1" * 20,
    "sb_secret_" + "aB3" * 10,
    "rubygems_" + "a1" * 24,
    "sq0csp-" + "aB3" * 14,
    "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 12,
]


@pytest.mark.parametrize("secret", SECRETS)
def test_known_shapes_go_and_their_surroundings_stay(secret: str) -> None:
    assert redact_text(f"a {secret} b") == f"a {MARK} b"
    assert redact_text(secret) == MARK
    assert redact_text(f"line\\n{secret}\\n") == f"line\\n{MARK}\\n"
    assert redact_text(f'x="{secret}"') == f'x="{MARK}"'
    assert redact_text(f"({secret}), <{secret}>") == f"({MARK}), <{MARK}>"


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
        "sk-learn-based-classifier-pipelines are fine",
        "risk-management-and-other-long-words",
        "token: process.env.GITHUB_TOKEN_OF_THE_BOT",
        "password=$DATABASE_PASSWORD_FROM_VAULT",
        "auth: src/auth/middleware/index.ts",
        "see auth/token/password-reset-instructions.md",
        "author: someone-with-a-very-long-name-indeed",
        "the bearer authentication-required-response came",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "http://localhost:3000/@scope/package",
        "https://user@example.org:8080/path",
        "MAX_TOKENS=4096",
        "OLDPWD=/home/alice/projects/shop2/web",
        "token: src/auth/tokens/refresh_v2.ts:120",
        "auth=https://auth.example.com/realms/v2",
        "token=********************",
        "use --password to be asked, or --token with the name of a variable",
        "signed xoxo-hugs-and-kisses",
        "the BEGIN PRIVATE KEY line",
        "auth: oauth2-authorization-code-flow",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_a_password_in_a_url_goes_and_the_address_stays() -> None:
    assert redact_text("postgres://u:hunter2@h/db") == f"postgres://u:{MARK}@h/db"
    assert redact_text("redis://:hunter2@h") == f"redis://:{MARK}@h"


def test_private_keys_go_even_when_cut() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    assert redact_text(f"x {block} y") == f"x {MARK} y"
    assert redact_text("x -----BEGIN PRIVATE KEY-----\nabc") == f"x {MARK}"
    block = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----"
    assert redact_text(f"x {block} y") == f"x {MARK} y"


def test_a_key_that_is_only_mentioned_takes_nothing_with_it() -> None:
    text = "look for -----BEGIN PRIVATE KEY----- in files, then tell the team about it"
    assert redact_text(text) == f"look for {MARK} in files, then tell the team about it"


def test_bearers_and_other_authorization_go_and_the_scheme_stays() -> None:
    header = "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123"
    assert redact_text(f'curl -H "{header}" x') == f'curl -H "Authorization: Bearer {MARK}" x'
    assert (
        redact_text("authorization: basic dXNlcjpwYXNzd29yZA==") == f"authorization: basic {MARK}"
    )
    assert redact_text("BEARER " + "a" * 30) == f"BEARER {MARK}"


def test_of_a_quoted_value_only_the_value_goes() -> None:
    value = "ABCDEFGHIJKLMNOPQRSTUVWX"
    assert redact_text(f'{{"api_key":"{value}","n":1}}') == f'{{"api_key":"{MARK}","n":1}}'
    assert redact_text(f"clientSecret = '{value}';") == f"clientSecret = '{MARK}';"
    assert redact_text(f'\\"token\\": \\"{value}\\"') == f'\\"token\\": \\"{MARK}\\"'
    assert redact_text('password = "correct horse battery staple"') == f'password = "{MARK}"'


def test_a_bare_value_goes_with_its_name_and_what_follows_stays() -> None:
    text = "api_key=ABCDEFGHIJKLMNOPQRSTUVWX and token: shorty"
    assert redact_text(text) == f"{MARK} and token: shorty"
    assert redact_text("export DB_PASSWORD=hunter2x") == f"export {MARK}"
    assert redact_text("token=" + "aB3" * 1_000 + " end") == f"{MARK} end"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("curl --token aB3dE5fG7hJ9kL1mN3pQ5rS7 url", f"curl {MARK} url"),
        ("psql --password hunter2x -h db", f"psql {MARK} -h db"),
        (
            "jdbc:postgresql://h/db?user=u&password=hunter2x",
            f"jdbc:postgresql://h/db?user=u&{MARK}",
        ),
        ("password: hunter2", MARK),
        ("SECRET_KEY=aB3dE5fG7hJ9kL1mN3pQ5rS7", MARK),
        ("AccountKey=aB3dE5fG7hJ9kL1mN3pQ5rS7+/==", MARK),
        ("数据库密码：hunter2xyz。", f"数据库{MARK}。"),
        ("token=/aB3dE5fG7hJ9kL1mN3pQ5rS7/x", MARK),
    ],
)
def test_passwords_keys_and_options_go_with_their_names(text: str, left: str) -> None:
    assert redact_text(text) == left


def test_an_open_quote_hides_nothing() -> None:
    text = "token: 'tis the season and api_key=ABCDEFGHIJKLMNOPQRSTUVWX"
    assert redact_text(text) == f"token: 'tis the season and {MARK}"


def test_private_blocks_go_when_asked() -> None:
    text = "keep <private>hush\nhush</PRIVATE> this </private><private>open"
    assert redact_text(text) == text
    done = redact(text, private=True)
    assert done.value == "keep [REDACTED] this </private><private>open"
    assert done.kinds == {"private block": 1}


def test_values_under_telling_keys_go_whole_and_are_counted() -> None:
    done = redact({"api_key": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "n": [1, SECRETS[0]], "key": "k" * 30})
    assert done.value == {"api_key": MARK, "n": [1, MARK], "key": "k" * 30}
    assert done.found == 2
    assert redact({"password": "hunter2", "token": "short"}).value == {
        "password": MARK,
        "token": "short",
    }


def test_kinds_are_told_without_showing_them() -> None:
    done = redact({"a": f"{SECRETS[0]} ghp_{'a' * 36}", "b": "postgres://u:p@h, ghp_" + "b" * 36})
    assert done.kinds == {"api key": 1, "github token": 2, "password of a URL": 1}


def test_words_of_a_command() -> None:
    assert redact_words(["x", "--token", "abc", "--secret", "-v"]) == [
        "x",
        "--token",
        MARK,
        "--secret",
        "-v",
    ]
    assert is_telling("apiKey")
    assert not is_telling("monkey")


LONG = [
    "a" * 500_000,
    "a:" * 250_000,
    "token" * 100_000,
    "://" * 150_000,
    "-----BEGIN " * 40_000,
    "token: " * 70_000,
    "token=$x-" * 60_000,
    "token='" * 70_000,
    "sk-" * 150_000,
    "<private>" * 50_000,
    "bearer " * 70_000,
    "a-" * 250_000,
    "authorization: " * 30_000,
    "-----END PRIVATE KEY-----" * 20_000,
]


@pytest.mark.parametrize("text", LONG, ids=[text[:12] for text in LONG])
def test_long_texts_without_a_secret_come_back_whole(text: str) -> None:
    done = redact(text, private=True)
    assert (done.value == text, done.found) == (True, 0)


def test_many_keys_in_a_long_text() -> None:
    assert redact("-----BEGIN PRIVATE KEY-----\nabc " * 20_000).found == 20_000


@given(strategies.text(), strategies.sampled_from(SECRETS), strategies.text())
def test_a_secret_between_blanks_goes_whatever_is_around_it(
    before: str, secret: str, after: str
) -> None:
    assert secret not in redact_text(f"{before} {secret} {after}")


@given(strategies.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text, private=True)
    assert redact(once.value, private=True).value == once.value
