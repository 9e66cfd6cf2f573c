"""The section of queries, on a few rows."""

from benchmarks.goals import sql


def test_a_query_beside_the_program():
    result = sql.scored("density of ten cells", 21_000)
    assert result.value > 0
    assert result.goal.at_most == 1
    assert result.details["query_bytes"] > 10_000
