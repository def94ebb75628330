"""exaudit."""
