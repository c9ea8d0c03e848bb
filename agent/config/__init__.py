"""What a person writes in files: settings, secrets, the home they live in."""
