"""The same as `http.py` through a proxy that the environment names (HTTPS_PROXY and its kind), by way of aiohttp."""

from __future__ import annotations

import urllib.request
from typing import Any
from urllib.parse import urlsplit

from assay.errors import require
from assay.llm.framing import MAX_BODY, BrokenReply, Response
from assay.llm.http import Target


def goes_by_proxy(url: str) -> bool:
    """Whether the environment wants a proxy for this URL."""
    where = urlsplit(url)
    if where.scheme not in urllib.request.getproxies():
        return False
    return not urllib.request.proxy_bypass(where.hostname or "")


class Proxied:
    """Posts bodies through the environment's proxies, for one event loop."""

    def __init__(self) -> None:
        aiohttp: Any = require("aiohttp", "judge", "calling a judge's server through a proxy")
        self._aiohttp = aiohttp
        connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
        self._session = aiohttp.ClientSession(connector=connector, trust_env=True, cookie_jar=aiohttp.DummyCookieJar())

    async def post(self, target: Target, body: bytes, seconds: float) -> Response:
        """Send a body and read the reply, all within so many seconds."""
        timeout = self._aiohttp.ClientTimeout(total=seconds)
        try:
            async with self._session.post(
                target.url, data=body, headers=target.headers, timeout=timeout, allow_redirects=False
            ) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Response(response.status, headers, await _bounded(response))
        except self._aiohttp.ClientError as error:
            raise BrokenReply(f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


async def _bounded(response: Any) -> bytes:
    chunks, size = list[bytes](), 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            raise BrokenReply(f"a reply of more than {MAX_BODY} bytes")
    return b"".join(chunks)
