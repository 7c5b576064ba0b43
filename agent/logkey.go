package agent

// The keys of log fields. Nothing else is used as a key, so that a search finds every use; see DESIGN.md.
const (
	keyAgentID     = "agent_id"
	keyTermID      = "term_id"
	keyService     = "service"
	keyJobName     = "job_name"
	keyJobVersion  = "job_version"
	keyExecutionID = "execution_id"
	keyStepID      = "step_id"
	keyTaskID      = "task_id"
	keyServer      = "server"
	keyDatabase    = "database"
	keyAttempt     = "attempt"
	keyOutcome     = "outcome"
	keyCause       = "cause"
	keyError       = "error"
	keySQLError    = "sql_error_number"
	keySQLLine     = "sql_error_line"
	keyCount       = "count"
	keyElapsed     = "elapsed"
	keyRetryIn     = "retry_in"
	keyExpiresAt   = "expires_at"
	keyDueAt       = "due_at"
	keyVersion     = "version"
	keyStack       = "stack"
	keyInMemory    = "in_memory"
	keyInDatabase  = "in_database"

	keyOnlyInMemory   = "only_in_memory"
	keyOnlyInDatabase = "only_in_database"
	keyOtherAttempt   = "other_attempt"
)
