"""What may run, who was asked, and what was answered."""
