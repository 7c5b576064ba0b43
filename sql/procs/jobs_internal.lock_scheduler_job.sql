-- Finds a job of a job collection, and locks its rows until the caller's transaction ends.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @job_name             Name of the job within the collection.
--   @collection_id        Receives the id of the collection.
--   @collection_state     Receives its state.
--   @full_name            Receives the name of the job: that of the collection, a slash, and @job_name, as they are stored.
--   @job_id               Receives the id of the job.
--   @schedule_id          Receives the id of its schedule.
--   @state                Receives the state of the job, as in jobs.scheduler_jobs.
--   @revision             Receives the revision of the job.
-- Called by: jobs.sp_enable_scheduler_job, jobs.sp_run_scheduler_job, within their transactions.
-- Locks:     one row of job_collections (U), one of jobs (U), one of schedules (U).
-- Returns:   0.
-- Throws:
--   50164 the job collection does not exist.
--   50165 the job collection has no job of this name.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.lock_scheduler_job
    @job_collection_name NVARCHAR(200),
    @job_name            NVARCHAR(200),
    @collection_id       UNIQUEIDENTIFIER OUTPUT,
    @collection_state    NVARCHAR(10) OUTPUT,
    @full_name           NVARCHAR(128) OUTPUT,
    @job_id              UNIQUEIDENTIFIER OUTPUT,
    @schedule_id         BIGINT OUTPUT,
    @state               NVARCHAR(20) OUTPUT,
    @revision            BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @version INT;
    DECLARE @schedule_revision INT;

    EXECUTE jobs_internal.lock_job_collection
        @job_collection_name = @job_collection_name,
        @collection_id = @collection_id OUTPUT,
        @state = @collection_state OUTPUT;
    SET @full_name = NULL;
    SELECT @job_id = s.job_id
    FROM jobs_internal.scheduler_jobs AS s
    WHERE s.collection_id = @collection_id
        AND s.name = @job_name;
    -- current_version and the revision of schedules are in no index, so that the locks are on the clustered keys, where firings and
    -- passes look for them.
    SELECT
        @full_name = j.name,
        @version = j.current_version,
        @revision = j.revision
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
    WHERE j.job_id = @job_id
        AND j.deleted_at IS NULL;
    IF @full_name IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job collection ''', @job_collection_name, N''' has no job named ''', @job_name,
            N'''. The view jobs.scheduler_jobs lists all jobs of collections.'
        ), N'%', N'%%');
        THROW 50165, @message, 1;
    END;
    SELECT
        @schedule_id = s.schedule_id,
        @schedule_revision = s.revision
    FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
    WHERE s.job_id = @job_id
        AND s.name = N'scheduler';
    SELECT @state = v.state
    FROM jobs_internal.scheduler_states AS v
    WHERE v.job_id = @job_id;
    RETURN 0;
END;
