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

// setAsidesSQL lists what is set aside, with what refuses it and what to do.
const setAsidesSQL = `SELECT kind, job_name, job_execution_id, name, since_time, tries, retry_time, message
FROM jobs.set_asides
ORDER BY since_time;`

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
		Found: fmt.Sprintf("the control database refuses to advance %d %s: %s", len(list), wording.Plural(len(list), "run, schedule or trigger", "runs, schedules and triggers"), strings.Join(names, "; ")),
		Why:   "they neither start nor end anything until a try succeeds, which happens by itself within 15 minutes once the cause of the error is removed",
		SQL:   setAsidesSQL,
	}}, nil
}
