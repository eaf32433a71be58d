"""Study files: what they mean, and messages that name the key and the remedy."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.study import load_study, read_study
from tests.support.small_study import small_study

INSTANCE = '[[instances]]\nscenario = "one-sparse"\narms = 5\n'
POLICY = '[[policies]]\npolicy = "linked-elimination"\n'


def test_a_grid_is_every_instance_with_every_policy_linkage_and_delta():
    study = small_study()
    cells = {(cell.instance.name, cell.label, cell.linkage, cell.delta) for cell in study.cells}
    instances = ["one-sparse, 2 arms", "a hundred", "mirrors", "together, correlation 0.5"]
    assert cells == {
        *((name, "linked-elimination", "ordered", delta) for name in instances for delta in (0.2, 0.05)),
        *((name, "fifty each", linkage, None) for name in instances for linkage in ("ordered", "single")),
    }
    assert {cell.trials for cell in study.cells} == {300}
    assert study.seed == 5


def test_a_study_may_be_of_any_linkage():
    names = ", ".join(f'"{name}"' for name in LINKAGES)
    study = read_study(f"linkages = [{names}]\n" + INSTANCE + POLICY)
    assert [cell.linkage for cell in study.cells] == list(LINKAGES)


def test_a_policy_can_be_told_the_true_gap_of_each_instance():
    study = read_study(
        '[[instances]]\nmeans = [0.1, 0.4]\n[[instances]]\nname = "tied"\nmeans = [0.4, 0.4]\n'
        '[[policies]]\npolicy = "linked-ege"\nparameters = { gap = "true" }\n'
    )
    assert [cell.policy.gap for cell in study.cells] == [pytest.approx(0.3), None]


def test_its_own_delta_keeps_a_policy_out_of_the_deltas():
    study = read_study("deltas = [0.1, 0.2]\n" + INSTANCE + POLICY + "parameters = { delta = 0.01 }\n")
    assert [cell.delta for cell in study.cells] == [0.01]


REFUSED = [
    ("trials = 0\n" + INSTANCE + POLICY, r"trials = 0 is no whole number of at least 1"),
    ('trials = "many"\n' + INSTANCE + POLICY, r"trials = 'many' is no whole number"),
    ("trails = 10\n" + INSTANCE + POLICY, r"trails is no key of a study; did you mean 'trials'"),
    (INSTANCE + POLICY.replace("policies", "polices"), r"polices is no key of a study; did you mean 'policies'\?"),
    (INSTANCE.replace("instances", "instance") + POLICY, r"instance is no key of a study; did you mean 'instances'\?"),
    (
        "[[instances]]\nmean = [0.1, 0.5]\n" + POLICY,
        r"instances\[1\]\.mean is no key of a study; did you mean 'means'\?",
    ),
    (INSTANCE + '[[policies]]\npolcy = "linked-ege"\n', r"policies\[1\]\.polcy is no key .*; did you mean 'policy'\?"),
    (
        INSTANCE + '[[policies]]\npolicy = "linked-eg"\n',
        r"policies\[1\]\.policy: unknown policy 'linked-eg'; did you mean 'linked-ege'\? If not, choose one of linked-",
    ),
    ("deltas = []\n" + INSTANCE + POLICY, r"deltas = \[\] is empty; give numbers"),
    ("deltas = [2]\n" + INSTANCE + POLICY, r"deltas: delta=2\.0 is not between 0 and 1"),
    ("deltas = [0.1, 0.1]\n" + INSTANCE + POLICY, r"deltas = 0\.1 is in the list twice"),
    ('linkages = ["free", "free"]\n' + INSTANCE + POLICY, r"linkages = 'free' is in the list twice"),
    ("max_plays = 100000000000000000000\n" + INSTANCE + POLICY, r"max_plays: max_plays=10+ is too large"),
    (INSTANCE + POLICY + "parameters = { k = 7 }\n", r"policies\[1\]\.parameters: .*7"),
    (INSTANCE + POLICY + "parameters = { delta = [0.1] }\n", r"policies\[1\]\.parameters: delta is one number here"),
    ('linkages = ["loose"]\n' + INSTANCE + POLICY, r"policies\[1\]\.linkages: unknown linkage 'loose'"),
    (INSTANCE, r"policies is missing; add at least one \[\[policies\]\]"),
    (POLICY, r"instances is missing; add at least one \[\[instances\]\]"),
    ("instances = 3\n" + POLICY, r"instances = 3 is no list of tables"),
    ('[[instances]]\nscenario = "sparse"\narms = 3\n' + POLICY, r"instances\[1\]\.scenario: unknown scenario 'sparse'"),
    ("[[instances]]\nmeans = [0.1, 1.5]\n" + POLICY, r"instances\[1\]\.means: .*1\.5"),
    (INSTANCE + '[[policies]]\npolicy = "best"\n', r"policies\[1\]\.policy: unknown policy 'best'"),
    (INSTANCE + POLICY + "parameters = { delt = 0.1 }\n", r"policies\[1\]\.parameters: .*no parameter 'delt'"),
    (INSTANCE + POLICY + "parameters = 3\n", r"policies\[1\]\.parameters = 3 is no table"),
    (
        'linkages = ["single"]\n' + INSTANCE + '[[policies]]\npolicy = "suffix-ucb"\n',
        r"policies\[1\]\.linkages: suffix-ucb cannot be played under 'single'; .*: 'ordered', 'free' or 'suffix'",
    ),
    (INSTANCE + POLICY + POLICY, r"'linked-elimination' on 'one-sparse, 5 arms' .* is there 2 times"),
    (INSTANCE + INSTANCE.replace("5", "6") + POLICY + "label = 3\n", r"policies\[1\]\.label = 3 is no text"),
    ("trials = = 3", r"not TOML: .*line 1"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[said[:40] for _, said in REFUSED])
def test_what_is_wrong_is_named_by_its_key(text, said):
    with pytest.raises(lb.InvalidStudy, match=said):
        read_study(text)


def test_a_policy_that_is_told_the_gap_is_called_so():
    ege = '[[policies]]\npolicy = "linked-ege"\n'
    study = read_study(INSTANCE + ege + ege + 'parameters = { gap = "true" }\n')
    assert [cell.label for cell in study.cells] == ["linked-ege", "linked-ege (told the gap)"]


def test_a_byte_order_mark_does_not_matter(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(INSTANCE + POLICY, encoding="utf-8-sig")
    assert len(load_study(path).cells) == 1


def test_a_message_begins_with_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("trials = 0\n" + INSTANCE + POLICY, encoding="utf-8")
    with pytest.raises(lb.InvalidStudy, match=r"mine\.toml: trials = 0"):
        load_study(path)
    with pytest.raises(lb.InvalidStudy, match="cannot be read"):
        load_study(tmp_path / "absent.toml")


def test_a_table_is_found_from_the_folder_of_its_study(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "table.csv").write_text("a,b\n1,0\n1,1\n", encoding="utf-8")
    study = tmp_path / "sub" / "mine.toml"
    study.write_text('[[instances]]\ntable = "table.csv"\n' + POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (cell,) = load_study(study).cells
    assert cell.instance.means.tolist() == [1.0, 0.5]
    (tmp_path / "sub" / "table.csv").write_text("a,b\n1,0\n1,1\n1,0\n1,1\n", encoding="utf-8")
    assert load_study(study).cells[0].key != cell.key


def test_a_policy_for_one_run_may_be_under_single_where_a_play_tries_one_arm():
    text = """
        linkages = ["single", "ordered"]
        [[instances]]
        means = [0.2, 0.6]
        [[policies]]
        policy = "tests.support.plain_policies:OneArm"
    """
    assert [cell.linkage for cell in read_study(text).cells] == ["single", "ordered"]
    with pytest.raises(lb.InvalidStudy, match="cannot be played under 'suffix'"):
        read_study(text.replace('"single"', '"suffix"'))
