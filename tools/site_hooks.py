"""What MkDocs needs to know of this repository: pages that lie beside docs/, and links that leave it."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages of the site that are files of the repository's root."""
SHORT_CODE = re.compile(r"<code>([^<]{1,24})</code>")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./|docs/)([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie beside docs/."""
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links that leave docs/ to a page of the site; of a source file, which has none, keep the name."""

    def follow(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        page = BESIDE.get(path, path if link[0].partition("](")[2].startswith("docs/") else None)
        return f"[{text}]({page}{anchor})" if page else text

    return LINK.sub(follow, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Keep short code on one line: a narrow column would break an option after its first dash."""
    return SHORT_CODE.sub(r'<code class="whole">\1</code>', html)


def on_post_page(output: str, **_: Any) -> str:
    """Start the offline search from the site itself: the theme would ask another server for the script."""
    return output.replace("https://unpkg.com/iframe-worker/shim", "offline-worker.js")
