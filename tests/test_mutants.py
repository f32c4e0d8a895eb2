"""`python -m tools.mutants`: what is broken, and what counts as noticed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.mutants import TARGETS, drawn_sample, mutants_of

SOURCE = '''
def is_small(count: int = 3, names: tuple[int, ...] = ()) -> bool:
    """Whether 2 is more."""
    if count < 0:
        raise ValueError(f"expected 0 or more, found {count + 1}")
    return count + 1 <= 10 and not names
'''


def changes(source: str) -> list[str]:
    return [mutant.change for mutant in mutants_of(source)]


@pytest.mark.parametrize(
    "change",
    ["count < 0 -> count <= 0", "count + 1 -> count - 1", "10 -> 11", "not names -> names", "3 -> 4"],
)
def test_each_comparison_operator_number_and_condition_is_changed_by_itself(change):
    assert changes(SOURCE).count(change) == 1


def test_types_docstrings_and_messages_stay():
    for mutant in mutants_of(SOURCE):
        text = ast.unparse(mutant.tree)
        assert "raise ValueError(f'expected 0 or more, found {count + 1}')" in text
        assert '"""Whether 2 is more."""' in text
        assert "tuple[int, ...]" in text


def test_no_two_mutants_are_the_same_and_none_is_the_original():
    texts = [ast.unparse(mutant.tree) for mutant in mutants_of(SOURCE)]
    assert len(set(texts)) == len(texts)
    assert ast.unparse(ast.parse(SOURCE)) not in texts


def test_a_sample_is_drawn_by_its_seed_in_the_order_of_lines():
    mutants = list(mutants_of(SOURCE))
    sample = drawn_sample(mutants, 4, seed=1)
    lines = [mutant.line for mutant in sample]
    assert sample == drawn_sample(mutants, 4, seed=1)
    assert lines == sorted(lines)
    assert drawn_sample(mutants, None, seed=1) == mutants


def test_every_module_and_every_test_named_exists():
    for name, tests in TARGETS.items():
        assert (ROOT / "src" / "winokit" / f"{name}.py").is_file()
        assert all((ROOT / test).exists() for test in tests)


def test_a_mutant_is_killed_if_a_test_fails_or_never_ends_and_survives_if_all_pass(tmp_path):
    module = tmp_path / "counted.py"
    test = tmp_path / "test_counted.py"
    module.write_text("def doubled(count):\n    while count < 0:\n        count += 1\n    return 2 * count\n")
    test.write_text("import counted\n\ndef test_two():\n    assert counted.doubled(-1) + counted.doubled(2) == 4\n")
    program = (
        "import ast, sys, tools.mutants as mutants\n"
        "from pathlib import Path\n"
        "module, test = Path(sys.argv[1]), sys.argv[2]\n"
        "sys.path.insert(0, str(module.parent))\n"
        "source = module.read_text()\n"
        "changes = (source, 20), (source.replace('2 *', '3 *'), 20), (source.replace('+= 1', '-= 1'), 3)\n"
        "for text, seconds in changes:\n"
        "    print(mutants.outcome_of('counted', module, ast.parse(text), [test], seconds))\n"
        "print(mutants.outcome_of('counted', module, ast.parse(source), [test + '.missing'], 20))\n"
    )
    command = [sys.executable, "-c", program, str(module), str(test)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines() == ["survived", "killed", "too long", "broken"]
