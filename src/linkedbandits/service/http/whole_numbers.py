"""Whole numbers in bodies: 7.0 is one, as JSON and its schemas have it, and "7" and true are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

LARGEST_EXACT = 2**53 - 1
"""Whole numbers beyond this change in a browser, and where they are read as fractions."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Annotates an ``int``. It is all done by the validator's own code: tells have many of them.

    >>> from typing import Annotated
    >>> from pydantic import TypeAdapter
    >>> play = TypeAdapter(Annotated[int, Whole(0, 9)])
    >>> play.validate_json("7.0"), play.json_schema() == {"type": "integer", "minimum": 0, "maximum": 9}
    (7, True)
    """

    least: int
    most: int

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """As it is, or else from a fraction without a remainder."""
        exact = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        small = core_schema.float_schema(strict=True, ge=-LARGEST_EXACT, le=LARGEST_EXACT)
        return core_schema.union_schema(
            [exact, core_schema.chain_schema([small, core_schema.int_schema(ge=self.least, le=self.most)])],
            mode="left_to_right",
            custom_error_type="whole_number",
            custom_error_message=f"Input should be a whole number from {self.least} to {self.most}",
        )

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """What both come to."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}
