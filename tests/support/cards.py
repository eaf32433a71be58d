"""Is there a graphics card that tests can use?"""

from __future__ import annotations

import pytest

from linkedbandits.errors import LinkedBanditError
from linkedbandits.lidar.engines.gpu import device


def _no_card() -> str | None:
    try:
        device.devices()
    except (LinkedBanditError, ImportError) as error:
        return f"no graphics card: {error}"
    return None


NO_CARD = _no_card()
needs_card = pytest.mark.skipif(NO_CARD is not None, reason=str(NO_CARD))
