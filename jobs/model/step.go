package model

import "github.com/google/uuid"

// The declarations of step settings below have these tags:
//
//   - db and json are the name of the column in the views of steps, of the parameter of the
//     procedures, and of the member in JSON and YAML.
//   - rule and doc are those of the files of jobagent apply: see package manifest.

// Attempts say how often a step is tried on a target, and how long.
type Attempts struct {
	RetryAttempts           int     `db:"retry_attempts" json:"retry_attempts" rule:"default=10,min=0,max=2147483647" doc:"Retries after the first attempt."`
	RetryErrors             string  `db:"retry_errors" json:"retry_errors" rule:"default=Transient,enum=Transient|All" doc:"Failures after which another attempt follows. Transient: those whose error may pass by itself."`
	ToleratedFailures       string  `db:"tolerated_failures" json:"tolerated_failures" rule:"default=0,max=10" doc:"How many targets may fail, and the step succeeds: a number, or a percentage such as 1%."`
	InitialRetryInterval    int     `db:"initial_retry_interval_seconds" json:"initial_retry_interval_seconds" rule:"default=1,min=1,max=2147483" doc:"Wait before the first retry."`
	MaximumRetryInterval    int     `db:"maximum_retry_interval_seconds" json:"maximum_retry_interval_seconds" rule:"default=120,min=1,max=2147483" doc:"Maximum wait between two attempts."`
	RetryIntervalMultiplier float64 `db:"retry_interval_backoff_multiplier" json:"retry_interval_backoff_multiplier" rule:"default=2,min=1,max=1000000" doc:"Factor between two successive waits."`
	Timeout                 int     `db:"step_timeout_seconds" json:"step_timeout_seconds" rule:"default=43200,min=1,max=2147483" doc:"Time limit of the step on one database, waits included."`
}

// StepOptions say when a step runs and how. Azure Elastic Jobs does not have them.
type StepOptions struct {
	RunWhen          string `db:"run_when" json:"run_when" rule:"default=Succeeded,enum=Succeeded|Failed|Finished" doc:"When it starts, once the steps before it are final: Succeeded, Failed (at least one failed) or Finished."`
	OnTargets        string `db:"on_targets" json:"on_targets" rule:"default=All,enum=All|Failed|Succeeded" doc:"All; Failed: only the targets on which the steps before it failed; Succeeded: only those on which they succeeded."`
	OnUnknownOutcome string `db:"on_unknown_outcome" json:"on_unknown_outcome" rule:"default=Retry,enum=Retry|Fail|Await" doc:"What follows an attempt whose outcome is unknown: Retry, Fail or, for actions, Await."`
	AtMostOnce       bool   `db:"at_most_once" json:"at_most_once" rule:"default=false" doc:"No attempt runs the script again once it has committed."`
	AgentOptions
}

// AgentOptions are the options that only agents read: the members of a JSON object in the control
// database, where one that has its default is absent.
type AgentOptions struct {
	BindParameters bool `db:"bind_parameters" json:"bind_parameters" rule:"default=false" doc:"The run's parameters are variables of the script."`
}

// StepSettings are the settings of a step that have a value in any case.
type StepSettings struct {
	Attempts
	StepOptions
}

// DefaultStep are the settings that jobs.sp_add_jobstep gives a step. Files of jobagent apply and
// jobagent step add give Transient in place of All: T-SQL has Azure's default.
var DefaultStep = StepSettings{
	Attempts: Attempts{
		RetryAttempts: 10, RetryErrors: "All", ToleratedFailures: "0", InitialRetryInterval: 1, MaximumRetryInterval: 120,
		RetryIntervalMultiplier: 2, Timeout: 43200,
	},
	StepOptions: StepOptions{RunWhen: "Succeeded", OnTargets: "All", OnUnknownOutcome: "Retry"},
}

// StepSpec is what a caller gives of a step: the arguments of jobs.sp_add_jobstep,
// jobs.sp_update_jobstep and jobs.sp_set_jobstep. A nil field is not sent: a new step gets the
// default, and an existing one keeps its value. In an update, an empty text and a MaxParallelism of
// -1 remove the value.
type StepSpec struct {
	JobName string
	// StepID is the position of a new step; it or StepName selects an existing one.
	StepID   *int
	StepName *string
	// NewID and NewName move and rename a step.
	NewID                   *int
	NewName                 *string
	CommandType             *string // as action.Type, in any case; nil means TSql; a change needs Command
	Command                 *string
	Credential              *string
	TargetGroup             *string // empty or nil for an action on its endpoint
	InitialRetryInterval    *int    // seconds
	MaximumRetryInterval    *int    // seconds
	RetryIntervalMultiplier *float64
	RetryAttempts           *int
	Timeout                 *int // seconds
	Output                  *OutputSpec
	MaxParallelism          *int
	RetryErrors             *string
	ToleratedFailures       *string
	// After names the steps that come before: one name, names separated by commas, or a JSON array
	// of names. An empty text means none. "(default)" means the step with the preceding id.
	After            *string
	RunWhen          *string
	OnTargets        *string
	OnUnknownOutcome *string
	AtMostOnce       *bool
	BindParameters   *bool
}

// OutputSpec is the destination of a step's first result set. A nil field is not sent.
type OutputSpec struct {
	Type, Credential, Server, Database, Schema, Table *string
	SubscriptionID                                    *uuid.UUID
	ResourceGroup                                     *string
}

// output returns the output of a step for writing.
func (s *StepSpec) output() *OutputSpec {
	if s.Output == nil {
		return new(OutputSpec)
	}
	return s.Output
}

// StepField is a field of a [StepSpec].
type StepField = Field[StepSpec, StepSettings]

// StepChanges returns what differs between the settings of a step.
func StepChanges(now, before StepSettings) StepSpec { return Changes(StepFields, &now, &before) }

// StepFields are the fields of steps that all doors have, in the order in which procedures take
// them.
var StepFields = []StepField{
	argument(StepField{Name: "command_type", Flag: "command-type"}, func(s *StepSpec) **string { return &s.CommandType }),
	argument(StepField{Name: "command", Flag: "command"}, func(s *StepSpec) **string { return &s.Command }),
	argument(StepField{Name: "credential_name", Flag: "credential"}, func(s *StepSpec) **string { return &s.Credential }),
	argument(StepField{Name: "target_group_name", Flag: "target-group"}, func(s *StepSpec) **string { return &s.TargetGroup }),
	setting(StepField{Name: "initial_retry_interval_seconds", Flag: "initial-retry-interval", Seconds: true, Usage: "wait before the first retry"},
		func(s *StepSpec) **int { return &s.InitialRetryInterval }, func(s *StepSettings) *int { return &s.InitialRetryInterval }),
	setting(StepField{Name: "maximum_retry_interval_seconds", Flag: "maximum-retry-interval", Seconds: true, Usage: "longest wait between two retries"},
		func(s *StepSpec) **int { return &s.MaximumRetryInterval }, func(s *StepSettings) *int { return &s.MaximumRetryInterval }),
	setting(StepField{Name: "retry_interval_backoff_multiplier", Flag: "retry-interval-multiplier", Usage: "factor by which the interval grows with each retry"},
		func(s *StepSpec) **float64 { return &s.RetryIntervalMultiplier }, func(s *StepSettings) *float64 { return &s.RetryIntervalMultiplier }),
	setting(StepField{Name: "retry_attempts", Flag: "retry-attempts", Usage: "retries after the first attempt"},
		func(s *StepSpec) **int { return &s.RetryAttempts }, func(s *StepSettings) *int { return &s.RetryAttempts }),
	setting(StepField{Name: "step_timeout_seconds", Flag: "timeout", Seconds: true, Usage: "time limit on one target, retries included, such as 30m"},
		func(s *StepSpec) **int { return &s.Timeout }, func(s *StepSettings) *int { return &s.Timeout }),
	argument(StepField{Name: "output_type", Flag: "output-type"}, func(s *StepSpec) **string { return &s.output().Type }),
	argument(StepField{Name: "output_credential_name", Flag: "output-credential"}, func(s *StepSpec) **string { return &s.output().Credential }),
	argument(StepField{Name: "output_subscription_id"}, func(s *StepSpec) **uuid.UUID { return &s.output().SubscriptionID }),
	argument(StepField{Name: "output_resource_group_name"}, func(s *StepSpec) **string { return &s.output().ResourceGroup }),
	argument(StepField{Name: "output_server_name", Flag: "output-server"}, func(s *StepSpec) **string { return &s.output().Server }),
	argument(StepField{Name: "output_database_name", Flag: "output-database"}, func(s *StepSpec) **string { return &s.output().Database }),
	argument(StepField{Name: "output_schema_name", Flag: "output-schema"}, func(s *StepSpec) **string { return &s.output().Schema }),
	argument(StepField{Name: "output_table_name", Flag: "output-table"}, func(s *StepSpec) **string { return &s.output().Table }),
	argument(StepField{Name: "max_parallelism", Flag: "max-parallelism"}, func(s *StepSpec) **int { return &s.MaxParallelism }),
	setting(StepField{Name: "on_unknown_outcome", Flag: "on-unknown-outcome", Extension: true,
		Usage: "`ACTION` after an attempt whose outcome is unknown: Retry, Fail, or for an action Await (a report)"},
		func(s *StepSpec) **string { return &s.OnUnknownOutcome }, func(s *StepSettings) *string { return &s.OnUnknownOutcome }),
	setting(StepField{Name: "at_most_once", Flag: "at-most-once", Extension: true,
		Usage: "run the script in one transaction with a row of jobagent.executed_scripts in the target, which shows a later attempt that the script has committed"},
		func(s *StepSpec) **bool { return &s.AtMostOnce }, func(s *StepSettings) *bool { return &s.AtMostOnce }),
	setting(StepField{Name: "bind_parameters", Flag: "bind-parameters", Extension: true,
		Usage: "make the run's parameters variables of the script: the parameter tenant is @tenant",
		Words: func(*StepSettings) (string, string) { return "Parameters", "of the run are variables of the script" }},
		func(s *StepSpec) **bool { return &s.BindParameters }, func(s *StepSettings) *bool { return &s.BindParameters }),
	setting(StepField{Name: "retry_errors", Flag: "retry-errors", Extension: true,
		Usage: "`ERRORS` after which another attempt follows: Transient (those that may pass by themselves: connections, deadlocks, time-outs, throttling) or All"},
		func(s *StepSpec) **string { return &s.RetryErrors }, func(s *StepSettings) *string { return &s.RetryErrors }),
	setting(StepField{Name: "tolerated_failures", Flag: "tolerated-failures", Extension: true,
		Usage: "how many targets may fail, and the step succeeds: a `NUMBER`, or a percentage such as 1%"},
		func(s *StepSpec) **string { return &s.ToleratedFailures }, func(s *StepSettings) *string { return &s.ToleratedFailures }),
	argument(StepField{Name: "after", Flag: "after", Extension: true,
		Usage: "`NAME` of a step that comes before; may be repeated; '' for none, (default) for the step before"},
		func(s *StepSpec) **string { return &s.After }),
	setting(StepField{Name: "run_when", Flag: "run-when", Extension: true,
		Usage: "`RESULT` of those steps after which it starts: Succeeded, Failed (at least one) or Finished"},
		func(s *StepSpec) **string { return &s.RunWhen }, func(s *StepSettings) *string { return &s.RunWhen }),
	setting(StepField{Name: "on_targets", Flag: "on-targets", Extension: true,
		Usage: "All, or Failed or Succeeded: the `TARGETS` on which those steps failed or succeeded"},
		func(s *StepSpec) **string { return &s.OnTargets }, func(s *StepSettings) *string { return &s.OnTargets }),
}
