"""Commands of documents are run, and what they print is put in."""

from __future__ import annotations

import pytest

from tools.shown import Shell, as_it_is, commands

DOCUMENT = """# Title

```console
$ python make.py
old
lines
$ head -n 1 made.txt
```
Text with $ a dollar.

```sh
$ not run
```

```console
$ echo $?
```
"""


def test_what_is_printed_takes_the_place_of_what_was_shown(tmp_path):
    (tmp_path / "make.py").write_text(
        "import sys; open('made.txt', 'w').write('first  \\nsecond\\n'); sys.exit('said  ')"
    )
    now = as_it_is(DOCUMENT, tmp_path)
    assert now == DOCUMENT.replace("old\nlines\n", "said\n").replace("made.txt\n", "made.txt\nfirst\n").replace(
        "$?\n", "$?\n0\n"
    )
    assert as_it_is(now, tmp_path) == now


def test_the_status_of_the_last_command_is_known(tmp_path):
    shell = Shell(tmp_path)
    assert shell.output("linkedbandits verdict none.csv").startswith("linkedbandits: cannot read none.csv")
    assert shell.output("echo $?") == "2\n"


def test_other_programs_are_not_run(tmp_path):
    with pytest.raises(ValueError, match="rm is no program that documents show"):
        Shell(tmp_path).output("rm -r .")


def test_commands_begin_with_a_dollar():
    assert commands("$ a b\nc\n  $ d\n$ e\n") == ["a b", "e"]
