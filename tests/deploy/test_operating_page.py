"""What docs/operating.md shows is run, so that it stays true."""

from __future__ import annotations

import re
from contextlib import closing

import typer

from linkedbandits.cli import application
from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import run
from tests.support.deployed import ROOT
from tests.support.service_parts import create
from tools.waiting import SECONDS

PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def test_the_backup_and_the_drill_of_the_page_work_beside_a_service(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    said = ""
    with closing(open_store("linkedbandits-experiments.sqlite3")) as store, Desk(store) as desk:
        desk.ask(create(desk), 7).result(SECONDS)
        for line in "".join(blocks).splitlines():
            program, *arguments = line.split()
            if program == "rm":
                for name in arguments:
                    (tmp_path / name).unlink()
                continue
            assert program == "linkedbandits"
            done = run(*arguments)
            assert done.returncode == 0, done.stderr
            said += done.stdout
    assert said.count("1 experiments (1 running), 1 journal entries") == 4
    assert "restore" in said
    left = {path.name for path in tmp_path.iterdir() if "-wal" not in path.name and "-shm" not in path.name}
    assert left == {"before.sqlite3", "restored.sqlite3", "linkedbandits-experiments.sqlite3"}


def test_who_looks_at_a_restored_store_sends_nothing_in_earnest():
    (command,) = re.findall(r"`linkedbandits (serve --store drill-restored[^`]*)`", PAGE)
    assert "--no-webhooks" in command.split()


def test_the_commands_options_and_files_of_the_page_exist():
    group = typer.main.get_command(application())
    named = set(re.findall(r"(?:^ *|`|/bin/)linkedbandits ((?:token )?[a-z]+)", PAGE, flags=re.MULTILINE))
    for words in named:
        command = group
        for word in words.split():
            command = command.commands[word]
    assert {"backup", "restore", "delete", "prune", "compact", "audit", "token create", "serve"} <= named
    commands = [*group.commands.values(), *group.commands["token"].commands.values()]
    there = {option for command in commands for parameter in command.params for option in parameter.opts}
    there |= {option for command in commands for parameter in command.params for option in parameter.secondary_opts}
    of_others = {"--system", "--group", "--home", "--now"}
    assert set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", PAGE)) - of_others - {"--help"} <= there
    assert all((ROOT / name).is_file() for name in re.findall(r"deploy/[\w-]+\.[a-z]+", PAGE))
