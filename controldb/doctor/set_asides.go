package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/wording"
)

// setAsidesSince is the schema version in which passes set runs aside.
const setAsidesSince = 51

// setAside is a row of jobs.set_asides.
type setAside struct {
	Kind    string `db:"kind"`
	JobName string `db:"job_name"`
	Run     string `db:"run"`  // of a run
	Name    string `db:"name"` // of a schedule or a trigger
	Error   string `db:"error_message"`
}

// String describes s.
func (s setAside) String() string {
	what := strings.TrimSpace(strings.ToLower(s.Kind) + " " + s.Run + s.Name)
	return fmt.Sprintf("%s of job %s: %s", what, s.JobName, s.Error)
}

// checkSetAsides reports the runs, schedules and triggers that passes leave out.
func checkSetAsides(ctx context.Context, e *examination) ([]Finding, error) {
	version, err := installed.ReadVersion(ctx, e.conn)
	if errors.Is(err, dberror.ErrNotInstalled) || err == nil && version < setAsidesSince {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := call.SelectRows[setAside](ctx, e.conn, Text("set_asides"))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return []Finding{good(CodeSetAsides, "no run, schedule or trigger is set aside")}, nil
	}
	names := make([]string, 0, len(list))
	for _, s := range list[:min(5, len(list))] {
		names = append(names, s.String())
	}
	return []Finding{{
		Code: CodeSetAsides, Severity: SeverityError,
		Found:   fmt.Sprintf("the control database refuses to advance %d %s: %s", len(list), wording.Plural(len(list), "run, schedule or trigger", "runs, schedules and triggers"), strings.Join(names, "; ")),
		Why:     "they neither start nor end anything until a try succeeds",
		Command: "SELECT * FROM jobs.set_asides; remove what refuses the rows, such as a constraint or a trigger on a table of jobs_internal; they go on by themselves within 15 minutes",
	}}, nil
}
