"""The addresses below a base URL, which may carry a query: Azure's deployments want an api-version with every request."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit, urlunsplit


def below(base_url: str, path: str) -> str:
    """`https://host/v1?api-version=1` and `models` as `https://host/v1/models?api-version=1`."""
    url = urlsplit(base_url)
    return urlunsplit(url._replace(path=f"{url.path.rstrip('/')}/{path}"))


def without_query(base_url: str) -> tuple[str, dict[str, str]]:
    """A base URL and its query, apart."""
    url = urlsplit(base_url)
    return urlunsplit(url._replace(query="")), dict(parse_qsl(url.query))
