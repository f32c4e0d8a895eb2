"""Tokens that are nearly right."""


def another_letter(token: str) -> str:
    """The token with a letter of its signature changed; the last one has bits that nobody reads.

    What is put in the place of the last two letters is right by chance once in 1,024 times.
    """
    return f"{token[:-5]}{'A' if token[-5] != 'A' else 'B'}{token[-4:]}"
