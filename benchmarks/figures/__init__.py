"""Chapters of the page of results: tables and pictures of one section each.

Every module but the helpers (``style``, ``markdown``, ``readings``) has a function
``chapter(lines, album)``, which makes the text of a section from its lines and from
nothing else, and leaves its pictures in the album.
"""
