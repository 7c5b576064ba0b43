package dberror

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
)

// SchemaVersionError describes the difference between the installed schema and this program's.
type SchemaVersionError struct {
	// Have and Want are migration numbers; 0 is the first release.
	Have, Want int
	// Missing and Changed name the objects that are missing or differ, although the version is
	// right.
	Missing, Changed []string
}

// Error implements error.
func (e *SchemaVersionError) Error() string {
	switch {
	case e.Have > e.Want:
		return fmt.Sprintf(
			"the control schema has version %d and this program needs %d: use a newer jobagent",
			e.Have,
			e.Want,
		)
	case e.Have < e.Want:
		return fmt.Sprintf(
			"the control schema has version %d and this program needs %d: run \"jobagent db migrate\"",
			e.Have,
			e.Want,
		)
	}
	var what []string
	if n := len(e.Missing); n > 0 {
		what = append(what, fmt.Sprintf("%s missing (%s)", wording.Count(n, "object"), wording.First(e.Missing)))
	}
	if n := len(e.Changed); n > 0 {
		what = append(what, fmt.Sprintf("%s unlike this program's (%s)", wording.Count(n, "object"), wording.First(e.Changed)))
	}
	return fmt.Sprintf(
		"the control schema has version %d, as expected, but %s: run \"jobagent db migrate\"",
		e.Have,
		strings.Join(what, ", and "),
	)
}

// Is makes errors.Is(err, ErrSchemaVersion) true.
func (e *SchemaVersionError) Is(target error) bool { return target == ErrSchemaVersion }
