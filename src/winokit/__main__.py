"""`python -m winokit`."""

from winokit.cli.main import main

if __name__ == "__main__":
    main()
