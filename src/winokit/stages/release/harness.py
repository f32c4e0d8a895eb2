"""A release as a task of lm-evaluation-harness and of Inspect, each with a group score.

The harness reads texts as they were put together here, so that possessives and capitals are those of `winokit score`:
`lm_eval/dev.jsonl`, and `lm_eval/train.jsonl` to draw solved examples from. Both tasks find their files from where they
stand themselves: a release works wherever it is moved.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from winokit.data.formats.base import json_rows
from winokit.methods.transforms.substitute import substitute
from winokit.problem import Problem
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.manifest import DEBIASED, DEV
from winokit.stages.release.settings import SCORING, ReleaseSettings

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_SHOTS = 200
"""Problems to draw solved examples from; nobody puts more into a prompt."""


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("winokit.stages.release"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, YAML and Python; what goes in is quoted where it must be
    )
    # JSON's double quotes, which YAML and Python read too.
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment


def rendered(template: str, **content: Any) -> bytes:
    """A template of a release, its card or one of its tasks, filled in."""
    return _environment().get_template(template).render(**content).encode()


def task_name(settings: ReleaseSettings) -> str:
    """What both tasks are called: the release's name as files, tasks and Python modules can bear it.

    >>> task_name(ReleaseSettings(name="Wino-2.1"))
    'wino_2_1'
    """
    return re.sub(r"[^a-z0-9]+", "_", (settings.name or "").casefold()).strip("_")


def task_files(contents: ReleaseContents, settings: ReleaseSettings) -> dict[str, bytes]:
    """The files of both tasks, by path inside the release."""
    name = task_name(settings)
    pool = next(iter(contents.sizes.values()), contents.files[DEBIASED])
    return {
        f"lm_eval/{name}.yaml": rendered(
            "lm_eval_task.yaml.j2", name=name, settings=settings, scoring=SCORING, title=settings.name
        ),
        "lm_eval/utils.py": rendered("lm_eval_utils.py.j2", title=settings.name),
        "lm_eval/dev.jsonl": json_rows(harness_rows(contents.files[DEV])).encode(),
        "lm_eval/train.jsonl": json_rows(harness_rows(pool[:MOST_SHOTS])).encode(),
        f"inspect/{name}.py": rendered("inspect_task.py.j2", name=name, settings=settings),
    }


def harness_rows(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems as the harness's documents; those that partial scoring cannot score are left out."""
    sizes = Counter(problem.group for problem in problems)
    return [_document(problem, sizes[problem.group]) for problem in problems if problem.after.strip()]


def _document(problem: Problem, size: int) -> dict[str, Any]:
    filled = [substitute(problem, candidate) for candidate in problem.candidates]
    answer = problem.answer or 0
    return {
        "id": problem.id,
        "group": problem.group or "",
        "group_size": size if problem.group is not None else 1,
        "sentence": problem.text,
        "option1": problem.candidates[0],
        "option2": problem.candidates[1],
        "answer": str(answer + 1),
        "pronoun": problem.pronoun or "",
        "contexts": [part.before + part.candidate for part in filled],
        "continuation": filled[0].after,
    }
