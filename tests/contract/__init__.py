"""One suite for every abstract class: a new implementation inherits all of its tests."""
