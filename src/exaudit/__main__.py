"""python -m exaudit is the same as exaudit."""

from exaudit.cli import main

main()
