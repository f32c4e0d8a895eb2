"""A study played through before people are asked: made-up people, and a platform that goes wrong."""
