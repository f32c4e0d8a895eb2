"""Frozen commands: what real commands print and write, at a base commit and now.

    python -m tools.frozen                             both sides, compared
    python -m tools.frozen --only 'audit-*'            only some commands, and those they need
    python -m tools.frozen --stored DIR --side base    store the base's outputs in a folder outside the tree
    python -m tools.frozen --stored DIR                compare the working tree with them
    python -m tools.frozen --base X --head X           does every command equal itself?

A refactoring is safe if the commands of `commands.toml` still print and write the same. What changes on purpose is a
reviewed entry of `allowed.toml`; any other difference is shown, and the exit code is 1.

- `commands`: the list, read and checked.
- `sides`: one side is a snapshot of the source, the inputs, and a folder per command in which it runs.
- `steady/sitecustomize.py`: clocks and secrets that are the same in every run; both sides run with it.
- `inputs`: models of a few thousand weights, parts of the bundled twins, predictions; the same for both sides.
- `outputs`: everything a command wrote, as lines of text that can be compared.
- `comparing`: changed lines, and which of them are allowed.

Outputs of real data have sentences of it. They are never written into the tree.
"""
