from support.training import bert, easy, one_thread, planted, tiny, unseen  # noqa: F401
