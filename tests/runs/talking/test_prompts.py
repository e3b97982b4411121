"""Where prompts come from."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import ExitCode, PromptLineError, PromptMissingError
from dshloop.runs.talking.prompts import prompts


def stdin(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="ascii")


def test_text_is_one_prompt() -> None:
    assert list(prompts(None, stdin(b"one\ntwo\n"), "text")) == ["one\ntwo"]
    assert list(prompts("say", None, "text")) == ["say"]


def test_an_argument_stands_before_piped_text() -> None:
    assert list(prompts("explain", stdin(b"x = 1\n"), "text")) == ["explain\n\nx = 1"]
    assert list(prompts("explain", stdin(b" \n"), "text")) == ["explain"]


def test_each_line_is_a_turn() -> None:
    assert list(prompts(None, stdin(b"one\r\n\n  \ntwo"), "lines")) == ["one", "two"]
    assert list(prompts("zero", stdin(b"one\n"), "lines")) == ["zero", "one"]


def test_lines_end_at_lf_only() -> None:
    text = "a\u2028b\x85c\rd"
    assert list(prompts(None, stdin(text.encode() + b"\nz"), "lines")) == [text, "z"]


def test_jsonl_takes_strings_and_objects() -> None:
    data = b'"a\\nb"\n\n{"prompt": "c", "more": 1}\n'
    assert list(prompts(None, stdin(data), "jsonl")) == ["a\nb", "c"]


@given(st.lists(st.text().filter(str.strip), min_size=1))
def test_jsonl_comes_through_as_it_is(texts: list[str]) -> None:
    data = "\n".join(json.dumps(text) for text in texts).encode()
    assert list(prompts(None, stdin(data), "jsonl")) == texts


def test_a_byte_order_mark_is_no_part_of_the_prompt() -> None:
    assert list(prompts(None, stdin("\ufeff你好".encode()), "text")) == ["你好"]


@pytest.mark.parametrize("kind", ["text", "lines", "jsonl"])
@pytest.mark.parametrize("data", [b"", b"\n", b" \n\t\n"])
def test_nothing_to_say_is_a_usage_error_at_once(kind: str, data: bytes) -> None:
    with pytest.raises(PromptMissingError) as caught:
        prompts(None, stdin(data), kind)  # type: ignore[arg-type]
    assert caught.value.exit_code == ExitCode.USAGE
    for argument in ("", " \n"):
        with pytest.raises(PromptMissingError):
            prompts(argument, None, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [b"{oops", b"5", b"null", b'{"text": "x"}', b'" "', b'"\xff"', b'["a"]', b'"a" "b"']
)
def test_a_bad_line_is_named_when_its_turn_comes(bad: bytes) -> None:
    turns = prompts(None, stdin(b'"fine"\n' + bad + b'\n"after"\n'), "jsonl")
    assert next(turns) == "fine"
    with pytest.raises(PromptLineError, match="line 2 of standard input") as caught:
        next(turns)
    assert caught.value.details["line"] == 2
    assert caught.value.exit_code == ExitCode.FAILED


def test_lines_are_read_as_they_are_needed() -> None:
    source = stdin(b"one\ntwo\nthree\n")
    turns = prompts(None, source, "lines")
    assert [next(turns), next(turns)] == ["one", "two"]
    assert source.buffer.readline() == b"three\n"
