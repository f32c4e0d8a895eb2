"""Whatever is sent to any address, by a stranger, a worker or a requester: it is answered, and nothing breaks."""

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402 - after the skip
from schemathesis.checks import not_a_server_error  # noqa: E402

FEW = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def operations(app):
    """Every address that the app describes, with every method."""
    app.openapi_url = "/openapi.json"
    app.setup()
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    return [found.ok() for found in schema.get_all_operations()]


@pytest.fixture
def insider(study, worker):
    """A browser that is a worker with a task and a requester at once, and the token for each family of pages."""
    task = worker.take("write").split("/")[2]
    tokens = {"worker": worker.token}
    worker.set_up(study)
    worker.get("/requester")
    tokens["requester"] = worker.token
    worker.client.cookies.delete("winokit-visitor")
    worker.get("/nothing")
    raw = worker.client.cookies["winokit-visitor"]
    tokens["visitor"] = worker.client.app.state.cookies.form_token("visitor", raw)
    return worker, task, tokens


def family(path):
    if path.startswith(("/requester", "/logout")):
        return "requester"
    return "worker" if path.startswith(("/begin", "/task", "/consent", "/screening", "/quiz", "/finish")) else "visitor"


def test_nothing_that_is_sent_breaks_anything(operations, insider):
    worker, task, tokens = insider
    assert len(operations) > 40
    statuses = set()

    def send(case):
        if "/task/" in case.path and case.path_parameters:
            case.path_parameters["token"] = task
        # Logging out would make the rest of the requests a stranger's.
        cookies = {} if case.path in ("/logout", "/sign-out") else dict(worker.client.cookies)
        token = {"X-CSRF-Token": tokens[family(case.path)]}
        response = case.call(headers=token, cookies=cookies, allow_redirects=False)
        statuses.add(response.status_code)
        case.validate_response(response, checks=[not_a_server_error])
        assert response.headers["x-content-type-options"] == ["nosniff"]

    for operation in operations:
        FEW(given(case=operation.as_strategy())(send))()
    assert {200, 303, 403, 404, 422} <= statuses
