"""The documentation as a site: `python -m tools.site` builds build/site from README.md and docs.

The pages are plain Markdown that reads well on a code host. Links from pages to files of the repository lead to
pages that show these files, so that the site is whole without a network.
"""
