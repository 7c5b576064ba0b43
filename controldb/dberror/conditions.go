package dberror

import (
	"errors"
	"fmt"
)

// Kind groups error numbers by the reaction that they allow.
type Kind string

// The kinds. KindNone is the kind of errors that no procedure of ours throws.
const (
	KindNone     Kind = ""
	KindInvalid  Kind = "invalid"   // an argument is invalid; nothing was done
	KindNotFound Kind = "not found" // the named object does not exist
	KindConflict Kind = "conflict"  // the state forbids it: the object exists, is in use, or is running
	KindStale    Kind = "stale"     // the caller no longer holds the term or task, or knows an old revision
)

// The sentinels of errors that callers distinguish. Every error that a procedure throws wraps one
// of them or has a kind (KindOf). Its text always contains the procedure's own message.
var (
	// ErrTermEnded means that the caller's term has ended; the caller holds no task.
	ErrTermEnded = errors.New("the term has ended")
	// ErrIncarnation means that the control database was restored since the caller's term began. It
	// is a kind of ErrTermEnded: the agent drops what it knows, and starts another term.
	ErrIncarnation = fmt.Errorf("the control database has another incarnation: %w", ErrTermEnded)
	// ErrPaused means that the control database is paused, so nothing starts.
	ErrPaused = errors.New("the control database is paused")
	// ErrTaskNotHeld means that the caller's term does not hold the task, or that the task has its
	// outcome already.
	ErrTaskNotHeld = errors.New("the task is not held by this term")
	// ErrJobNotFound means that no job has this name or id.
	ErrJobNotFound = errors.New("job not found")
	// ErrJobExists means that a job has this name already.
	ErrJobExists = errors.New("job exists")
	// ErrJobActive means that a job has active executions.
	ErrJobActive = errors.New("job has active executions")
	// ErrStepNotFound means that the job has no step of this id or name.
	ErrStepNotFound = errors.New("job step not found")
	// ErrGroupNotFound means that no target group has this name.
	ErrGroupNotFound = errors.New("target group not found")
	// ErrGroupExists means that a target group has this name already.
	ErrGroupExists = errors.New("target group exists")
	// ErrGroupInUse means that a job's current version or an active run uses the target group.
	ErrGroupInUse = errors.New("target group is in use")
	// ErrMemberNotFound means that the target group has no such member.
	ErrMemberNotFound = errors.New("target group member not found")
	// ErrTargetNotFound means that a database is not known: its names or its id have to be given.
	ErrTargetNotFound = errors.New("database not known")
	// ErrExecutionNotFound means that no execution has this id.
	ErrExecutionNotFound = errors.New("job execution not found")
	// ErrBaselineNotFound means that there is no baseline of schemas of this name.
	ErrBaselineNotFound = errors.New("baseline not found")
	// ErrTriggerNotFound means that the job has no trigger of this name.
	ErrTriggerNotFound = errors.New("trigger not found")
	// ErrTriggerExists means that the job has a trigger of this name already.
	ErrTriggerExists = errors.New("trigger exists")
	// ErrScheduleNotFound means that the job has no schedule of this name.
	ErrScheduleNotFound = errors.New("schedule not found")
	// ErrScheduleExists means that the job has a schedule of this name already.
	ErrScheduleExists = errors.New("schedule exists")
	// ErrBackfillNotFound means that no backfill has this id.
	ErrBackfillNotFound = errors.New("backfill not found")
	// ErrSecretNotFound means that no secret has this name.
	ErrSecretNotFound = errors.New("secret not found")
	// ErrSecretKeysChanged means that a secret was not sealed for exactly the active keys.
	ErrSecretKeysChanged = errors.New("the keys of secrets have changed")
	// ErrSecretChanged means that another session has set the secret meanwhile.
	ErrSecretChanged = errors.New("the secret has changed")
	// ErrCalendarNotFound means that no calendar has this name.
	ErrCalendarNotFound = errors.New("calendar not found")
	// ErrTargetWindowNotFound means that no window of databases has this name.
	ErrTargetWindowNotFound = errors.New("window of databases not found")
	// ErrTargetNotPaused means that the database is not paused.
	ErrTargetNotPaused = errors.New("database is not paused")
	// ErrQuestionNotFound means that no question has this id, or that it was deleted.
	ErrQuestionNotFound = errors.New("question not found")
	// ErrCallbackNotFound means that no callback has this token, or that the run has no callback.
	ErrCallbackNotFound = errors.New("callback not found")
	// ErrCallbackEnded means that a callback has ended with another report, or without one.
	ErrCallbackEnded = errors.New("callback has ended")
	// ErrSAPNotFound means that a job, schedule, run or subscription of the SAP surface does not
	// exist, or belongs to another tenant.
	ErrSAPNotFound = errors.New("not found")
	// ErrSAPExists means that the tenant has a job of this name already.
	ErrSAPExists = errors.New("job exists in the tenant")
	// ErrSAPAmbiguous means that several tenants have a job of this name.
	ErrSAPAmbiguous = errors.New("several tenants have a job of this name")
	// ErrSAPRunNotStarted means that nothing was sent for the run yet.
	ErrSAPRunNotStarted = errors.New("the run has not been started")
	// ErrSAPTaskRun means that the run is one of a task, which ends with its process.
	ErrSAPTaskRun = errors.New("the run of a task ends with its process")
	// ErrSAPMode means that a change names another mode than the schedule's.
	ErrSAPMode = errors.New("the mode of a schedule cannot be changed")
	// ErrSAPTenant means that the tenant has no subscription.
	ErrSAPTenant = errors.New("the tenant has no subscription")
	// ErrNoRoleUser means that the login may not make calls as the database user of a role:
	// it is not a member of jobs_front.
	ErrNoRoleUser = errors.New("the login is not a member of jobs_front")
	// ErrCredentialNotFound means that no stored credential has this name.
	ErrCredentialNotFound = errors.New("credential not found")
	// ErrEndpointNotFound means that no private endpoint has this name.
	ErrEndpointNotFound = errors.New("private endpoint not found")
	// ErrRevision means that an object does not have the revision that the caller expects: it was
	// changed, created or deleted meanwhile.
	ErrRevision = errors.New("the object has another revision")
	// ErrAgentName means that the name of a job agent is missing or invalid.
	ErrAgentName = errors.New("invalid name of a job agent")
	// ErrAgentCapacity means that the SKU or the capacity of a job agent is invalid, or that they
	// do not match.
	ErrAgentCapacity = errors.New("invalid SKU or capacity of a job agent")
	// ErrAgentUnavailable means that the state of the job agent does not permit the call: it is
	// Disabled, Faulted or being deleted, or was deleted.
	ErrAgentUnavailable = errors.New("the job agent is unavailable")
	// ErrAgentBusy means that an operation on the job agent is in progress.
	ErrAgentBusy = errors.New("an operation on the job agent is in progress")
	// ErrAgentNotFound means that the control database has no job agent of this name.
	ErrAgentNotFound = errors.New("job agent not found")
	// ErrAgentLinked means that the control database has a job agent of another name.
	ErrAgentLinked = errors.New("the control database has another job agent")
	// ErrCollectionNotFound means that no job collection has this name.
	ErrCollectionNotFound = errors.New("job collection not found")
	// ErrSchedulerJobNotFound means that the job collection has no job of this name.
	ErrSchedulerJobNotFound = errors.New("job of the job collection not found")
	// ErrQuotaExceeded means that a quota of the job collection is exceeded.
	ErrQuotaExceeded = errors.New("quota exceeded")
	// ErrCollectionJob means that the job belongs to a job collection, and is changed there.
	ErrCollectionJob = errors.New("the job belongs to a job collection")
	// ErrAlertExists means that an alert rule or channel has this name already.
	ErrAlertExists = errors.New("alert rule or channel exists")
	// ErrChannelNotFound means that no alert channel has this name.
	ErrChannelNotFound = errors.New("alert channel not found")
	// ErrAlertNotFound means that no alert rule has this name, or no alert this id.
	ErrAlertNotFound = errors.New("alert not found")
	// ErrCalendarExists means that a calendar has this name already.
	ErrCalendarExists = errors.New("calendar exists")
)

// condition describes one error number.
type condition struct {
	kind     Kind
	sentinel error  // nil: callers have only the kind
	text     string // for the reference
}

// conditions holds every number of a THROW in the folder sql; a test compares the two.
var conditions = map[int32]condition{
	50001: {KindInvalid, nil, "the job name is missing or empty"},
	50002: {KindInvalid, nil, "the job name contains %"},
	50003: {KindInvalid, nil, "the job name is reserved for system jobs"},
	50004: {
		KindInvalid,
		nil,
		"the schedule interval type is invalid: want Once, Minutes, Hours, Days, Weeks or Months",
	},
	50005: {KindInvalid, nil, "the schedule interval count is below 1"},
	50006: {KindInvalid, nil, "the schedule ends before it starts"},
	50007: {KindInvalid, nil, "the command type is unknown"},
	50008: {KindInvalid, nil, "the command source is not Inline"},
	50009: {KindInvalid, nil, "the command is missing or empty"},
	50010: {KindInvalid, nil, "the step name is missing or empty"},
	50011: {KindInvalid, nil, "the step id is out of range"},
	50012: {KindInvalid, nil, "the target group name is missing or empty"},
	50013: {KindInvalid, nil, "the initial retry interval is out of range"},
	50014: {KindInvalid, nil, "the maximum retry interval is out of range"},
	50015: {KindInvalid, nil, "the retry interval backoff multiplier is below 1"},
	50016: {KindInvalid, nil, "the number of retry attempts is negative"},
	50017: {KindInvalid, nil, "a time limit of the step is out of range"},
	50018: {KindInvalid, nil, "the output type is not SqlDatabase"},
	50019: {KindInvalid, nil, "the output lacks its server, database or table name"},
	50020: {KindInvalid, nil, "the maximum parallelism is below 1"},
	50021: {KindInvalid, nil, "neither step id nor step name is given"},
	50022: {KindInvalid, nil, "the membership type is neither Include nor Exclude"},
	50023: {KindInvalid, nil, "the target type is invalid: want SqlServer, SqlElasticPool, SqlDatabase or SqlShardMap"},
	50024: {KindInvalid, nil, "a name that the target type needs is missing"},
	50025: {KindInvalid, nil, "a name is given that the target type does not use"},
	50026: {KindInvalid, nil, "the target id is missing"},
	50027: {KindInvalid, nil, "both job name and job id are given, or neither"},
	50028: {KindInvalid, nil, "the job execution id is missing"},
	50029: {KindInvalid, nil, "an argument of an internal procedure is missing or out of range"},
	50030: {KindInvalid, nil, "step id and step name refer to different steps"},
	50031: {KindInvalid, nil, "a final state to run again is invalid, or none is given"},
	50032: {KindInvalid, nil, "the reaction to an unknown outcome is neither Retry, Fail nor Await"},
	50033: {KindInvalid, nil, "no step option is given"},
	50034: {KindInvalid, nil, "the name of an alert rule or channel is missing or empty"},
	50035: {KindInvalid, nil, "the condition of an alert is invalid, or does not fit the values given"},
	50036: {KindInvalid, nil, "the scope of an alert is invalid"},
	50041: {KindInvalid, nil, "the percentage of an alert is out of range"},
	50042: {KindInvalid, nil, "a number or a time of an alert is out of range"},
	50043: {KindInvalid, nil, "a lifecycle of an alert is invalid"},
	50044: {KindInvalid, nil, "the type or the definition of an alert channel is invalid"},
	50045: {KindInvalid, nil, "the severity or the channels of an alert are invalid"},
	50037: {KindInvalid, nil, "the scope of a limit is invalid: want Job, Server, ElasticPool or Credential"},
	50038: {KindInvalid, nil, "the name of the limited object is missing or empty"},
	50039: {KindInvalid, nil, "a server name is given for a limit that is not an elastic pool's"},
	50040: {KindInvalid, nil, "the limit is below 1"},
	50046: {KindInvalid, nil, "the schedule name is NULL; an empty name means the schedule of jobs.sp_add_job"},
	50047: {KindInvalid, nil, "the name of a new schedule, or the new name of a schedule, is missing or empty"},
	50048: {KindInvalid, nil, "the schedule kind is invalid"},
	50049: {KindInvalid, nil, "the schedule text is missing or empty"},
	50050: {KindInvalid, nil, "the overlap policy is invalid"},
	50051: {KindInvalid, nil, "the range of the backfill is missing, or ends before it starts"},
	50052: {KindInvalid, nil, "the range of the backfill ends in the future"},
	50053: {KindInvalid, nil, "the calendar name is missing or empty"},
	50054: {KindInvalid, nil, "the calendar text is not a JSON object"},
	50055: {KindNotFound, nil, "the setting does not exist"},
	50056: {KindInvalid, nil, "the value is outside the setting's range"},
	50057: {KindInvalid, nil, "an action has an output"},
	50058: {KindInvalid, nil, "the definition of an action is invalid"},
	50059: {KindInvalid, nil, "a TSql step would await a report"},
	50060: {KindInvalid, nil, "the report of a callback lacks an argument"},
	50061: {KindInvalid, nil, "the report may be about several callbacks"},
	50062: {KindInvalid, nil, "the declarations of parameters are invalid"},
	50063: {KindInvalid, nil, "@run_when is not Succeeded, Failed or Finished"},
	50064: {KindInvalid, nil, "@on_targets is not All, Failed or Succeeded"},
	50065: {KindInvalid, nil, "@after is not a list of names"},
	50066: {KindInvalid, nil, "a step whose @run_when is Failed, or whose @on_targets is not All, comes after no step"},
	50067: {KindInvalid, nil, "a step with @on_targets Failed has the @run_when Succeeded"},
	50068: {KindInvalid, nil, "@retry_errors is neither All nor Transient"},
	50069: {KindInvalid, nil, "a parameter does not have the declared type, or is not one of the choices"},
	50070: {KindInvalid, nil, "the parameters are not a JSON object"},
	50071: {KindInvalid, nil, "the parameters are too long"},
	50072: {KindInvalid, nil, "a name in the parameters is empty, too long, or has a control character"},
	50073: {KindInvalid, nil, "a name in the parameters is there twice"},
	50074: {KindInvalid, nil, "the name of a secret is missing or invalid"},
	50075: {KindInvalid, nil, "the sealed secret is invalid"},
	50076: {KindInvalid, nil, "the public key does not have 32 bytes"},
	50077: {KindInvalid, nil, "the name of the secret is reserved for REST"},
	50082: {KindInvalid, nil, "the name of a job collection, or of a job in one, is missing or invalid"},
	50083: {KindInvalid, nil, "a setting of the job collection is invalid"},
	50084: {KindInvalid, nil, "a setting of the job is invalid"},
	50085: {KindInvalid, nil, "the plan Free permits no authentication"},
	50086: {KindInvalid, nil, "the list of secrets is invalid"},
	50094: {KindInvalid, ErrAgentName, "the name of the job agent is missing or invalid"},
	50095: {KindInvalid, ErrAgentCapacity, "the SKU or the capacity of the job agent is invalid, or they do not match"},
	50096: {KindInvalid, nil, "the tags of the job agent are not a JSON object of texts"},
	50078: {KindInvalid, nil, "a member is there twice"},
	50079: {KindInvalid, nil, "the members are not a JSON array of objects"},
	50080: {KindInvalid, nil, "a name is missing or empty"},
	50081: {KindInvalid, nil, "a credential lacks its password"},
	50087: {KindInvalid, nil, "the name of a job of the SAP surface is invalid"},
	50088: {KindInvalid, nil, "the action, method, user or type of a job of the SAP surface is invalid"},
	50089: {KindInvalid, nil, "the id of a tenant, or the name of an application, is missing"},
	50090: {KindInvalid, nil, "an argument of a procedure of the SAP surface is missing or out of range"},
	50091: {KindInvalid, nil, "the filter, the search or the order of a list of the SAP surface is invalid"},
	50092: {KindInvalid, nil, "the time-out is not 1 to 604800 seconds"},
	50093: {KindInvalid, nil, "a name has an invisible character, a blank at an end, a period at the end, or a part . or .."},
	50097: {KindInvalid, nil, "a text is longer than its limit"},
	50098: {KindInvalid, nil, "a name is empty"},
	50099: {KindInvalid, nil, "the view is read only"},
	50100: {KindNotFound, ErrJobNotFound, "the job does not exist"},
	50101: {KindConflict, ErrJobExists, "a job of this name exists already"},
	50102: {KindConflict, ErrJobActive, "the job has active executions"},
	50103: {KindConflict, nil, "the job has no steps"},
	50104: {KindNotFound, ErrStepNotFound, "the job step does not exist"},
	50105: {KindConflict, nil, "a step of this name exists already"},
	50106: {KindNotFound, ErrGroupNotFound, "the target group does not exist"},
	50107: {KindConflict, ErrGroupExists, "a target group of this name exists already"},
	50108: {KindConflict, ErrGroupInUse, "the target group is used by a job's current version, or by another target group"},
	50109: {KindConflict, ErrGroupInUse, "the target group is used by an active execution"},
	50110: {KindNotFound, ErrMemberNotFound, "the target group has no such member"},
	50111: {KindNotFound, ErrExecutionNotFound, "the job execution does not exist"},
	50112: {KindConflict, nil, "the job execution id belongs to an execution of another job"},
	50113: {KindNotFound, nil, "the command does not exist"},
	50139: {KindNotFound, nil, "@job_version is neither Current nor the number of a version of the job"},
	50138: {KindConflict, nil, "the version to run again has other steps than that of the job execution"},
	50140: {KindConflict, nil, "the job execution id belongs to an execution with another version of the job"},
	50114: {KindConflict, nil, "the job execution to run again is active"},
	50115: {KindConflict, nil, "nothing in the job execution ended in one of the given states"},
	50116: {KindConflict, nil, "the job execution id belongs to an execution that is not a rerun of this one"},
	50117: {KindConflict, nil, "a target group that the rerun needs no longer exists"},
	50118: {KindConflict, nil, "the steps of a system job cannot be changed"},
	50120: {KindNotFound, nil, "the limit does not exist"},
	50119: {KindConflict, ErrAlertExists, "an alert rule or channel of this name exists already"},
	50121: {KindNotFound, ErrAlertNotFound, "the alert rule does not exist"},
	50122: {KindNotFound, ErrChannelNotFound, "the alert channel does not exist"},
	50123: {KindConflict, nil, "an alert rule uses the channel"},
	50124: {KindNotFound, ErrAlertNotFound, "the alert does not exist"},
	50125: {KindNotFound, ErrScheduleNotFound, "the schedule does not exist"},
	50126: {KindConflict, ErrScheduleExists, "a schedule of this name exists already"},
	50127: {KindConflict, nil, "the schedule is the one of jobs.sp_add_job"},
	50128: {KindConflict, nil, "the schedule is Faulted"},
	50129: {KindNotFound, ErrCalendarNotFound, "the calendar does not exist"},
	50130: {KindConflict, ErrCalendarExists, "a calendar of this name exists already"},
	50131: {KindConflict, nil, "the calendar is used by a schedule or a plan"},
	50132: {KindNotFound, ErrBackfillNotFound, "the backfill does not exist"},
	50135: {KindNotFound, ErrCallbackNotFound, "there is no such callback"},
	50136: {KindConflict, nil, "a report or a change of the job agent is made inside a transaction"},
	50137: {KindConflict, ErrCallbackEnded, "the callback has ended with another report, or without one"},
	50142: {KindNotFound, ErrStepNotFound, "@after names a step that does not exist"},
	50143: {KindConflict, nil, "steps come after each other"},
	50144: {KindConflict, nil, "another step names the step in @after"},
	50147: {KindConflict, nil, "an option of the caller's session does not permit changes"},
	50148: {KindConflict, nil, "the job execution id belongs to an execution with other parameters"},
	50149: {KindNotFound, nil, "the parameters do not exist"},
	50150: {KindNotFound, ErrSecretNotFound, "the secret does not exist"},
	50151: {KindNotFound, nil, "the key does not exist, or was retired"},
	50152: {KindConflict, nil, "a secret is sealed for this key alone"},
	50153: {KindConflict, ErrSecretKeysChanged, "the secret is not sealed for exactly the active keys"},
	50154: {KindConflict, ErrSecretChanged, "the version of the secret is not the next one"},
	50156: {KindNotFound, ErrCredentialNotFound, "the credential does not exist"},
	50157: {KindConflict, nil, "the credential is used by a job's current version, or by a target group"},
	50158: {KindNotFound, ErrEndpointNotFound, "the private endpoint does not exist"},
	50155: {KindConflict, nil, "the key was retired"},
	50159: {KindConflict, nil, "a required parameter is missing"},
	50160: {KindConflict, nil, "the job declares no parameter of this name"},
	50162: {KindConflict, nil, "a chosen target is not among those of the job, or of the job execution to run again"},
	50163: {KindConflict, nil, "the job execution id belongs to an execution on other targets"},
	50164: {KindNotFound, ErrCollectionNotFound, "the job collection does not exist"},
	50165: {KindNotFound, ErrSchedulerJobNotFound, "the job collection has no job of this name"},
	50166: {KindConflict, ErrQuotaExceeded, "a quota of the job collection is exceeded"},
	50167: {KindConflict, nil, "the job is Completed or Faulted"},
	50168: {KindConflict, nil, "a job of this name exists that belongs to no job collection"},
	50169: {KindConflict, ErrCollectionJob, "the job belongs to a job collection"},
	50170: {KindConflict, nil, "the job collection is disabled, or the job is Faulted"},
	50171: {KindConflict, nil, "jobs of the collection do not fit the new plan"},
	50182: {KindConflict, ErrAgentUnavailable, "the job agent is not Ready, so agents do not work for it"},
	50183: {KindConflict, ErrAgentUnavailable, "the job agent is Disabled, Faulted or being deleted, or was deleted"},
	50184: {KindConflict, ErrAgentBusy, "an operation on the job agent is in progress"},
	50185: {KindNotFound, ErrAgentNotFound, "the job agent does not exist"},
	50186: {KindConflict, ErrAgentLinked, "the control database has a job agent of another name"},
	50187: {KindConflict, nil, "the job agent is Faulted"},
	50190: {KindConflict, ErrNoRoleUser, "the call does not run as the database user of the caller's role"},
	50192: {KindNotFound, ErrSAPNotFound, "the tenant has no such subscription"},
	50193: {KindConflict, ErrPaused, "the control database is paused"},
	50198: {KindNotFound, ErrTargetNotFound, "the database is not known"},
	50172: {KindNotFound, ErrSAPNotFound, "the job does not exist in the tenant"},
	50173: {KindNotFound, ErrSAPNotFound, "the job has no such schedule"},
	50174: {KindNotFound, ErrSAPNotFound, "the schedule has no such run"},
	50175: {KindConflict, ErrSAPExists, "a job of this name exists already in the tenant"},
	50176: {KindConflict, ErrSAPAmbiguous, "several tenants have a job of this name"},
	50177: {KindConflict, ErrSAPRunNotStarted, "nothing was sent for the run yet"},
	50178: {KindConflict, ErrSAPTenant, "the tenant has no subscription"},
	50179: {KindConflict, nil, "the provider is another tenant"},
	50180: {KindConflict, nil, "the job belongs to the SAP surface, which alone may change it"},
	50181: {KindConflict, ErrSAPMode, "the mode of a schedule cannot be changed"},
	50201: {KindStale, ErrTermEnded, "the term has ended"},
	50202: {KindStale, ErrTaskNotHeld, "the task is not held by this term, or has its outcome already"},
	50203: {KindStale, ErrRevision, "the object does not have the expected revision"},
	50204: {KindStale, ErrIncarnation, "the control database has another incarnation than the term"},
	50300: {KindConflict, ErrSchemaVersion, "the schema does not support the agent's protocol"},
	50199: {KindConflict, nil, "the job execution is a roll-out, or a wave of an active one"},
	50419: {KindInvalid, nil, "@hold is 1, and the run would not be rolled out"},
	50400: {KindInvalid, nil, "@tolerated_failures is neither a number nor a percentage"},
	50401: {KindInvalid, nil, "@only_targets is not an array of target ids"},
	50402: {KindInvalid, ErrSAPTaskRun, "the run of a task ends with its process, not by a report"},
	50404: {KindInvalid, nil, "the plan of a roll-out is invalid"},
	50410: {KindNotFound, nil, "the job execution is not a roll-out"},
	50188: {KindConflict, nil, "the state of the roll-out does not permit it"},
	50189: {KindConflict, nil, "a roll-out of the job is active"},
	50191: {KindNotFound, nil, "the roll-out has no such wave or target"},
	50453: {KindInvalid, nil, "the deadline is extended by less than a second or more than 365 days"},
	50414: {KindInvalid, nil, "the bake is extended by less than a second or more than 30 days"},
	50194: {KindConflict, nil, "the plan of the roll-out has no compensating job"},
	50416: {KindInvalid, nil, "a state of targets to undo is invalid, or there is none"},
	50195: {KindConflict, nil, "the roll-out has changed nothing in these states"},
	50196: {KindConflict, nil, "a later roll-out has changed some of the targets"},
	50197: {KindConflict, nil, "the job execution id belongs to an execution with other options"},
	50420: {KindInvalid, nil, "the mode of a run, or its options, are invalid"},
	50421: {KindInvalid, nil, "a trial has no chosen databases, or too many"},
	50403: {KindInvalid, nil, `a server name has not the form host, host\instance or host,port`},
	50450: {KindInvalid, nil, "a database whose tags are to be set is not named, or its tags are not a JSON object"},
	50452: {KindInvalid, nil, "a filter of tags is invalid"},
	50480: {KindInvalid, nil, "the target group would be a member of itself"},
	50460: {KindInvalid, nil, "the end of a pause has passed, its duration is out of range, or both are given"},
	50146: {KindConflict, nil, "the caller may not ignore windows of databases"},
	50145: {KindNotFound, ErrTargetWindowNotFound, "the window of databases does not exist"},
	50461: {KindInvalid, nil, "a window of databases has no name, no calendar, or not one of a database and a filter"},
	50161: {KindNotFound, ErrTargetNotPaused, "the database is not paused"},
	50470: {KindInvalid, nil, "the trigger name is missing or empty"},
	50471: {KindInvalid, nil, "@run_when of a trigger is invalid"},
	50472: {KindInvalid, nil, "@upstream_jobs is invalid"},
	50133: {KindConflict, ErrTriggerExists, "a trigger of this name exists already"},
	50134: {KindNotFound, ErrTriggerNotFound, "the trigger does not exist"},
	50475: {KindInvalid, nil, "a job can have no triggers"},
	50476: {KindInvalid, nil, "the job would start itself"},
	50481: {KindInvalid, nil, "@targets of a trigger is invalid"},
	50482: {KindInvalid, nil, "a job has no step on databases, so its trigger has no targets"},
	50483: {KindConflict, nil, "the executions whose databases a rerun needs were purged"},
	50141: {KindConflict, nil, "the job has a trigger, or one of another job watches it"},
	50490: {KindInvalid, nil, "a step of type Drift has no target group"},
	50491: {KindInvalid, nil, "a baseline of schemas has no name, or one that a step cannot give"},
	50492: {KindNotFound, nil, "no step of type Drift has read the database"},
	50493: {KindNotFound, ErrBaselineNotFound, "the baseline of schemas does not exist"},
	50422: {KindConflict, nil, "questions are switched off"},
	50423: {KindInvalid, nil, "the question is missing, empty or too long"},
	50424: {KindInvalid, nil, "a limit of the question is out of range"},
	50425: {KindConflict, nil, "too many questions have not ended"},
	50426: {KindNotFound, ErrQuestionNotFound, "the question does not exist, or was deleted"},
	50451: {KindInvalid, nil, "a name or value of a tag is invalid, or a database would have more than 50 tags"},
}
