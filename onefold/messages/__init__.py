"""The messages of each topic, and how they are consumed: acknowledged, redelivered, dead-lettered."""
