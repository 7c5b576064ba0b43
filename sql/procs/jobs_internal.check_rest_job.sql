-- Checks the parts of a job of the SAP surface that T-SQL relies on. The front checks names and URLs in detail.
--
-- Parameters:
--   @name         Name; NULL: it does not change.
--   @action       URL, or of a task process: and the name of an entry of the agents' configuration; NULL: it does not change.
--   @http_method  Method; NULL: it does not change.
--   @user_name    User of the endpoint.
--   @job_type     HTTP_ENDPOINT or CF_TASK.
-- Called by: jobs_rest.set_job, jobs_rest.update_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50087 the name of a job is invalid.
--   50088 the action is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_rest_job
    @name        NVARCHAR(MAX),
    @action      NVARCHAR(MAX),
    @http_method NVARCHAR(100),
    @user_name   NVARCHAR(MAX),
    @job_type    NVARCHAR(20) = N'HTTP_ENDPOINT'
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @job_name NVARCHAR(128);

    IF @name IS NOT NULL
    BEGIN
        IF DATALENGTH(@name) NOT BETWEEN 2 AND 256
            OR LEFT(@name COLLATE Latin1_General_100_BIN2, 1) = N' '
            OR RIGHT(@name COLLATE Latin1_General_100_BIN2, 1) = N' ' -- half of an emoji would equal a blank in older collations
            OR CHARINDEX(N'#', @name) > 0
            OR @name COLLATE Latin1_General_100_BIN2 NOT LIKE N'%[^0-9]%'
            THROW 50087, N'Invalid name of a job: want 1 to 128 characters, not digits alone, no # and no space at the ends.', 1;
        SET @job_name = @name;
        EXECUTE jobs_internal.check_job_name @job_name = @job_name;
    END;
    IF @job_type NOT IN (N'HTTP_ENDPOINT', N'CF_TASK') OR @job_type IS NULL
        THROW 50088, N'Invalid jobType: want HTTP_ENDPOINT or CF_TASK.', 1;
    IF @job_type = N'CF_TASK'
    BEGIN
        -- Entries have names of at most 128 letters, digits, dots, hyphens and underscores.
        IF @action IS NOT NULL
            AND (
                DATALENGTH(@action) > 2 * (LEN(N'process:') + 128)
                OR @action COLLATE Latin1_General_100_BIN2 NOT LIKE N'process:[A-Za-z0-9]%'
                OR SUBSTRING(@action, LEN(N'process:') + 1, 128) COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9._-]%'
            )
            THROW 50088, N'Invalid action of a task: want process: and the name of an entry of the agents'' configuration.', 1;
        IF @http_method <> N'POST' OR @user_name <> N''
            THROW 50088, N'Invalid httpMethod or user: a task is a process, and sends no request. Leave both out.', 1;
        RETURN 0;
    END;
    -- A variable in the URL would be expanded, and could be a secret.
    IF @action IS NOT NULL
        AND (
            DATALENGTH(@action) > 4096
            OR (@action NOT LIKE N'http://_%' AND @action NOT LIKE N'https://_%')
            OR CHARINDEX(N'$(', @action) > 0
        )
        THROW 50088, N'Invalid action URL: want http or https, at most 2048 characters, and no $(.', 1;
    IF @http_method NOT IN (N'GET', N'POST', N'PUT', N'DELETE')
        THROW 50088, N'Invalid httpMethod: want GET, POST, PUT or DELETE.', 1;
    IF DATALENGTH(@user_name) > 2048 OR CHARINDEX(N'$(', @user_name) > 0
        THROW 50088, N'Invalid user: want at most 1024 characters, and no $(.', 1;
    RETURN 0;
END;
