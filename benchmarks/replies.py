"""Reading replies: replies a CPU second, and CPU time in json parses of the same row, for short and long replies.

The rival does what an extractor of names usually does: it compiles a pattern of each row's candidates and searches.

python benchmarks/replies.py [--quick]
"""

import json
import re
import sys
import time

from winokit.data.predictions.answers import named_in
from winokit.models.replies import FilledText

PLACES = "harbour garden market tunnel museum valley bridge castle forest meadow".split()
BEFORE = "The guests of {0} preferred the quiet of the {1} to the noise of the {2}, because the "
AFTER = " was closer to where they wanted to be in the evening."
KINDS = {
    "a label": "Option2",
    "a label and a name": "Option1 : {1}.",
    "a sentence": "The answer is the {2}, since people who want to sleep avoid noise.",
    "the text, filled": BEFORE + "{1}" + AFTER,
    "an explanation": "People prefer what is close. The sentence says that the {1} is quiet and that the {2} is noisy, "
    "so it is likely that the guests would rather stay where it is quiet, which is not the {2} but the {1}.",
}


def by_compiled_patterns(text: str, names: tuple[str, ...]) -> int | None:
    """The one candidate or number that a pattern of the row's own finds."""
    ways = [f"{re.escape(name)}|option ?{at}|{at}" for at, name in enumerate(names, 1)]
    found = {at for at, way in enumerate(ways) if re.search(rf"\b(?:the |a )?(?:{way})\b", text, re.IGNORECASE)}
    return found.pop() if len(found) == 1 else None


def cpu_seconds(action) -> float:
    """Least CPU time of five tries."""
    least = float("inf")
    for _ in range(5):
        start = time.process_time()
        action()
        least = min(least, time.process_time() - start)
    return least


def main() -> None:
    count = 300 if "--quick" in sys.argv else 3_000
    print(f"{count:,} replies of each kind, candidates of their own in every row")
    for kind, form in KINDS.items():
        rows = []
        for number in range(count):
            first, second = PLACES[number % 10] + str(number), PLACES[number // 10 % 10] + f" {number}"
            before = BEFORE.format(number, first, second)
            rows.append((form.format(number, first, second), (first, second), FilledText.of(before, AFTER), before))
        lines = [json.dumps({"text": f"{b}_{AFTER}", "options": names, "reply": said}) for said, names, _, b in rows]
        parsed = cpu_seconds(lambda lines=lines: [json.loads(line) for line in lines])
        read = cpu_seconds(lambda rows=rows: [named_in(said, names, "en", filled) for said, names, filled, _ in rows])
        rival = cpu_seconds(lambda rows=rows: [by_compiled_patterns(said, names) for said, names, _, _ in rows])
        print(
            f"{kind:20} {count / read:9,.0f} replies a CPU second  {read / parsed:5.1f} json parses a reply"
            f"  {rival / read:5.1f} x as fast as a pattern a row"
        )


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
