"""What callers may send: the limits of every field, and no field that does not exist."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import LINKAGES
from linkedbandits.service.http.received import (
    AbandonRequest,
    Answer,
    AskRequest,
    NewExperiment,
    NewWebhook,
    TellRequest,
)
from linkedbandits.service.records import NOT_SEEN, check_text
from tests.support.problem_documents import check_problem


def test_the_schema_names_every_linkage(service):
    schemas = service.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["NewExperiment"]["properties"]["linkage"]["anyOf"][0]["enum"] == list(LINKAGES)


def test_a_batch_that_is_too_large(service):
    experiment = service.create()
    response = service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 1001})
    check_problem(response, 422, "urn:linkedbandits:invalid-request")


MODELS = [NewExperiment, AskRequest, TellRequest, AbandonRequest]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_examples_of_the_document_are_taken_and_a_field_that_does_not_exist_is_not(model):
    for example in model.model_json_schema()["examples"]:
        model.model_validate(example)
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            model.model_validate(example | {"wish": 1})


exact = 2**53 - 1
labels = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=200).filter(
        lambda label: re.search(f"[{NOT_SEEN}]", label) is None
    ),
    st.booleans(),
    st.integers(-exact, exact),
    st.floats(-exact, exact),
)


@given(st.lists(labels, min_size=2, max_size=6))
def test_labels_are_taken_as_they_are_by_json_and_by_python(arms):
    """1, 1.0, true and "1" are four labels."""
    new = {"name": "x", "arms": arms}
    for taken in (NewExperiment.model_validate(new), NewExperiment.model_validate_json(json.dumps(new))):
        assert repr(taken.arms) == repr(arms)


@pytest.mark.parametrize(
    "text", ["10\u00a0%", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "a\u2066b", "a\u202eb", "\x85"]
)
def test_what_a_new_experiment_may_be_called_is_one_rule_for_the_schema_and_for_the_store(service, text):
    """Labels of experiments that are there already are another matter: they go on."""
    response = service.http.post(
        "/v1/experiments", json={"name": text, "arms": [text, "b"], "key": f"{text} {id(text)}"}
    )
    try:
        check_text("name", text)
    except InvalidParameter:
        check_problem(response, 422, "urn:linkedbandits:invalid-request")
        assert {tuple(mistake["at"][:2]) for mistake in response.json()["errors"]} == {
            ("body", "name"),
            ("body", "arms"),
            ("body", "key"),
        }
        assert f"U+{ord(text[-2:][0]):04X}" in response.json()["detail"]
        assert "leave it out" in response.json()["detail"]
        assert Answer.model_validate({"play": 0, "hit": text}).hit == text
    else:
        assert (response.status_code, response.json()["name"], response.json()["arms"]) == (201, text, [text, "b"])


@pytest.mark.parametrize(
    "label",
    ["", "x" * 201, "a\nb", "a\x7f", "\x00", exact + 1, -exact - 1, math.inf, math.nan, None, [], {}],
    ids=repr,
)
def test_labels_that_not_everybody_could_keep_or_show_are_refused(label):
    for model, sent in ((NewExperiment, {"name": "x", "arms": ["a", label]}), (Answer, {"play": 0, "hit": label})):
        if model is Answer and label in (None, exact + 1, -exact - 1):
            continue  # no arm was the hit; or one that an experiment of before may have as a fraction
        with pytest.raises(ValidationError):
            model.model_validate(sent)


@pytest.mark.parametrize(
    ("model", "of_size", "least", "most"),
    [
        (AskRequest, lambda size: {"count": size}, 1, 1_000),
        (TellRequest, lambda size: {"answers": [{"play": 0, "hit": None}] * size}, 1, 1_000),
        (AbandonRequest, lambda size: {"plays": list(range(size))}, 1, 1_000),
        (AskRequest, lambda size: {"key": "k" * size}, 1, 200),
        (NewExperiment, lambda size: {"name": "n" * size, "arms": [1, 2]}, 1, 200),
        (NewExperiment, lambda size: {"name": "x", "arms": list(range(size))}, 2, 1_000),
        (NewExperiment, lambda size: {"name": "x", "arms": [1, 2], "lease_seconds": size}, 1, 604_800),
        (NewExperiment, lambda size: {"name": "x", "arms": [1, 2], "max_plays": size}, 1, 2**62),
        (NewExperiment, lambda size: {"name": "x", "arms": [1, 2], "seed": size}, 0, 2**62),
        (Answer, lambda size: {"play": size, "hit": None}, 0, 2**62),
    ],
    ids=["count", "answers", "plays", "key", "name", "arms", "lease", "max_plays", "seed", "play"],
)
def test_what_is_taken_is_as_much_as_the_limit_and_not_one_more(model, of_size, least, most):
    for size in (least, most):
        model.model_validate(of_size(size))
    for size in (least - 1, most + 1):
        with pytest.raises(ValidationError):
            model.model_validate(of_size(size))


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        (AskRequest, {"count": "1"}),
        (AskRequest, {"count": True}),
        (AskRequest, {"count": 1.5}),
        (AskRequest, {"key": 7}),
        (Answer, {"play": "0", "hit": None}),
        (Answer, {"play": 0}),
        (NewExperiment, {"name": 7, "arms": [1, 2]}),
        (NewExperiment, {"name": "x", "arms": [1, 2], "seed": 0.5}),
    ],
    ids=str,
)
def test_nothing_is_taken_for_what_it_only_looks_like(model, sent):
    with pytest.raises(ValidationError):
        model.model_validate(sent)


def test_an_experiment_needs_a_name_and_arms_alone():
    new = NewExperiment(name="x", arms=["a", "b"])
    assert (new.policy.name, new.policy.parameters, new.linkage) == ("linked-elimination", {"delta": 0.05}, None)
    assert (new.seed, new.max_plays, new.parallel, new.lease_seconds) == (0, None, None, 60.0)


def test_no_schema_tells_a_large_number_from_itself_so_neither_is_a_new_label():
    for large in (10**17, 1e17, -(10**17), 1e300):
        with pytest.raises(ValidationError):
            NewExperiment.model_validate({"name": "x", "arms": ["a", large]})
        assert Answer.model_validate({"play": 0, "hit": large}).hit == large  # an experiment may have it already


def test_what_the_schema_says_of_whole_numbers_and_of_lists_holds():
    """7.0 is whole, and what is in a list twice is refused."""
    assert AskRequest.model_validate_json('{"count": 7.0}').count == 7
    assert TellRequest.model_validate_json('{"answers": [{"play": 3.0, "hit": null}]}').answers[0].play == 3
    properties = NewExperiment.model_json_schema()["properties"]
    assert properties["tags"]["uniqueItems"]
    assert properties["arms"]["uniqueItems"]


def test_names_of_parameters_are_in_the_schema():
    parameters = NewExperiment.model_json_schema()["$defs"]["PolicyChoice"]["properties"]["parameters"]
    pattern = parameters["propertyNames"]["pattern"]
    for name in ("delta", "\x15="):
        try:
            NewExperiment.model_validate({"name": "x", "arms": [1, 2], "policy": {"parameters": {name: 1}}})
        except ValidationError:
            assert not re.search(pattern, name)
        else:
            assert re.search(pattern, name)


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://example.org/hook?of=us", True),
        ("http://[2606:4700:4700::1111]:8080/x", True),
        ("https://example.org?a=b", True),
        ("https://user:secret@example.org/", False),
        ("https://example.org/#part", False),
        ("http://K]v5Qc_-dtB0jpei?'Z{SkGE]r", False),
        ("ftp://example.org/", False),
    ],
)
def test_an_address_of_a_webhook_has_a_pattern(url, fits):
    try:
        NewWebhook.model_validate({"url": url})
    except ValidationError:
        assert not fits
    else:
        assert fits
