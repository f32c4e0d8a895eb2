"""Web pages of a study: one module for each family of pages, put together by `app`.

Pages decide nothing. They read a form, call one function of `winokit_collect`, and show what it returned.
"""
