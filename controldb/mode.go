package controldb

import "encoding/json"

// RunMode is what becomes of the scripts of a run; empty means that they run.
type RunMode string

const (
	// ModeTrial runs each script in a transaction that is rolled back.
	ModeTrial RunMode = "Trial"
	// ModePreflight runs no script, and checks what the scripts need.
	ModePreflight RunMode = "Preflight"
)

// MaxTrialTargets is the largest number of databases of a trial.
const MaxTrialTargets = 100

// ModeOptions are the options of a trial.
type ModeOptions struct {
	// SkipUnsupported skips batches that cannot be in a transaction, or would end it; otherwise a
	// script that has one is refused, and nothing is sent.
	SkipUnsupported bool `json:"skip_unsupported,omitempty"`
}

// text returns the argument mode_options of jobs.sp_start_job; empty means the defaults.
func (o ModeOptions) text() string {
	if o == (ModeOptions{}) {
		return ""
	}
	text, _ := json.Marshal(o) // a boolean
	return string(text)
}
