"""Chains where they are used: a module for each library, which is imported with it.

``linkedbandits.adapters.httpx``: mirrors behind an httpx client. ``linkedbandits.adapters.litellm``: the deployments of
a LiteLLM router. ``linkedbandits.adapters.opentelemetry``: spans of calls and attempts.
"""
