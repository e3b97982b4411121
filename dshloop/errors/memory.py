"""Faults of memory and its stores."""

from __future__ import annotations

from dshloop.errors.base import (
    FailedError,
    NotFoundError,
    PeerUnreachableError,
    RefusedError,
    UsageError,
)


class MemoryEmptyError(UsageError):
    """There is nothing to remember or to look for: the text is blank."""

    code = "MEMORY_EMPTY"
    hint = "Give some words, or - to read them from standard input."


class MemoryTypeError(UsageError):
    """A memory's type is none of the six that there are."""

    code = "MEMORY_TYPE"


class MemoryNotFoundError(NotFoundError):
    """No memory has this id, or an id that begins so."""

    code = "MEMORY_NOT_FOUND"
    hint = "dshloop memory list shows what is stored."


class AmbiguousIdError(UsageError):
    """An abbreviated id fits more than one thing; details list the candidates."""

    code = "AMBIGUOUS_ID"
    hint = "Give more of the id."


class StoreUnknownError(NotFoundError):
    """No memory store has this name."""

    code = "STORE_UNKNOWN"


class StoreUnsupportedError(FailedError):
    """A store can't do what was asked, or Python's SQLite lacks what the embedded one needs."""

    code = "STORE_UNSUPPORTED"
    hint = "Use a Python whose SQLite is built with FTS5, as those of python.org are."


class StoreNewerError(RefusedError):
    """The memory database was written by a later dshloop."""

    code = "STORE_NEWER"
    hint = "Upgrade dshloop (pip install --upgrade dshloop), or name another folder by --data-dir."


class StoreCorruptError(FailedError):
    """The memory database is damaged or is no database of dshloop; details give its path."""

    code = "STORE_CORRUPT"
    hint = (
        "`dshloop memory check --salvage NEWFILE` gets out what is whole; "
        "`dshloop memory backup --restore FILE` brings a backup back."
    )


class StoreBusyError(RefusedError):
    """Another program has kept the memory database locked for too long."""

    code = "STORE_BUSY"
    hint = "Nothing was changed. End the program that uses the file, then run the command again."


class DateInvalidError(UsageError):
    """A date, an age or a length of time can't be read."""

    code = "DATE_INVALID"


class BenchInvalidError(FailedError):
    """A file of questions, or an earlier result of bench, is not what `memory bench` reads."""

    code = "BENCH_INVALID"


class HookDataInvalidError(FailedError):
    """What `memory observe` was given as a hook's data is no JSON, or names no session."""

    code = "HOOK_DATA_INVALID"


class ForgetUnconfirmedError(RefusedError):
    """Entries are forgotten by conditions only when somebody said yes to what was found."""

    code = "FORGET_UNCONFIRMED"
    hint = "Nothing was changed. Look with --dry-run, then give --yes."


class NothingToUndoError(NotFoundError):
    """No change of the memory store can be taken back."""

    code = "NOTHING_TO_UNDO"
    hint = "dshloop memory history ID shows the versions of a memory."


class SemanticUnavailableError(FailedError):
    """A question by meaning was asked, and there is no embedding model that could answer it."""

    code = "SEMANTIC_UNAVAILABLE"
    hint = (
        "Install one: pip install 'dshloop[semantic]'. Or use a server's: "
        "dshloop config set memory.embeddings.url URL (and .model)."
    )


class EmbeddingInvalidError(FailedError):
    """An embedding model gave something that is no vector, or not one as long as those stored."""

    code = "EMBEDDING_INVALID"
    hint = "Is memory.embeddings.model a model for embeddings, and the one that it was?"


class StoreReadOnlyError(RefusedError):
    """The memory store was opened for reading only."""

    code = "STORE_READONLY"
    hint = "Nothing was changed. Run the command without --readonly."


class StoreOlderError(RefusedError):
    """The memory database has the schema of an earlier dshloop and may only be read."""

    code = "STORE_OLDER"
    hint = "Run any memory command once without --readonly; a copy of the file is made first."


class ImportInvalidError(FailedError):
    """A file to import is in none of the formats that are read, or in a later version of one."""

    code = "IMPORT_INVALID"
    hint = "Formats: dshloop, agentmemory, mcp, markdown. Name one by --format."


class TransferUnsupportedError(FailedError):
    """A memory store can't take records as they are, or have entries put right in their places."""

    code = "TRANSFER_UNSUPPORTED"


class ServeUnavailableError(FailedError):
    """`memory serve` needs the packages of the extra serve, and they are not installed."""

    code = "SERVE_UNAVAILABLE"
    hint = "Install them: pip install 'dshloop[serve]'."


class ServerOpenError(RefusedError):
    """A server that other machines can reach needs a secret."""

    code = "SERVER_OPEN"
    hint = "Set AGENTMEMORY_SECRET to a long random text, or leave --host out (127.0.0.1)."


class ServerSettingError(UsageError):
    """A server can't listen on the host it was given."""

    code = "SERVER_SETTING"


class PortTakenError(RefusedError):
    """The port that a server is to listen on is in use, or this user may not have it."""

    code = "PORT_TAKEN"
    hint = "Choose another one with --port (0 takes a free one), or end the program that has it."


class ServerRunningError(RefusedError):
    """Another memory server works on the same store; details give its pid."""

    code = "SERVER_RUNNING"
    hint = "End it first, or name another data folder by --data-dir."


class OutboxUnusableError(FailedError):
    """The outbox, which holds what is on its way to a memory store, can't be read or written."""

    code = "OUTBOX_UNUSABLE"
    hint = "Is the disk full, or the file damaged? Moved away, it is made anew."


class PatchouliFailedError(PeerUnreachableError):
    """Patchouli's storage daemon refused a request; details have its method and reason."""

    code = "PATCHOULI_FAILED"


class PatchouliSchemaError(RefusedError):
    """A Patchouli database has a schema that isn't known here, or none yet."""

    code = "PATCHOULI_SCHEMA"
    hint = "Only databases of schema 12 (Patchouli 0.1.2) are read; nothing was changed."


class OutboxTargetError(FailedError):
    """What an outbox holds can't be delivered from here."""

    code = "OUTBOX_TARGET"
    hint = "Run a session on the profile that has the plugin: dshloop session run --profile NAME."


class AgentmemoryRefusedError(PeerUnreachableError):
    """The agentmemory daemon did not do what it was asked; details have what it said."""

    code = "AGENTMEMORY_REFUSED"


class AgentmemoryRestartingError(PeerUnreachableError):
    """The agentmemory daemon is starting, restarting, or went away in the middle of a call."""

    code = "AGENTMEMORY_RESTARTING"
    hint = "Try again in a few seconds; dshloop memory status tells how it is."


class AgentmemoryTooLargeError(PeerUnreachableError):
    """What was sent to agentmemory, or asked of it, is more than it takes or gives at once."""

    code = "AGENTMEMORY_TOO_LARGE"
    hint = "Nothing was changed. Take less at once, or split the text."


class AgentmemoryOldError(PeerUnreachableError):
    """The agentmemory daemon is older than 0.9.29, whose answers are relied on."""

    code = "AGENTMEMORY_OLD"
    hint = "Update it: npm install -g @agentmemory/agentmemory@latest; then restart it."


class StoreSilentError(PeerUnreachableError):
    """A store, asked together with others or by a hook, did not answer in time."""

    code = "STORE_SILENT"
    hint = "Give it longer: --timeout SECONDS, or dshloop config set memory.timeout SECONDS."


class StoresUnreachableError(PeerUnreachableError):
    """Several stores were asked at once and none of them answered; details say why."""

    code = "STORES_UNREACHABLE"
    hint = "Ask one of them alone to see more: --store NAME."


class BridgeSecretError(FailedError):
    """The secret of the row dsh-agentmemory names a variable that is unset."""

    code = "BRIDGE_SECRET"
    hint = "Set the variable, or give the reference a default: ${NAME:default}."


class BridgeUnreachableError(PeerUnreachableError):
    """The agentmemory daemon of the row dsh-agentmemory does not answer, or not as one."""

    code = "BRIDGE_UNREACHABLE"
    hint = (
        "Start it (npx @agentmemory/agentmemory, or dshloop memory serve), mend baseUrl, or have "
        "the row use the store of this machine: store: local."
    )


class OutboxEmptyError(NotFoundError):
    """No entry of an outbox fits what was named."""

    code = "OUTBOX_EMPTY"
    hint = "dshloop memory outbox list shows what is on its way."


class OutboxUnconfirmedError(RefusedError):
    """What is on its way to a store is dropped only when somebody said yes to it."""

    code = "OUTBOX_UNCONFIRMED"
    hint = "Nothing was changed. Look with --dry-run, then give --yes."


class HookEventUnknownError(UsageError):
    """`memory hook` was called for an event that no agent is known to have."""

    code = "HOOK_EVENT_UNKNOWN"


class StoreUnreachableError(PeerUnreachableError):
    """The server of a memory store can't be reached, refused who asks, or went away."""

    code = "STORE_UNREACHABLE"
    hint = (
        "Is it running, and are host, user and password right? psql with the same connection "
        "string tells more."
    )


class StoreForbiddenError(RefusedError):
    """The role that asks may not do that in a memory store on a server."""

    code = "STORE_FORBIDDEN"
    hint = "Nothing was changed. Its owner gives rights: see `Roles` in docs/scaling.md."


class StorePasswordError(UsageError):
    """A connection string has a password in it, which would be stored and shown."""

    code = "STORE_PASSWORD"
    hint = (
        "Leave it out. Give it by $PGPASSWORD, by ~/.pgpass, by a service file (service=NAME), or "
        "by a variable of your choice: memory use postgres --dsn DSN --password-variable NAME."
    )


class PostgresMissingError(FailedError):
    """The store postgres needs the packages of the extra postgres, and they are not installed."""

    code = "POSTGRES_UNAVAILABLE"
    hint = "Install them: pip install 'dshloop[postgres]'."


class HookWaitsError(PeerUnreachableError):
    """The store that `memory hook` records in could not be reached; what happened is kept."""

    code = "HOOK_WAITS"
    hint = "It is recorded with the next hook of the session, or by dshloop memory outbox flush."


class PointUnknownError(UsageError):
    """`memory preview` was asked for a point that no memory row has, or no log tells of."""

    code = "POINT_UNKNOWN"


class StoreEncodingError(FailedError):
    """The database that a memory store is in has an encoding that can't hold every text."""

    code = "STORE_ENCODING"
    hint = "Make one that can: createdb --encoding UTF8 --template template0 NAME"
