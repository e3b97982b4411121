"""Tests of memory; the contract is shared by the stores, so its assertions are explained too."""

import pytest

pytest.register_assert_rewrite("tests.memory.contract")
