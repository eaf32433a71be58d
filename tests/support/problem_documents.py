"""Problem documents (RFC 9457), as every refusal of the service has to be one."""

from __future__ import annotations


def check_problem(response, status, problem_type="about:blank"):
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem = response.json()
    assert (problem["status"], problem["type"]) == (status, problem_type)
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == response.request.url.path
    return problem
