-- Pauses a roll-out whose deadline has passed, or says why it aborts.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @aborts        Output. 1: the plan aborts it, which is left to the caller. 0: it is paused.
--   @reason        Output. What has passed; NULL if it is paused.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.pass_deadline
    @execution_id BIGINT,
    @aborts       BIT = 0 OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @text NVARCHAR(2000);

    SELECT
        @aborts = CASE WHEN r.on_gate_failure = N'abort' THEN 1 ELSE 0 END,
        @text = CONCAT(N'The deadline ', CONVERT(NVARCHAR(19), r.deadline_at, 126), N'Z of the plan has passed.')
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    SET @reason = CASE WHEN @aborts = 1 THEN @text END;
    -- Once: a person who lets it go on knows that the deadline has passed.
    UPDATE r
    SET r.deadline_at = NULL,
        r.paused_at = CASE WHEN @aborts = 1 THEN r.paused_at ELSE COALESCE(r.paused_at, @now) END,
        r.paused_by = CASE WHEN @aborts = 1 THEN r.paused_by ELSE COALESCE(r.paused_by, N'(deadline)') END,
        r.pause_reason = CASE
            WHEN @aborts = 1 THEN r.pause_reason
            -- Why a person has paused it stays. It may have several deadlines during one pause, hence the cut.
            WHEN r.paused_at IS NOT NULL THEN CAST(CONCAT(r.pause_reason + N' ', @text) AS NVARCHAR(2000))
            ELSE @text
        END
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    RETURN 0;
END;
