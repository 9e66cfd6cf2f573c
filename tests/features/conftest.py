"""Small matrices: BLAS threads would only wait for each other on a busy machine."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    with threadpool_limits(limits=1, user_api="blas"):
        yield
