"""A Dockerfile as steps: the grammar, what is resolved, and what is refused with its place."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from scripts.dockerfile import Copy, DockerfileError, Folder, Run, instructions, plan
from tests.conftest import ROOT

BASE = {"PATH": "/bin"}
OURS = (ROOT / "Dockerfile").read_text()


def steps(text: str, **build_args: str) -> list[Run | Copy | Folder]:
    """The steps of the last stage."""
    return [step for _, _, step in plan(text, build_args, BASE)[-1].steps]


def test_lines_are_joined_and_comments_left_out() -> None:
    text = "# first\nfrom a\nRUN one \\\n  # between\n\n  && two\\\n&& three\n"
    first, second = instructions(text)
    assert (first.name, first.text, first.line) == ("FROM", "a", 2)
    assert (second.text, second.line) == ("one   && two&& three", 3)


def test_a_here_document_belongs_to_its_command() -> None:
    text = (
        "FROM a\nRUN cat > b <<'END' && cat <<-OTHER\n# kept $A\\\n\nFROM x\nEND\n\ttab\n\tOTHER\n"
        "RUN cat <<<word\n"
    )
    [first, second] = steps(text)
    assert isinstance(first, Run)
    assert first.command[2].endswith("OTHER\n# kept $A\\\n\nFROM x\nEND\n\ttab\n\tOTHER\n")
    assert isinstance(second, Run)
    assert second.command == ("/bin/sh", "-c", "cat <<<word")
    shell = shutil.which("sh")
    assert shell
    joined = first.command[2].replace("cat > b", "cat")
    ran = subprocess.run([shell, "-c", joined], capture_output=True, text=True, check=True)
    assert ran.stdout == "# kept $A\\\n\nFROM x\ntab\n"


def test_variables_are_those_of_the_stage() -> None:
    text = """
ARG TAG=1
FROM a:$TAG AS first
ARG TAG
ARG ONE=${TAG}x
ENV TWO="$ONE y" PATH=/opt:$PATH
ENV THREE=${TWO} FOUR=${NONE:-four}
RUN run
FROM first
RUN run
FROM b
ARG ONE
RUN run
"""
    stages = plan(text, {"TAG": "2"}, BASE)
    assert [stage.base for stage in stages] == ["a:2", 0, "b"]
    own = {"TWO": "2x y", "PATH": "/opt:/bin", "THREE": "2x y", "FOUR": "four"}
    environments = [s.environment for stage in stages for _, _, s in stage.steps if type(s) is Run]
    assert environments == [{"TAG": "2", "ONE": "2x", **own}, own, {"ONE": "", **BASE}]


def test_what_env_sets_no_argument_changes() -> None:
    [run] = steps("FROM a\nENV A=env\nARG A=arg\nRUN run\n", A="given")
    assert isinstance(run, Run)
    assert run.environment["A"] == "env"


def test_folders_users_and_copies() -> None:
    text = """
FROM a AS build
FROM b
WORKDIR /src
USER 7:8
WORKDIR below
COPY --from=build /x y ./
COPY --from=0 /x /z
COPY one two/
RUN ["run", "$A"]
"""
    environment = {"PATH": "/bin"}
    assert steps(text) == [
        Folder("/src", "root"),
        Folder("/src/below", "7:8"),
        Copy(("/x", "y"), "/src/below/", 0),
        Copy(("/x",), "/z", 0),
        Copy(("one",), "/src/below/two/"),
        Run(("run", "$A"), environment, "/src/below", "7:8"),
    ]


def test_ours() -> None:
    build, image = plan(OURS, {"EXTRAS": "telemetry"}, BASE)
    assert (build.base, image.base) == ("python:3.11-slim", "python:3.11-slim")
    runs = [step for _, _, step in build.steps if isinstance(step, Run)]
    assert all(run.environment["EXTRAS"] == "telemetry" for run in runs)
    assert any("os.environ" in run.command[2] and "\nPYTHON\n" in run.command[2] for run in runs)
    facts = image.image
    assert (facts.user, facts.folder, facts.volumes) == (
        ("umbel", "/var/lib/umbel", ("/var/lib/umbel",))
    )
    assert facts.command[:2] == ("umbel", "api")
    assert facts.health[:2] == ("python", "-c")
    assert facts.environment["PATH"] == "/opt/umbel/bin:/bin"
    written = sum(name in ("RUN", "COPY", "WORKDIR") for name in names(OURS))
    assert len(build.steps) + len(image.steps) == written


def test_ours_ends_a_failed_step_with_its_failure() -> None:
    for stage in plan(OURS, {}, BASE):
        for _, text, step in stage.steps:
            assert not isinstance(step, Run) or "|| true" not in text


def names(text: str) -> list[str]:
    return [instruction.name for instruction in instructions(text)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no FROM"),
        ("RUN a", "line 1, RUN: before the first FROM"),
        ("FROM a\nSHELL [\"b\"]", "line 2, SHELL: not an instruction that is built here"),
        ("FROM a\n\nADD b c", "line 3, ADD: not an instruction"),
        ("FROM --platform=x a", "line 1, FROM: not a flag that is built here: --platform"),
        ("FROM a\nRUN --mount=type=cache b", "line 2, RUN: not a flag that is built here: --mount"),
        ("FROM a\nCOPY --chown=1 b c", "not a flag that is built here: --chown"),
        ("FROM a\nCOPY --from=b c d", "line 2, COPY: no earlier stage is named b"),
        ("FROM a AS b\nCOPY --from=b c d", "no earlier stage is named b"),
        ("FROM a\nCOPY <<EOF b\nEOF", "without here-documents"),
        ("FROM a\nRUN <<EOF\nb\nEOF", "a here-document alone"),
        ("FROM a\nRUN cat <<EOF\nb", "line 2: the here-document EOF has no end"),
        ("FROM a\nRUN b \\\n# end", "line 2: the instruction has no end"),
        ("FROM a\nENV B=${C#x}", "line 2, ENV: not a form of variable"),
        ("FROM a\nENV B='$C'", "line 2, ENV: a variable beside single quotes"),
        ("FROM a\nENV B c", "line 2, ENV: expected NAME=VALUE"),
        ("FROM a\nENV B=\"c", "line 2, ENV: No closing quotation"),
        ("FROM a\nCMD [\"b\", 1]", "line 2, CMD: expected a JSON array of strings"),
        ("FROM a\nHEALTHCHECK NONE", "line 2, HEALTHCHECK: expected CMD"),
        ("FROM a\nUSER b c", "line 2, USER: expected 1 words, got 2"),
        ("FROM a b c", "line 1, FROM: expected IMAGE or IMAGE AS NAME"),
        ("# escape=`\nFROM a", "line 1: the directive `escape`"),
    ],
)  # fmt: skip
def test_what_is_not_built_is_refused_by_its_place(text: str, problem: str) -> None:
    with pytest.raises(DockerfileError) as refused:
        plan(text, {}, BASE)
    assert problem in str(refused.value)


def test_a_build_argument_that_nobody_takes_is_refused() -> None:
    with pytest.raises(DockerfileError, match="no ARG names: TORCH_INDX"):
        plan(OURS, {"TORCH_INDX": "x"}, BASE)
