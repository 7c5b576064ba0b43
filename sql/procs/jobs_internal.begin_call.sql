-- Begins a call that the REST front makes for a caller. The front has switched to the database user of the caller's role before; the
-- call must not go on as the front's login, whatever the reason.
--
-- Parameters:
--   @user            The user as whom the call must run: jobagent_reader, jobagent_operator, jobagent_author or jobagent_admin.
--   @caller          Name of the person or program.
--   @door            The way by which the call came, such as REST.
--   @address         Network address of the client; NULL or empty if it is not known.
--   @correlation_id  Joins the entries of one request.
--   @traceparent     The span of the caller (W3C Trace Context), to which runs that the call starts are linked; NULL or empty: none.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   0. Without @caller, the session context does not change: the call only reads.
-- Throws:
--   50190 the call does not run as the user of the caller's role.
CREATE OR ALTER PROCEDURE jobs_internal.begin_call
    @user           NVARCHAR(128),
    @caller         NVARCHAR(256) = NULL,
    @door           NVARCHAR(10) = NULL,
    @address        NVARCHAR(64) = NULL,
    @correlation_id UNIQUEIDENTIFIER = NULL,
    @traceparent    NVARCHAR(55) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @user IS NULL OR USER_NAME() <> @user
        THROW 50190, N'The call does not run as the database user of the caller''s role: the login must be a member of jobs_front.', 1;
    IF @caller IS NULL
        RETURN 0;
    -- Read-only: a session that was not reset after a call is refused (15664) and does not act for its last caller.
    EXECUTE sys.sp_set_session_context N'jobagent.caller', @caller, 1;
    EXECUTE sys.sp_set_session_context N'jobagent.door', @door, 1;
    EXECUTE sys.sp_set_session_context N'jobagent.address', @address, 1;
    EXECUTE sys.sp_set_session_context N'jobagent.correlation_id', @correlation_id, 1;
    IF LEN(@traceparent) = 55
        EXECUTE sys.sp_set_session_context N'jobagent.traceparent', @traceparent, 1;
    RETURN 0;
END;
