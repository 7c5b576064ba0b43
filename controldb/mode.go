package controldb

import "github.com/jobagent/jobagent/controldb/internal/call"

// RunMode is what becomes of the scripts of a run; empty means that they run.
type RunMode string

const (
	// ModeTrial runs each script in a transaction that is rolled back.
	ModeTrial RunMode = "Trial"
	// ModePreflight runs no script, and checks what the scripts need.
	ModePreflight RunMode = "Preflight"
)

// Scan implements sql.Scanner.
func (m *RunMode) Scan(src any) error { return call.ScanNull((*string)(m), src) }
