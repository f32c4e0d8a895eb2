"""Counts what a reader must hold in mind, room by room: nested expressions, long functions, names of one word.

    python -m tests.support.plainness                     # lower the shares that fell
    python -m tests.support.plainness src/winokit/text    # store the shares of a room as they are

A room is a folder with modules. `tests/plainness.csv` has the shares; `tests/test_plainness.py` fails when one rises.
"""

import ast
import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("src/winokit", "collect/src/winokit_collect")
STORED = ROOT / "tests" / "plainness.csv"
HOUSE = "all"
"""The row of all rooms together, which bounds a room that is not stored yet."""
HABITS = {
    "nested": "functions",
    "branchy": "functions",
    "wide": "functions",
    "long": "functions",
    "one_word": "private",
    "no_verb": "private",
    "namesakes": "private",
    "tuples": "statements",
    "clever": "statements",
    "participles": "locals",
    "semicolons": "summaries",
    "relative": "summaries",
    "wordy": "summaries",
    "nodes": "statements",
}
"""Each habit, and what its count is a share of."""
SLACK = 1.0
"""Places of a habit that a room may have beyond its share, since other work is merged meanwhile."""
SLACK_NODES = 0.1
"""The same for the mean size of a statement, in nodes."""
ROUNDING = 0.01
"""Of a share that is stored with four places."""

MOST_BRANCHES = 12
MOST_PARAMETERS = 7
MOST_LINES = 50
MOST_WORDS = 12
NAMESAKES = 3
"""The number of modules that may not share the name of a private function."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.Assert, ast.comprehension, ast.BoolOp)
SMALL = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
BODIES = {"body", "orelse", "finalbody", "handlers", "cases", "annotation"}
RELATIVE = re.compile(r"(What|Those|How|Where|Which|Who) ")
PARTICIPLES = set(
    "about apart asked beside drawn each_one found given held kept known left looked made meant more named one "
    "own place read rest said seen shown some stands stood taken told wanted whole why written".split()
)
VERBS = set(
    "accept add align allow answer append apply approve are ask assert assign build calculate call can check "
    "choose claim clear clip close collect compare compute construct contain convert copy correct count create "
    "cut debug decode delete describe determine did do does download draw drop embed encode enforce ensure "
    "estimate evaluate exceed execute expand export fetch fill filter find fit flatten forget format from get "
    "give group guess handle has hash index infer init initialize insert is iter join keep leave list load "
    "lock log look make mark match may merge move must needs normalize occupy open pack pad parse pay plan "
    "plot pop predict prepare print process pull push put quantize raise rank read recognise redirect reduce "
    "refuse register reject remember remove rename render repeat replace report require reset resize resolve "
    "return run sample save score select send set settle should show skip sort split start stop sum take tell "
    "test to train transform turn unlock unpack unwrap update validate verify visit walk wants warn was were "
    "with wrap write".split()
)


@dataclass
class Room:
    """The counts of a folder's modules, and by name the number of modules that have such a private function."""

    counts: Counter[str] = field(default_factory=Counter)
    privates: Counter[str] = field(default_factory=Counter)

    def read_module(self, source: str) -> None:
        """Add the counts of a module."""
        tree = ast.parse(source)
        self._count_summary(tree)
        self.privates.update({node.name for node in ast.walk(tree) if isinstance(node, Function) and is_private(node)})
        for node in ast.walk(tree):
            if isinstance(node, DEFINITIONS):
                self._count_summary(node)
            if isinstance(node, Function):
                self._count_function(node)
            if isinstance(node, ast.stmt) and not is_bare(node):
                self._count_statement(node)

    def _count_summary(self, node: ast.Module | Function | ast.ClassDef) -> None:
        text = ast.get_docstring(node)
        if not text:
            return
        summary = " ".join(text.split("\n\n")[0].split())
        self.counts["summaries"] += 1
        self.counts["semicolons"] += int(";" in summary)
        self.counts["relative"] += int(RELATIVE.match(summary) is not None)
        self.counts["wordy"] += int(len(summary.split()) > MOST_WORDS)

    def _count_function(self, function: Function) -> None:
        self.counts["functions"] += 1
        self.counts["nested"] += int(is_nested(function))
        self.counts["branchy"] += int(count_branches(function) > MOST_BRANCHES)
        self.counts["wide"] += int(count_parameters(function) > MOST_PARAMETERS)
        self.counts["long"] += int(count_lines(function) > MOST_LINES)
        name = function.name.strip("_")
        if is_private(function):
            self.counts["private"] += 1
            self.counts["one_word"] += int("_" not in name)
            self.counts["no_verb"] += int(name.split("_")[0] not in VERBS)

    def _count_statement(self, statement: ast.stmt) -> None:
        self.counts["statements"] += 1
        parts = list(own_parts(statement))
        self.counts["nodes"] += sum(count_nodes(part) for part in parts)
        self.counts["clever"] += int(is_clever(statement, parts))
        if isinstance(statement, ast.Assign):
            self.counts["tuples"] += int(is_tuple_line(statement))
            for node in ast.walk(statement.targets[0]):
                if isinstance(node, ast.Name):
                    self.counts["locals"] += 1
                    self.counts["participles"] += int(node.id in PARTICIPLES)

    def share(self, habit: str) -> float:
        """The habit's places as a share of what could be such a place; nodes per statement for `nodes`."""
        return self.counts[habit] / max(1, self.counts[HABITS[habit]])

    def limit(self, habit: str, share: float) -> float:
        """How many places the room may have at a share, with the slack."""
        whole = self.counts[HABITS[habit]]
        slack = SLACK_NODES * whole if habit == "nodes" else SLACK
        return share * whole + slack


def is_private(function: Function) -> bool:
    """Whether a function's name has one underscore in front."""
    return function.name.startswith("_") and not function.name.startswith("__")


def is_bare(statement: ast.stmt) -> bool:
    """Whether a statement has no expression of its own to read: a definition, an import, a docstring."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass))


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without those of the statements inside it."""
    for name, value in ast.iter_fields(statement):
        if name in BODIES:
            continue
        values = value if isinstance(value, list) else [value]
        yield from (part for part in values if isinstance(part, ast.AST))


def count_nodes(part: ast.AST) -> int:
    """The syntax nodes of an expression, without operators and contexts."""
    return sum(not isinstance(node, SMALL) for node in ast.walk(part))


def is_nested(function: Function) -> bool:
    """Whether a function has a comprehension or a ternary inside another, or two `for` in one comprehension."""
    for node in ast.walk(function):
        inner = list(ast.walk(node))[1:] if isinstance(node, (*COMPREHENSIONS, ast.IfExp)) else []
        if isinstance(node, ast.IfExp) and any(isinstance(part, ast.IfExp) for part in inner):
            return True
        if isinstance(node, COMPREHENSIONS):
            has_inner = any(isinstance(part, (*COMPREHENSIONS, ast.IfExp, ast.NamedExpr)) for part in inner)
            if len(node.generators) > 1 or has_inner:
                return True
    return False


def count_branches(function: Function) -> int:
    """The ways through a function: one, and one more for each place where it parts."""
    count = 1
    for node in ast.walk(function):
        count += int(isinstance(node, (*BRANCHES, ast.match_case)))
        if isinstance(node, ast.comprehension):
            count += len(node.ifs)
    return count


def count_parameters(function: Function) -> int:
    """The parameters of a function that a caller gives: all but `self`."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - int(bool(names) and names[0] in ("self", "cls"))


def count_lines(function: Function) -> int:
    """The lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    return (function.end_lineno or 0) - body[0].lineno + 1


def is_tuple_line(statement: ast.Assign) -> bool:
    """Whether it assigns several things at once: `a, b = x, y`."""
    target = statement.targets[0]
    value = statement.value
    return isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)


def is_clever(statement: ast.stmt, parts: list[ast.AST]) -> bool:
    """Whether it has a walrus in a comprehension, arithmetic on a comparison, or `+=` of a ternary."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.IfExp):
        return True
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, COMPREHENSIONS) and any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)):
                return True
            if isinstance(node, ast.BinOp) and (is_truth_value(node.left) or is_truth_value(node.right)):
                return True
    return False


def is_truth_value(node: ast.expr) -> bool:
    """Whether an expression is a comparison or a negation."""
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def count_rooms(root: Path = ROOT) -> dict[str, Room]:
    """The rooms of the house by their folders, and all of them together."""
    rooms: dict[str, Room] = defaultdict(Room)
    for source in SOURCES:
        for path in sorted((root / source).rglob("*.py")):
            rooms[path.parent.relative_to(root).as_posix()].read_module(path.read_text("utf-8"))
    count_namesakes(rooms)
    house = Room()
    for room in rooms.values():
        house.counts.update(room.counts)
    return {**rooms, HOUSE: house}


def count_namesakes(rooms: Mapping[str, Room]) -> None:
    """Count in each room the private functions whose name is in three modules of the house or more."""
    total: Counter[str] = Counter()
    for room in rooms.values():
        total.update(room.privates)
    for room in rooms.values():
        room.counts["namesakes"] = sum(count for name, count in room.privates.items() if total[name] >= NAMESAKES)


def find_rises(rooms: Mapping[str, Room], shares: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A line for each habit of a room that has more places than its share allows."""
    lines = []
    for name, room in rooms.items():
        if name == HOUSE:
            continue
        allowed = shares.get(name, shares[HOUSE])
        for habit, whole in HABITS.items():
            count = room.counts[habit]
            limit = room.limit(habit, allowed[habit])
            if count > limit + ROUNDING:
                lines.append(f"{name}: {habit} {count} of {room.counts[whole]} {whole}, {limit:.1f} allowed")
    return lines


def read_shares(path: Path = STORED) -> dict[str, dict[str, float]]:
    """The stored shares, by room and habit."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["room"]: {habit: float(row[habit]) for habit in HABITS} for row in rows}


def write_shares(shares: Mapping[str, Mapping[str, float]], path: Path = STORED) -> None:
    """Store shares, a line for each room."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["room", *HABITS])
        for room in sorted(shares):
            writer.writerow([room, *(f"{shares[room][habit]:.4f}" for habit in HABITS)])


def lowered(
    rooms: Mapping[str, Room], shares: Mapping[str, Mapping[str, float]], as_they_are: list[str]
) -> dict[str, dict[str, float]]:
    """The shares to store: those that fell, and all of the rooms to take as they are or not stored yet."""
    made: dict[str, dict[str, float]] = {}
    for name, room in rooms.items():
        current = {habit: room.share(habit) for habit in HABITS}
        if name in shares and name not in as_they_are:
            current = {habit: min(share, shares[name][habit]) for habit, share in current.items()}
        made[name] = current
    return made


def main() -> None:
    """Store the shares of the rooms named as they are, and of all others what fell."""
    names = [name.rstrip("/") for name in sys.argv[1:]]
    rooms = count_rooms()
    unknown = [name for name in names if name not in rooms]
    if unknown:
        sys.exit(f"no modules in {', '.join(unknown)}; name a folder as in {STORED.relative_to(ROOT)}")
    shares = read_shares() if STORED.exists() else {}
    write_shares(lowered(rooms, shares, names))


if __name__ == "__main__":
    main()
