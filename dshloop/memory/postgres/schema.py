"""The tables in PostgreSQL, as a list of migrations.

They live in a schema of their own (``dshloop`` unless told otherwise), whose table ``migrations``
says which it has had. Add to the end; never change one that was released. The columns are those of
the embedded store (sqlite/schema.py), so that the same statements work on both; what these
statements know from SQLite (``json_each``, ``has_concept``, ``has_file``) is made here.

Who owns the tables sees everything. For every other role row-level security decides by the table
``access``: a role sees the entries of its projects and those of no project, of its agents and
those of no agent. Documents and vectors follow; what `undo` can take back is each role's own.
"""

from __future__ import annotations

_ENTRY = """
      seq bigint PRIMARY KEY,
      id text COLLATE "C" NOT NULL UNIQUE,
      kind text COLLATE "C" NOT NULL,
      latest integer NOT NULL,
      type text COLLATE "C" NOT NULL,
      hook text COLLATE "C" NOT NULL,
      project text COLLATE "C" NOT NULL,
      agent text COLLATE "C" NOT NULL,
      session text COLLATE "C" NOT NULL,
      created_at double precision NOT NULL,
      updated_at double precision NOT NULL,
      strength double precision NOT NULL,
      expires_at double precision,
      version bigint NOT NULL,
      previous text COLLATE "C",
      repeats bigint NOT NULL,
      words bigint NOT NULL,
      digest bytea NOT NULL,
      title text COLLATE "C" NOT NULL,
      subtitle text COLLATE "C" NOT NULL,
      concepts text COLLATE "C" NOT NULL,
      files text COLLATE "C" NOT NULL,
      source text COLLATE "C" NOT NULL,
      content text COLLATE "C" NOT NULL
"""

_SESSION = """
      id text COLLATE "C" PRIMARY KEY,
      project text COLLATE "C" NOT NULL,
      cwd text COLLATE "C" NOT NULL,
      agent text COLLATE "C" NOT NULL,
      title text COLLATE "C",
      first_prompt text COLLATE "C",
      summary text COLLATE "C",
      started_at double precision NOT NULL,
      updated_at double precision NOT NULL,
      ended_at double precision,
      observations bigint NOT NULL
"""

_TABLES = (
    "CREATE SEQUENCE entry_numbers",
    "CREATE SEQUENCE operation_numbers",
    f"CREATE TABLE entries ({_ENTRY})",
    "CREATE INDEX entries_by_kind ON entries (kind, latest, seq)",
    "CREATE INDEX entries_by_project ON entries (project, kind, latest, seq)",
    "CREATE INDEX entries_by_session ON entries (session, seq) WHERE session <> ''",
    "CREATE INDEX entries_by_time ON entries (created_at)",
    "CREATE INDEX entries_by_end ON entries (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX entries_by_digest ON entries (digest)",
    "CREATE INDEX entries_by_previous ON entries (previous) WHERE previous IS NOT NULL",
    f"CREATE TABLE sessions ({_SESSION}, rowid bigint GENERATED ALWAYS AS IDENTITY)",
    "CREATE INDEX sessions_by_start ON sessions (started_at, rowid)",
    f"""
    CREATE TABLE forgotten (
      {_ENTRY}, operation bigint NOT NULL, forgotten_at double precision NOT NULL
    )
    """,
    f"CREATE TABLE forgotten_sessions ({_SESSION}, operation bigint NOT NULL)",
    "CREATE INDEX forgotten_by_operation ON forgotten (operation)",
    "CREATE INDEX forgotten_by_time ON forgotten (forgotten_at)",
    """
    CREATE TABLE operations (
      number bigint PRIMARY KEY,
      verb text NOT NULL,
      at double precision NOT NULL,
      detail text NOT NULL,
      role name NOT NULL DEFAULT current_user
    )
    """,
    """
    CREATE TABLE documents (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value text COLLATE "C" NOT NULL,
      updated_at double precision NOT NULL,
      UNIQUE (kind, key)
    )
    """,
)

# The latest entries as questions see them: the columns of ``entries`` that ranking and the usual
# filters want, the words of each field as text and all together as a tsvector (words.py), so that
# nothing has to be looked up for what is only compared. A list of rows that wait to be indexed
# would have to be read by every question, so there is none (fastupdate).
_INDEX = (
    """
    CREATE TABLE memory_index (
      seq bigint PRIMARY KEY,
      latest integer NOT NULL,
      size bigint NOT NULL,
      created_at double precision NOT NULL,
      strength double precision NOT NULL,
      expires_at double precision,
      kind text COLLATE "C" NOT NULL,
      project text COLLATE "C" NOT NULL,
      agent text COLLATE "C" NOT NULL,
      session text COLLATE "C" NOT NULL,
      manner text COLLATE "C" NOT NULL,
      title_words text COLLATE "C" NOT NULL,
      content_words text COLLATE "C" NOT NULL,
      concept_words text COLLATE "C" NOT NULL,
      file_words text COLLATE "C" NOT NULL,
      words tsvector NOT NULL
    )
    """,
    "CREATE INDEX memory_index_by_word ON memory_index USING gin (words) WITH (fastupdate = off)",
    "CREATE INDEX memory_index_by_project ON memory_index (project, kind, seq)",
    "CREATE INDEX memory_index_by_session ON memory_index (session, seq) WHERE session <> ''",
    "ALTER TABLE memory_index ALTER COLUMN words SET STATISTICS 300",
)

# Vectors (sqlite/meaning/vectors.py); numbers are never used twice.
_VECTORS = (
    """
    CREATE TABLE embedding_models (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text NOT NULL UNIQUE,
      dimensions integer NOT NULL,
      background bytea NOT NULL
    )
    """,
    """
    CREATE TABLE vectors (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      seq bigint NOT NULL REFERENCES entries ON DELETE CASCADE,
      model bigint NOT NULL REFERENCES embedding_models,
      vector bytea NOT NULL,
      UNIQUE (seq, model)
    )
    """,
    """
    CREATE FUNCTION drop_vector() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM {schema}.vectors WHERE seq = old.seq;
      RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER vector_outdated AFTER UPDATE OF title, content, latest ON entries FOR EACH ROW
    WHEN (old.content <> new.content OR old.title <> new.title OR new.latest = 0)
    EXECUTE FUNCTION drop_vector()
    """,
)

# JSON of PostgreSQL has no NUL and no lone surrogates: they are compared in a form of their own.
_FUNCTIONS = (
    """
    CREATE FUNCTION json_each(list text) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE AS $$
      SELECT CAST(one AS bigint) FROM json_array_elements_text(CAST(list AS json)) AS one
    $$
    """,
    r"""
    CREATE FUNCTION parsed(value text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
      SELECT CAST(
        regexp_replace(value, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\uFDD0\1', 'g') AS jsonb
      )
    $$
    """,
    """
    CREATE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT replace(lower(value COLLATE "und-x-icu"), 'ß', 'ss') COLLATE "C"
    $$
    """,
    """
    CREATE FUNCTION has_concept(stored text, wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE
    AS $$
      SELECT EXISTS (
        SELECT 1 FROM jsonb_array_elements_text({schema}.parsed(stored)) AS one
        WHERE {schema}.folded(one) = {schema}.folded({schema}.parsed(wanted) #>> '{}')
      )
    $$
    """,
    r"""
    CREATE FUNCTION has_file(stored text, wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
      SELECT EXISTS (
        SELECT 1 FROM
          (SELECT replace({schema}.parsed(wanted) #>> '{}', '\', '/') AS two) AS asked,
          LATERAL (
            SELECT replace(file, '\', '/') AS one
            FROM jsonb_array_elements_text({schema}.parsed(stored)) AS file
          ) AS files
        WHERE one = two
          OR right(one, length(two) + 1) = '/' || two OR right(two, length(one) + 1) = '/' || one
      )
    $$
    """,
)

_ACCESS = (
    """
    CREATE TABLE access (
      role name NOT NULL,
      project text COLLATE "C" NOT NULL,
      agent text COLLATE "C" NOT NULL DEFAULT '*',
      PRIMARY KEY (role, project, agent)
    )
    """,
    "ALTER TABLE access ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY own ON access FOR SELECT USING (role = current_user)",
)
# Sub-selects without a reference to the row are run once a statement, and their arrays can be
# looked up in an index.
_PROJECTS = "ARRAY(SELECT a.project FROM {schema}.access AS a)"
_SEEN = "ARRAY(SELECT a.project FROM {schema}.access AS a UNION ALL SELECT '')"
# What has no project is seen of the agents that a role has anywhere.
_WHOLE = """
    ARRAY(
      SELECT a.project FROM {schema}.access AS a WHERE a.agent = '*'
      UNION ALL SELECT '' FROM {schema}.access AS a WHERE a.agent = '*'
    )
"""
_PAIR = "length({0}project) || ':' || {0}project || {0}agent"
_PAIRS = f"""
    ARRAY(
      SELECT {_PAIR.format("a.")} FROM {{schema}}.access AS a
      UNION ALL SELECT '0:' || a.agent FROM {{schema}}.access AS a
    )
"""
_AGENT = f"(agent = '' OR project = ANY ({_WHOLE}) OR {_PAIR.format('')} = ANY ({_PAIRS}))"
_MAY_READ = f"project = ANY ({_SEEN}) AND {_AGENT}"
_MAY_WRITE = f"project = ANY ({_PROJECTS}) AND {_AGENT}"


def _guarded(table: str) -> tuple[str, ...]:
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY seen ON {table} FOR SELECT USING ({_MAY_READ})",
        f"CREATE POLICY added ON {table} FOR INSERT WITH CHECK ({_MAY_WRITE})",
        f"CREATE POLICY changed ON {table} FOR UPDATE USING ({_MAY_WRITE}) "
        f"WITH CHECK ({_MAY_WRITE})",
        f"CREATE POLICY gone ON {table} FOR DELETE USING ({_MAY_WRITE})",
    )


_SECURITY = (
    *_ACCESS,
    *(
        statement
        for table in ("entries", "memory_index", "sessions", "forgotten", "forgotten_sessions")
        for statement in _guarded(table)
    ),
    "ALTER TABLE vectors ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY follows ON vectors USING (
      EXISTS (SELECT 1 FROM {schema}.entries AS e WHERE e.seq = vectors.seq)
    )
    """,
    "ALTER TABLE operations ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE operations FORCE ROW LEVEL SECURITY",
    "CREATE POLICY own ON operations USING (role = current_user)",
    # What has no project is nobody's but the owner's.
    "ALTER TABLE documents ENABLE ROW LEVEL SECURITY",
)

# What the owner calls: let a role have the entries of a project, of one agent or of all (*).
_ALLOWING = (
    """
    CREATE FUNCTION allow(who name, which text, whose text DEFAULT '*') RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      EXECUTE format('GRANT USAGE ON SCHEMA {schema} TO %I', who);
      EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO %I', who);
      EXECUTE format(
        'REVOKE INSERT, UPDATE, DELETE ON {schema}.access, {schema}.migrations FROM %I', who);
      EXECUTE format('REVOKE UPDATE, DELETE ON {schema}.embedding_models FROM %I', who);
      EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO %I', who);
      INSERT INTO {schema}.access (role, project, agent) VALUES (who, which, whose)
      ON CONFLICT DO NOTHING;
    END $$
    """,
    """
    CREATE FUNCTION disallow(who name, which text) RETURNS void LANGUAGE sql AS $$
      DELETE FROM {schema}.access WHERE role = who AND project = which
    $$
    """,
)

_FIRST = (*_TABLES, *_INDEX, *_VECTORS, *_FUNCTIONS, *_SECURITY, *_ALLOWING)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Each a sequence of statements, run in one transaction; ``{schema}`` is the schema's name."""

# Run when there is pgvector, with ``{vector}`` for its schema; running it again does no harm.
PGVECTOR = (
    "ALTER TABLE {schema}.vectors ADD COLUMN IF NOT EXISTS embedding {vector}.vector",
    # A blob is a scale, which says nothing about the direction, and a signed byte a dimension.
    """
    CREATE OR REPLACE FUNCTION {schema}.as_vector(blob bytea) RETURNS {vector}.vector
    LANGUAGE sql IMMUTABLE AS $$
      SELECT CAST(
        array_agg(CAST(CASE WHEN byte > 127 THEN byte - 256 ELSE byte END AS real) ORDER BY place)
        AS {vector}.vector
      )
      FROM generate_series(4, length(blob) - 1) AS place, get_byte(blob, place) AS byte
    $$
    """,
    """
    CREATE OR REPLACE FUNCTION {schema}.fill_embedding() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      new.embedding := {schema}.as_vector(new.vector);
      RETURN new;
    END $$
    """,
    "DROP TRIGGER IF EXISTS embedding_filled ON {schema}.vectors",
    """
    CREATE TRIGGER embedding_filled BEFORE INSERT OR UPDATE OF vector ON {schema}.vectors
    FOR EACH ROW EXECUTE FUNCTION {schema}.fill_embedding()
    """,
    "UPDATE {schema}.vectors SET vector = vector WHERE embedding IS NULL",
    """
    CREATE OR REPLACE FUNCTION {schema}.index_model(model bigint, size integer) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      IF size <= 2000 THEN
        EXECUTE format(
          'CREATE INDEX IF NOT EXISTS %I ON {schema}.vectors USING hnsw'
          ' (CAST(embedding AS {vector}.vector(%s)) {vector}.vector_cosine_ops) WHERE model = %s',
          'vectors_of_model_' || model, size, model);
      END IF;
    END $$
    """,
    # Whoever stores the first vector of a model makes its index, as the owner of the tables.
    """
    CREATE OR REPLACE FUNCTION {schema}.model_added() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
    BEGIN
      PERFORM {schema}.index_model(new.number, new.dimensions);
      RETURN NULL;
    END $$
    """,
    "DROP TRIGGER IF EXISTS model_indexed ON {schema}.embedding_models",
    """
    CREATE TRIGGER model_indexed AFTER INSERT ON {schema}.embedding_models
    FOR EACH ROW EXECUTE FUNCTION {schema}.model_added()
    """,
    "SELECT {schema}.index_model(number, dimensions) FROM {schema}.embedding_models",
)
