"""What counts as a success in a log: words, zeros and ones, HTTP statuses, and columns that say what went wrong."""

from __future__ import annotations

import re

FAILURE, SUCCESS, BLANK, DASH, FRACTION, UNKNOWN = range(6)
"""What the outcome of an attempt may be. A blank one was not tried; a dash is what web servers write of an attempt that
has no status, as when nobody waited for its answer; a fraction is a score rather than an outcome."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SUCCESS = _words(
    "1 true t yes y ok okay success successful succeeded succeed pass passed complete completed approved accepted "
    "authorized authorised captured settled delivered sent done finished served answered hit won win good valid paid "
    "fulfilled resolved up found healthy"
)
_FAILURE = _words(
    "0 false f no n fail failed failing failure unsuccessful error errored err exception timeout timedout declined "
    "rejected refused denied unavailable overloaded ratelimited ratelimit throttled unauthorized unauthorised "
    "expired invalid bad miss missed lost down crashed crash unreachable notfound noanswer nohit softdecline "
    "harddecline bounced undelivered undeliverable dropped badgateway connectionreset connectionrefused "
    "internalservererror serviceunavailable gatewaytimeout toomanyrequests insufficientfunds incomplete unhealthy "
    "notok forbidden"
)
_BLANK = _words("null none nan na nil undefined skipped notattempted nottried untried notused unused notrun notreached")
_NO_ERROR = ("", "0", "0.0", "-", "false", "no", "none", "null", "nan", "nil", "n/a", "na", "ok", "success", "[]", "{}")

_STATUSES = re.compile(r"\d{3}(?:\s*[,:]\s*(?:\d{3}|-))+")
_STATUS = re.compile(r"(?:https?[ /_-]*(?:\d(?:\.\d)?\s+)?)?(\d{3})(?:\D.*)?")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_NO_PUNCTUATION = re.compile(r"[\W_]+")
_ENDS_LIKE_A_FAILURE = ("error", "exception", "timeout", "timedout", "failure", "failed")

_CAMEL = re.compile("([a-z0-9])([A-Z])")
_BETWEEN_WORDS = re.compile(r"[\W\d_]+")
_BEGINS_LIKE_ERRORS = ("error", "exception", "failure", "failed")
_ENDS_LIKE_ERRORS = (*_BEGINS_LIKE_ERRORS, "errors", "exceptions", "failures")

_WRONG = _words(
    "error errors err errs errno exception exceptions fail fails failed failing failure failures fault faults faulty "
    "decline declined declines reject rejected rejects rejection rejections refused refusal denied denial crash "
    "crashed timeout timeouts timedout unsuccessful incomplete unavailable unreachable bounced dropped aborted"
)
_RIGHT = _words("ok okay success successful succeeded valid approved accepted passed worked complete completed healthy")
_NOT = _words("no not non without free")
_TURNED_ROUND = re.compile(rf"(?:is|was)?(?:no|not|non)({'|'.join(sorted(_WRONG | _RIGHT))})")
_OTHER_NAMES_OF_ERRORS = ("exitcode", "returncode", "exitstatus", "timedout")


def means_an_error(column: str) -> bool:
    """Does a column of this name say what went wrong, so that nothing in it, or a zero, is a success?

    It goes by the words in the name, also where nothing is between them. Of one inside of another, as in a JSON object,
    the last part of the name says it.

    >>> [means_an_error(name) for name in ("Error_Message", "exit code", "numErrors", "not_ok", "haserror")]
    [True, True, True, True, True]
    >>> [means_an_error(name) for name in ("status", "error_free", "not_failed", "noerror")]
    [False, False, False, False]
    >>> means_an_error("result.error"), means_an_error("error.ok")
    (True, False)
    """
    column = column.rpartition(".")[2] or column
    letters = _NO_PUNCTUATION.sub("", column.lower())
    if letters.endswith(_OTHER_NAMES_OF_ERRORS):
        return True
    turned = _TURNED_ROUND.fullmatch(letters)
    if turned:
        return turned[1] in _RIGHT
    words = _BETWEEN_WORDS.split(_CAMEL.sub(r"\1 \2", column).lower())
    is_turned = not _NOT.isdisjoint(words)
    if not _WRONG.isdisjoint(words) or letters.startswith(_BEGINS_LIKE_ERRORS) or letters.endswith(_ENDS_LIKE_ERRORS):
        return not is_turned
    return is_turned and not _RIGHT.isdisjoint(words)


def is_no_error(text: str | None) -> bool:
    """Is there nothing in a column of errors?"""
    return text is None or text.strip().lower() in _NO_ERROR


def outcome_of(text: str | None) -> int:
    """What a word, a number or an HTTP status says; case and punctuation do not matter.

    Statuses from 200 to 399 are successes, all others failures, and so are 0 and -1, which stand for no answer.

    >>> [outcome_of(text) for text in ("OK", "1.0", "204", "HTTP 200")]
    [1, 1, 1, 1]
    >>> [outcome_of(text) for text in ("timed out", "0", "-1", "503 Service Unavailable", "ReadTimeoutError")]
    [0, 0, 0, 0, 0]
    >>> outcome_of(None), outcome_of("-"), outcome_of("0.37"), outcome_of("maybe")
    (2, 3, 4, 5)
    """
    word = "" if text is None else text.strip().lower()
    if _NUMBER.fullmatch(word):
        return _outcome_of_number(float(word))
    status = _STATUS.fullmatch(word)
    if status:  # several are of several attempts, so of none
        return UNKNOWN if _STATUSES.fullmatch(word) else _outcome_of_number(float(status[1]))
    return DASH if word == "-" else _outcome_of_word(word)


def _outcome_of_word(word: str) -> int:
    letters = _NO_PUNCTUATION.sub("", word)
    if not letters or letters in _BLANK:
        return BLANK
    if letters in _SUCCESS:
        return SUCCESS
    if letters in _FAILURE or letters.endswith(_ENDS_LIKE_A_FAILURE):
        return FAILURE
    return UNKNOWN


def _outcome_of_number(number: float) -> int:
    if not number.is_integer():
        return FRACTION
    if number == 1 or 200 <= number < 400:
        return SUCCESS
    if number in (0, -1) or 100 <= number < 600:
        return FAILURE
    return UNKNOWN
