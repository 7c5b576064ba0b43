-- Changes a rule of alerts. Values that are not given stay. Its condition cannot be changed. When a rule is disabled, its open alerts are
-- resolved by the next evaluation.
--
-- Parameters:
--   @alert_name        Name of the rule.
--   @job_name          The one job to watch; N'': removes the scope. A new scope replaces the old one.
--   @job_pattern       Names of the jobs to watch; N'': removes the scope.
--   @lifecycles        See jobs.sp_add_alert, as the next ones.
--   @percent_failed    Least share of targets that did not succeed.
--   @factor            Multiple of the median.
--   @runs              Number of runs in the median.
--   @seconds           Grace period or age.
--   @severity          Info, Warning or Critical.
--   @channels          JSON array of the names of channels, which replaces the list.
--   @throttle_seconds  Least time between two notifications about the same subject.
--   @repeat_seconds    Time after which an open alert is notified again; 0: never.
--   @notify_resolved   1: notify when the alert is resolved.
--   @description       Free text.
--   @enabled           1 or 0.
--   @percent_changed   Least share of the databases of a target group that came or went.
--   @target_group_pattern  Names of the target groups to watch; N'': all.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), channels (S), the rule's row (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50034 the name is missing or empty.
--   50035 the condition is invalid, or a value is given that it does not use, or one is missing that it needs.
--   50036 the scope is invalid.
--   50041 the percentage is out of range.
--   50042 a number is out of range.
--   50043 a lifecycle is invalid.
--   50045 the severity or the list of channels is invalid.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50121 the rule does not exist.
--   50122 a channel does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_update_alert
    @alert_name       NVARCHAR(129),
    @job_name         NVARCHAR(129) = NULL,
    @job_pattern      NVARCHAR(129) = NULL,
    @lifecycles       NVARCHAR(201) = NULL,
    @percent_failed   DECIMAL(18, 4) = NULL,
    @factor           DECIMAL(18, 4) = NULL,
    @runs             INT = NULL,
    @seconds          INT = NULL,
    @severity         NVARCHAR(11) = NULL,
    @channels         NVARCHAR(MAX) = NULL,
    @throttle_seconds INT = NULL,
    @repeat_seconds   INT = NULL,
    @notify_resolved  BIT = NULL,
    @description      NVARCHAR(513) = NULL,
    @enabled          BIT = NULL,
    @percent_changed  DECIMAL(18, 4) = NULL,
    @target_group_pattern NVARCHAR(129) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_alert
        @mode = N'Update',
        @alert_name = @alert_name,
        @job_name = @job_name,
        @job_pattern = @job_pattern,
        @lifecycles = @lifecycles,
        @percent_failed = @percent_failed,
        @factor = @factor,
        @runs = @runs,
        @seconds = @seconds,
        @severity = @severity,
        @channels = @channels,
        @throttle_seconds = @throttle_seconds,
        @repeat_seconds = @repeat_seconds,
        @notify_resolved = @notify_resolved,
        @description = @description,
        @enabled = @enabled,
        @percent_changed = @percent_changed,
        @target_group_pattern = @target_group_pattern;
    RETURN 0;
END;
