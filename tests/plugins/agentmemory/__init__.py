import pytest

pytest.register_assert_rewrite("tests.plugins.agentmemory.checks")
