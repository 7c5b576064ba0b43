package output

import "time"

// FileFault is one thing that is wrong in a file of definitions, or a remark about it.
type FileFault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"` // the place in the document, such as steps[2].command
	Message string `json:"message"`
}

// DefinedObject is an object that files define.
type DefinedObject struct {
	Kind string `json:"kind"` // TargetGroup, Calendar, AlertChannel, Job, Limit or Alert
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// FileSchedule is a schedule that files define, with its next instants.
type FileSchedule struct {
	Job      string      `json:"job_name"`
	Schedule string      `json:"schedule_name"`
	Next     []time.Time `json:"next"`
	Zone     string      `json:"time_zone"`
	Warnings []string    `json:"warnings,omitempty"`
}

// ValidatedFiles is what jobagent validate found. With faults, objects and schedules are empty.
type ValidatedFiles struct {
	Valid     bool            `json:"valid"`
	Faults    []FileFault     `json:"faults"`
	Notes     []FileFault     `json:"notes"`
	Objects   []DefinedObject `json:"objects"`
	Schedules []FileSchedule  `json:"schedules"`
}

// ObjectChange is a difference between files and the control database, and what was done about it.
type ObjectChange struct {
	Kind   string   `json:"kind"` // TargetGroup, Calendar, AlertChannel, Job, Limit or Alert
	Name   string   `json:"name"`
	File   string   `json:"file,omitempty"`
	Line   int      `json:"line,omitempty"`
	Action string   `json:"action"`           // create, change or delete; of apply also none: it is as wanted
	Fields []string `json:"fields,omitempty"` // of change: what differs, such as steps[rebuild].command
	// Done says that the change was made; Error why it was not.
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
	// Diff is the difference as text: of jobagent diff only.
	Diff string `json:"diff,omitempty"`
}

// AppliedFiles is what jobagent apply has done, or would do with --dry-run.
type AppliedFiles struct {
	DryRun    bool           `json:"dry_run"`
	Changes   []ObjectChange `json:"changes"`
	Created   int            `json:"created"`
	Changed   int            `json:"changed"`
	Deleted   int            `json:"deleted"`
	Unchanged int            `json:"unchanged"`
	Failed    int            `json:"failed"`
}

// ComparedFiles is what jobagent diff found.
type ComparedFiles struct {
	Equal   bool           `json:"equal"`
	Changes []ObjectChange `json:"changes"`
}

// ExportedFiles lists the files that jobagent export --dir wrote.
type ExportedFiles struct {
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
	Objects int      `json:"objects"`
	New     []string `json:"new,omitempty"`     // files that were not there
	Changed []string `json:"changed,omitempty"` // files that had another text
	Stale   []string `json:"stale,omitempty"`   // files in its folders that the export does not have
	Removed []string `json:"removed,omitempty"` // those of them that --prune has removed
}
