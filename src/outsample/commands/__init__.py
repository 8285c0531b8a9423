"""The commands: arguments → public functions → text, JSON or a file."""
