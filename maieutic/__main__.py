"""`python -m maieutic`, where the script is not on the path."""

from maieutic.cli import main

main()
