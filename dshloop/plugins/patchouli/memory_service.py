"""The row `dsh-patchouli`: offers the memory service, with our own store as its first plugin."""

from __future__ import annotations

from dshloop.host.mount import Mount
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli.routing import ServiceConfig, read_service_config
from dshloop.plugins.patchouli.service import SERVICE, MemoryService


class PatchouliService:
    """Offers `patchouli`."""

    name = "dsh-patchouli"
    Config = staticmethod(read_service_config)

    async def apply(self, host: Mount, config: ServiceConfig) -> None:
        """Offer the service; our store takes part unless ``store: false``."""
        memory = MemoryService(config)
        place: MemoryPlace | None = host.service(PLACE)
        if config.store and place is not None and place.open_store is not None:
            from dshloop.plugins.patchouli.store_plugin import StorePlugin

            plugin = StorePlugin(place.open_store, place.variables)
            host.undo(plugin.close)
            host.undo(memory.register(plugin))
        host.provide(SERVICE, memory)
