"""`assay serve`: a reward over HTTP."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from assay.errors import ConfigError


def serve(
    reward: Annotated[
        str, typer.Argument(metavar="SPEC", help="length:target=200 | file.py:name | pkg.mod:name | reward.yaml")
    ],
    host: Annotated[str, typer.Option(help="Another than the loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    token_env: Annotated[str, typer.Option(help="The environment variable that holds the token.")] = "ASSAY_TOKEN",
    unscored: Annotated[
        float | None, typer.Option(help="The number OpenRLHF and NeMo Gym get for what was not scored; none: refuse.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds after which a request is answered with 504.")] = 300.0,
    row_timeout: Annotated[
        float | None,
        typer.Option(help="Seconds a row may take; the reward then runs in processes that can be stopped."),
    ] = None,
    max_mb: Annotated[int, typer.Option(help="The largest request, in megabytes.", min=1)] = 16,
    queue_rows: Annotated[int, typer.Option(help="Rows that may wait before 429 is answered.", min=1)] = 16_384,
) -> None:
    """Serve a reward: POST /score, OpenRLHF's /get_reward, NeMo Gym's /verify; GET /health, /metrics."""
    from assay.load import load_reward
    from assay.serve.app import ServeConfig, refuse_open_door
    from assay.serve.app import serve as run

    token = os.environ.get(token_env, "")
    if token_env != "ASSAY_TOKEN" and not token:
        raise ConfigError(f"--token-env names {token_env}, which is not set.")
    config = ServeConfig(
        token=token,
        unscored=unscored,
        timeout=timeout,
        row_timeout=row_timeout,
        max_bytes=max_mb * 1024 * 1024,
        queue_rows=queue_rows,
    )
    refuse_open_door(host, config)
    chosen = load_reward(reward)
    print(f"serving {chosen.name} on http://{host}:{port} (Ctrl-C stops)", file=sys.stderr)
    run(chosen, config, host, port)
