"""The pages of a study: `app.create_app` puts them together, and one module has each family of them.

Pages decide nothing. They read a form, call one function of `winokit_collect`, and show what it returned.
"""
