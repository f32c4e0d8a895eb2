"""Write the table of docs/languages.md that says which language knows what, from the packs themselves."""

import re
from pathlib import Path

from winokit.text.language import ABILITIES, LANGUAGES, Language, language_of

PAGE = Path(__file__).parent / "languages.md"
TABLE = re.compile(r"(?<=<!-- from the packs -->\n).*?(?=\n<!-- so far -->)", re.DOTALL)


def abilities_table() -> str:
    """A row per ability, a column per pack and one for any other language."""
    packs: list[Language] = [*map(language_of, LANGUAGES), Language("any other")]
    rows = [["", *(pack.name or pack.code for pack in packs)], ["---"] * (len(packs) + 1)]
    rows += [[said, *("–" if pack.refusal(name) else "✓" for pack in packs)] for name, said in ABILITIES.items()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def languages_page() -> str:
    """The page with the table as the packs have it."""
    return TABLE.sub(abilities_table(), PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(languages_page(), "utf-8")
