"""What comes in: tables, targets, and the learners that are judged on them."""
