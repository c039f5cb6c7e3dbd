"""Names for array shapes in annotations, such as ``Float[Tensor, "B C H W"]``.

They are checked while testing, by an import hook. A machine that has torch and numpy alone can
still import the package: there the annotations mean nothing, and nothing checks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class _Anything:
            """Stands for a shape annotation where jaxtyping is not installed."""

            def __class_getitem__(cls, item: Any) -> Any:
                """Return Any, whatever the shape."""
                return Any

        Bool = Float = Int = _Anything

__all__ = ["Bool", "Float", "Int"]
