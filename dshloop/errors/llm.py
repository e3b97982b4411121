"""Faults of model providers: which one is meant, its key, and whether it answers."""

from __future__ import annotations

from dshloop.errors.base import FailedError, NotFoundError, PeerUnreachableError, UsageError


class UnknownProviderError(NotFoundError):
    """A provider was named that is neither built in nor in config.yml; details list those."""

    code = "UNKNOWN_PROVIDER"
    hint = "`dshloop provider list` lists the providers."


class ModelNotNamedError(UsageError):
    """A provider was named without a model, and config.yml lists none for it."""

    code = "MODEL_NOT_NAMED"
    hint = "Name one with --model, or list it under `models` of the provider in config.yml."


class MissingCredentialError(FailedError):
    """The provider that should answer wants a key, and there is none; details name the variable."""

    code = "MISSING_CREDENTIAL"


class CredentialsInvalidError(FailedError):
    """DSH's .credentials.yaml can't be used: others can read it, or it is not what DSH writes."""

    code = "CREDENTIALS_INVALID"


class ProviderUnreachableError(PeerUnreachableError):
    """A provider did not answer a test: no connection, or not in time."""

    code = "PROVIDER_UNREACHABLE"
    hint = "Look at its `url` in `dshloop provider list`, and at the proxies of the environment."


class ProviderRefusedError(FailedError):
    """A provider was reached and refused a test; details hold the failure and its code."""

    code = "PROVIDER_REFUSED"
