package output

import (
	_ "embed"
	"encoding/json"
)

// Shape is the JSON that a command prints: one value of Value's type. A slice stands for an array.
type Shape struct {
	Command string
	Value   any
}

// Shapes lists the shapes of all commands that print JSON, by name.
var Shapes = []Shape{
	{"account create", Account{}},
	{"account delete", AccountName{}},
	{"account disable", Account{}},
	{"account enable", Account{}},
	{"account list", []Account{}},
	{"account show", Account{}},
	{"account update", Account{}},
	{"action check", ActionCheck{}},
	{"action try", ActionTrial{}},
	{"agent status", []Agent{}},
	{"bench", Bench{}},
	{"audit list", []AuditEntry{}},
	{"calendar add", CalendarName{}},
	{"calendar delete", CalendarName{}},
	{"calendar list", []Calendar{}},
	{"calendar update", CalendarName{}},
	{"db describe", Reference{}},
	{"db grants", []GrantSection{}},
	{"db install", Deployment{}},
	{"db migrate", Deployment{}},
	{"db verify", Verification{}},
	{"demo", DemoRun{}},
	{"dev", Ready{}},
	{"doctor", []Finding{}},
	{"execution callbacks", []Callback{}},
	{"execution complete", CompletedCallback{}},
	{"execution errors", []ErrorGroup{}},
	{"execution explain", Explanation{}},
	{"execution list", []Execution{}},
	{"execution rerun", StartedRerun{}},
	{"execution rerun --wait", Executions{}},
	{"execution show", Run{}},
	{"execution watch", Executions{}},
	{"history purge", PurgedHistory{}},
	{"import", Import{}},
	{"job create", CreatedJob{}},
	{"job delete", JobName{}},
	{"job list", []Job{}},
	{"job show", Job{}},
	{"job start", StartedJob{}},
	{"job start --wait", Executions{}},
	{"job stop", StoppedRuns{}},
	{"job update", JobName{}},
	{"key generate", GeneratedKey{}},
	{"key list", []SecretKey{}},
	{"key rotate", RotatedKeys{}},
	{"limit list", []Limit{}},
	{"limit remove", RemovedLimit{}},
	{"limit set", Limit{}},
	{"schedule add", DefinedSchedule{}},
	{"schedule backfill", RequestedBackfill{}},
	{"schedule cancel-backfill", CanceledBackfill{}},
	{"schedule delete", ScheduleName{}},
	{"schedule disable", EnabledSchedule{}},
	{"schedule enable", EnabledSchedule{}},
	{"schedule explain JOB", []ScheduleExplanation{}},
	{"schedule explain JOB NAME", ScheduleExplanation{}},
	{"schedule list", []Schedule{}},
	{"schedule pause", PausedSchedule{}},
	{"schedule preview", SchedulePreview{}},
	{"schedule resume", PausedSchedule{}},
	{"schedule show", Schedule{}},
	{"schedule update", DefinedSchedule{}},
	{"schedule, calendar (refused definition)", DefinitionErrors{}},
	{"script", Script{}},
	{"secret delete", SecretName{}},
	{"secret list", []Secret{}},
	{"secret set", StoredSecret{}},
	{"serve --check", FrontCheck{}},
	{"serve binding", json.RawMessage{}},
	{"step add", AddedStep{}},
	{"step delete", JobVersion{}},
	{"step options", []StepOptions{}},
	{"step options (set)", JobVersion{}},
	{"step show", []Step{}},
	{"step update", JobVersion{}},
	{"target-group add", ChangedMember{}},
	{"target-group create", CreatedTargetGroup{}},
	{"target-group delete", TargetGroupName{}},
	{"target-group list", []TargetGroup{}},
	{"target-group remove", ChangedMember{}},
	{"target-group resolve", []Target{}},
	{"target-group show", TargetGroupMembers{}},
	{"token create", CreatedToken{}},
	{"token hash", HashedSecret{}},
	{"token list", []Token{}},
	{"token revoke", RevokedTokens{}},
	{"version", Version{}},
}

// ShapesText is the text of jobagent help output. TestShapesText generates it from Shapes, the
// types, and the comments in their source.
//
//go:embed shapes.txt
var ShapesText string
