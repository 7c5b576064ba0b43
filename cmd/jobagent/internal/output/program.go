package output

import (
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/importer"
)

// Version is the version of the program.
type Version struct {
	Version string `json:"version"`
	Schema  string `json:"schema_version"` // of the control schema that the program installs
}

// Ready tells how to reach the server of jobagent dev. It is printed on one line when the server
// accepts connections.
type Ready struct {
	Address           string `json:"address"` // host:port
	ControlDatabase   string `json:"control_database"`
	Certificate       string `json:"certificate"` // path of the file with the server's certificate
	CertificateSHA256 string `json:"certificate_sha256"`
	REST              string `json:"rest"`            // address of the REST front
	RESTTokenFile     string `json:"rest_token_file"` // path of the file with the token of an administrator
	Dashboard         string `json:"dashboard"`       // address of the dashboard; sign in with the token
}

// FrontCheck is the result of the check of a front's configuration.
type FrontCheck struct {
	Listen           string   `json:"listen"`
	ControlDatabases []string `json:"control_databases"` // their names in paths
}

// Import is the result of an import, and the report of it. The result is a script, definitions for
// jobagent apply, or a directory with them.
type Import struct {
	Script      string       `json:"script,omitempty"`
	Definitions string       `json:"definitions,omitempty"` // YAML
	Dir         string       `json:"dir,omitempty"`
	Report      ImportReport `json:"report"`
}

// ImportReport counts and lists the results of an import.
type ImportReport struct {
	Jobs      int             `json:"jobs"`
	Steps     int             `json:"steps"`
	ToWrite   int             `json:"steps_to_write"` // steps that are only a comment, or wait or fail until they are written
	Schedules int             `json:"schedules"`
	Lost      int             `json:"lost"`    // elements that the script does not have
	Changed   int             `json:"changed"` // elements that the script has in another form
	ToSet     int             `json:"to_set"`  // secrets and configuration that the reader has to supply
	Findings  []ImportFinding `json:"findings"`
}

// ImportFinding is one element of the input that the script does not have, or has in another form.
type ImportFinding struct {
	Effect  importer.Effect `json:"effect"`
	Job     string          `json:"job,omitempty"` // absent: the element belongs to no job
	Element string          `json:"element"`       // path of the element, as its own system names it
	Message string          `json:"message"`
}

// DemoRun is the result of the demo, on one line.
type DemoRun struct {
	ID        uuid.UUID      `json:"job_execution_id"`
	Lifecycle jobs.Lifecycle `json:"lifecycle"`
	Targets   DemoTargets    `json:"targets"`
	Attempts  int            `json:"attempts"` // of all targets and steps
	ElapsedMS int64          `json:"elapsed_ms"`
	Received  string         `json:"received"` // body of the request that step 3 sent
}

// DemoTargets counts the demo's databases, each by its worst lifecycle.
type DemoTargets struct {
	Total     int `json:"total"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Canceled  int `json:"canceled"`
	TimedOut  int `json:"timed_out"`
}

// Bench is the report of a benchmark.
type Bench struct {
	Bench   string   `json:"bench"`
	Server  string   `json:"server"` // embedded, or the version of a SQL Server
	Cores   int      `json:"cores"`
	Figures []Figure `json:"figures"`
}

// Figure is one measured number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Bar   string  `json:"bar,omitempty"` // the design's requirement, such as ">= 0.9"
}
