package targets

import "encoding/json"

// Verdict is the result of a batch in a trial.
type Verdict string

const (
	// VerdictRan means that the batch ran without an error and that its work was rolled back.
	VerdictRan Verdict = "Ran"
	// VerdictFailed means that the batch had an error of severity 11 or more.
	VerdictFailed Verdict = "Failed"
	// VerdictEnded means that the batch ended the transaction of the trial, or left another one
	// open.
	VerdictEnded Verdict = "EndedTransaction"
	// VerdictSkipped means that the batch was not sent, because it has a statement that cannot be
	// tried.
	VerdictSkipped Verdict = "Skipped"
)

// TrialBatch is the report of a trial on one batch of a script.
type TrialBatch struct {
	// Batch counts from 1, and Line is the number of its first line in the script.
	Batch int `json:"batch"`
	Line  int `json:"line"`
	// Runs is the number of times that the batch ran: once, or the number after GO.
	Runs    int     `json:"runs"`
	Verdict Verdict `json:"verdict"`
	// Reason is empty for VerdictRan.
	Reason   string   `json:"reason,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// DurationMS are milliseconds by the agent's clock.
	DurationMS int64 `json:"duration_ms"`
	Rows       int64 `json:"rows"`
	// LogBytes is the used size of the transaction log; nil means that it could not be read.
	LogBytes *int64 `json:"log_bytes,omitempty"`
	// Locks are those that the transaction holds after the batch, at most [MaxTrialLocks].
	Locks   []TrialLock `json:"locks,omitempty"`
	Objects []string    `json:"objects,omitempty"`
	// Plan is the estimated plan, read before the batch ran; nil if it was not requested, or if
	// there is none.
	Plan *TrialPlan `json:"plan,omitempty"`
	// Unread lists the values that could not be read, with the reasons.
	Unread []string `json:"unread,omitempty"`
}

// MaxTrialLocks bounds the locks of a report, which is one message.
const MaxTrialLocks = 30

// TrialLock are the locks of one kind on one object.
type TrialLock struct {
	// Type and Mode are resource_type and request_mode of sys.dm_tran_locks.
	Type string `json:"type"` // DATABASE, OBJECT, KEY and so on
	Mode string `json:"mode"` // S, X, Sch-M and so on
	// Object is empty if the resource is not an object, but a database, for example.
	Object string `json:"object,omitempty"` // schema and name
	Count  int64  `json:"count"`
}

// Finding is a finding of a preflight on one target.
type Finding struct {
	// Check is the name of the check, such as log_space.
	Check string `json:"check"`
	// Level is ok, warning or failure.
	Level string `json:"level"`
	Text  string `json:"text"`
}

// The levels of findings.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelFailure = "failure"
)

// Report is the report of a trial or preflight. It is in a message of [KindAgent], as a JSON object
// with one member.
type Report struct {
	Trial     *TrialBatch `json:"trial,omitempty"`
	Preflight []Finding   `json:"preflight,omitempty"`
}

// Text returns the text of the message.
func (r Report) Text() string {
	text, err := json.Marshal(r)
	if err != nil { // every value can be encoded
		return err.Error()
	}
	return string(text)
}

// ParseReport returns the report in the text of a message; ok is false if there is none.
func ParseReport(text string) (r Report, ok bool) {
	err := json.Unmarshal([]byte(text), &r)
	return r, err == nil && (r.Trial != nil || len(r.Preflight) > 0)
}
