-- Adds a rule: when an alert is raised, and which channels are told. Rules are evaluated by every agent and every front, some seconds
-- apart, also when no agent works. An alert is about one subject; there is one unresolved alert of a rule and subject, which counts
-- further events.
--
--   condition        raised when                                              about        resolved when
--   RunEnded         a run ends in one of @lifecycles                         the job      a later run ends in another one but Canceled
--   TargetsFailed    at least @percent_failed of the targets of a run did     the job      a later run ends with a smaller share;
--                    not succeed                                                           not one that failed without targets
--   RunTooLong       a run takes longer than @factor times the median of      the job      a later run ends in time
--                    the last @runs good runs, and than @seconds; also
--                    while it is still going
--   RunNotStarted    a run should have begun @seconds ago, and has not        the schedule, it begins
--                    (the watchdog); or a run, schedule or trigger has        or the job   or nothing of the job is set aside
--                    been set aside for @seconds (jobs.set_asides)
--   NoRun            no run of a job began for @seconds, or with              the job      a run begins, or ends in one of @lifecycles
--                    @lifecycles, none ended in one of them
--   ScheduleFaulted  a schedule is Faulted                                    the schedule it is not any more
--   SchedulePaused   a schedule has been paused for @seconds                  the schedule it is resumed
--   AgentSilent      the term of an agent expired @seconds ago without        the agent    it works on this host again, or after a week
--                    having been ended
--   NoAgent          no agent has been live for @seconds, and work waits      all          an agent is live, or no work waits
--
-- Conditions about roll-outs. The text of the alert says what happens next, when, and with which commands to act. @throttle_seconds counts
-- for each wave, and for each bake, by itself.
--
--   RolloutStopped        A gate failed and the roll-out is Stopped, or it paused at its deadline or because a wave has no targets; until
--                         it goes on or ends.
--   RolloutApprovalWaits  A wave waits for an approval; until it is approved, or the roll-out pauses or ends.
--   RolloutBakeEnds       The bake of a wave ends in @seconds or less; until it is over, or was extended.
--   RolloutDeadlineNear   The deadline is in @seconds or less; until it has passed, or the roll-out ends.
--
-- Condition about target groups:
--
--   TargetsChanged        In the last @seconds, a run resolved a target group to a list that lacks at least @percent_changed of the
--                         databases that the group had, or to which as many came; or the last list of the group is empty. The first list
--                         of a group, and the first after an empty one, only raises if it is empty. About the target group; until
--                         @seconds have passed without such a change, and the group is not empty.
--
-- A roll-out that fails because its plan aborts it at a gate or at its deadline is a run that ends: see RunEnded.
--
-- Parameters:
--   @alert_name        Name of the rule; unique.
--   @condition         See above.
--   @job_name          The one job to watch.
--   @job_pattern       Names of the jobs to watch, with * and ?. Without @job_name and @job_pattern, all jobs are watched.
--   @lifecycles        RunEnded, NoRun: lifecycles of runs, separated by commas. Default of RunEnded: Failed,TimedOut.
--   @percent_failed    TargetsFailed: 0.01 to 100.
--   @factor            RunTooLong: 1 to 1000; 2 by default.
--   @runs              RunTooLong: 3 to 100; 20 by default. With fewer than 3 good runs nothing is raised.
--   @seconds           See above. Default: 60; 30 of AgentSilent, 86400 of SchedulePaused, 300 of RolloutBakeEnds, 3600 of
--                      RolloutDeadlineNear and TargetsChanged, none of NoRun.
--   @severity          Info, Warning (default) or Critical.
--   @channels          JSON array of the names of channels; NULL: none, so alerts are only shown.
--   @throttle_seconds  Least time between two notifications about the same subject; 3600 by default.
--   @repeat_seconds    Time after which an open alert is notified again even without a new event; 0 (default): never.
--   @notify_resolved   1 (default): notify when the alert is resolved, unless it was acknowledged.
--   @description       Free text.
--   @enabled           1 (default) or 0.
--   @percent_changed   TargetsChanged: 0.01 to 1000; 10 by default.
--   @target_group_pattern  TargetsChanged: names of the target groups to watch, with * and ?. Without it, all are watched.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), channels (S), the range of the name in alert_rules (U); an insert into
--            audit_entries.
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
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50098 a name is empty.
--   50100 the job does not exist.
--   50119 a rule of this name exists already.
--   50122 a channel does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_alert
    @alert_name       NVARCHAR(129),
    @condition        NVARCHAR(31),
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
        @mode = N'Add',
        @alert_name = @alert_name,
        @condition = @condition,
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
