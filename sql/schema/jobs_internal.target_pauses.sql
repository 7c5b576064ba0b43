-- Pauses of databases (jobs.sp_pause_target): no attempt starts on them. DESIGN.md, "Held targets". A pause that has ended stays for a day,
-- so that passes make due what it held (release_targets).
--
-- Columns:
--   pause_id       Internal key.
--   target_id      The database; it need not be in targets.
--   server_name, database_name  Its names, as whoever paused it gave them, or as targets has them.
--   reason         Why; NULL: none was given.
--   paused_at      When it was paused.
--   paused_by      By whom.
--   ends_at        When the pause ends by itself; NULL: it does not.
--   resumed_at     When somebody ended it; NULL: nobody has.
CREATE TABLE jobs_internal.target_pauses (
    pause_id      BIGINT NOT NULL IDENTITY(1, 1),
    target_id     UNIQUEIDENTIFIER NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    reason        NVARCHAR(1000) NULL,
    paused_at     DATETIME2(7) NOT NULL,
    paused_by     NVARCHAR(128) NULL,
    ends_at       DATETIME2(7) NULL,
    resumed_at    DATETIME2(7) NULL,
    CONSTRAINT PK_target_pauses PRIMARY KEY (pause_id)
);

-- At most one pause of a database, besides those that somebody has ended.
CREATE UNIQUE INDEX UQ_target_pauses_target_id ON jobs_internal.target_pauses (target_id)
    INCLUDE (ends_at, resumed_at)
    WHERE resumed_at IS NULL;
CREATE INDEX IX_target_pauses_ends_at ON jobs_internal.target_pauses (ends_at)
    INCLUDE (resumed_at)
    WHERE ends_at IS NOT NULL AND resumed_at IS NULL;
CREATE INDEX IX_target_pauses_resumed_at ON jobs_internal.target_pauses (resumed_at)
    WHERE resumed_at IS NOT NULL;
