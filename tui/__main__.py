"""`python -m tui`, where the console script is not on the PATH."""

import sys

from tui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
