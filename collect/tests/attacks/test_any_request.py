"""No request that schemathesis makes from the app's own description breaks it, on either database."""

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")

from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error

from winokit_collect.web.app import create_app

FEW = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def study(either_study):
    return either_study


@pytest.fixture
def app(study):
    return create_app(study)


@pytest.fixture
def insider(worker, requester):
    """A worker with a task who is a requester too."""
    worker.client.cookies.set("winokit-requester", requester.client.cookies["winokit-requester"])
    return worker


def test_no_request_breaks_the_app(app, insider):
    task_token = insider.take("write").removeprefix("/task/")
    insider.get("/nothing")
    schema = schemathesis.openapi.from_dict(app.openapi())
    schema.app = app
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) > 40
    statuses = set()

    def send_request(case):
        if "/task/" in case.path and case.path_parameters:
            case.path_parameters["token"] = task_token
        if case.method == "POST":
            fields = case.body if isinstance(case.body, dict) else {}
            case.body = {**fields, "csrf": insider.token_for(case.path)}
        # Leaving would make the rest of the requests a stranger's.
        is_leaving = case.path in ("/logout", "/sign-out")
        cookies = {} if is_leaving else dict(insider.client.cookies)
        response = case.call(cookies=cookies, allow_redirects=False)
        statuses.add(response.status_code)
        case.validate_response(response, checks=[not_a_server_error])
        assert response.headers["content-security-policy"], case.path

    for operation in operations:
        FEW(given(case=operation.as_strategy())(send_request))()
    assert {200, 303, 403, 404, 422} <= statuses
    assert insider.does_a_days_work(1)
