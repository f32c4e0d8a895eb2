"""Tokens that are nearly right."""


def forge_signature(token: str) -> str:
    """The token with one letter of its signature changed, the fifth from the end.

    The last letter would not do: it has bits that no signature uses.
    """
    before = token[:-5]
    letter = token[-5]
    after = token[-4:]
    forged_letter = "A" if letter != "A" else "B"
    return f"{before}{forged_letter}{after}"
