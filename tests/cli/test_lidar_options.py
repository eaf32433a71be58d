"""The options of lidar: in groups, said briefly, and all of them known to whoever refuses or translates them."""

from __future__ import annotations

import typer

from linkedbandits.cli import application, lidar_errors, lidar_photons

COMMAND = typer.main.get_command(application("lidar")).commands["lidar"]
OPTIONS = [param for param in COMMAND.params if param.name != "help"]
WRITTEN = {name for param in OPTIONS for name in param.opts}


def test_every_option_is_in_a_group_and_says_what_it_is_in_two_lines():
    for param in OPTIONS:
        assert param.rich_help_panel, param.name
        if param.name not in {"method", "photons"}:  # which have many names to list
            assert len(param.help) <= 85, param.name


def test_options_of_one_group_stand_together():
    groups = [param.rich_help_panel for param in OPTIONS]
    assert len([group for group, before in zip(groups, [None, *groups], strict=False) if group != before]) == 8


def test_every_value_has_a_word_for_what_it_is():
    assert {param.metavar for param in OPTIONS if not param.is_flag} >= {"FILE", "NS", "PS", "BINS", "TIME", "R,C"}
    assert all(param.metavar for param in OPTIONS if not param.is_flag)


def test_what_goes_with_photons_is_named_as_the_options_are():
    names = {param.name for param in OPTIONS} | {"context"}
    assert names >= lidar_photons.OF_BOTH | lidar_photons.OF_PHOTONS
    assert not lidar_photons.OF_BOTH & lidar_photons.OF_PHOTONS


def test_errors_name_options_that_there_are():
    for name in (*lidar_errors.SAME, *lidar_errors.OPTIONS, *lidar_errors.SCALED):
        option = lidar_errors.in_options(f"{name}=1 is wrong").split()[0]
        assert option in WRITTEN, name
