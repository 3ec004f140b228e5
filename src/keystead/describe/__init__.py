"""What an activity asks, in words that people decide by: command line and consoles show the same. Pure.

Here: sentences from an activity as the API shows it. Not here: reading bytes (`chains`), whether the activity is
allowed (`policies`), asking a server for names (`cli`).
"""
