package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// oldName is an object whose name the rule of names refuses. Owner is its job or collection, if
// any.
type oldName struct {
	Kind  string `db:"kind"`
	Owner string `db:"owner"`
	Name  string `db:"name"`
}

// checkNames reports names that were given before the rules of names (jobs_internal.check_name and
// jobs_internal.check_external_names).
func checkNames(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	list, err := call.SelectRows[oldName](ctx, e.conn, Text("names"))
	if err != nil {
		return nil, err
	}
	note := ""
	if last := len(list) - 1; last >= 0 && list[last].Kind == "tenants" {
		list, note = list[:last], "; tenants were not checked, because the login may not read jobs_internal.tenants"
	}
	if len(list) == 0 {
		return []Finding{good(CodeNames, "all names are what they look like, and stay themselves in addresses%s", note)}, nil
	}
	const most = 100 // the query returns one more
	count := strconv.Itoa(min(len(list), most))
	if len(list) > most {
		count = "more than " + count
	}
	shown := make([]string, 0, 10)
	for _, o := range list[:min(len(list), cap(shown))] {
		text := o.Kind + " " + strconv.QuoteToASCII(o.Name)
		if o.Owner != "" {
			text += " of " + strconv.QuoteToASCII(o.Owner)
		}
		shown = append(shown, text)
	}
	return []Finding{{
		Code: CodeNames, Severity: SeverityWarning,
		Found: fmt.Sprintf("names that new objects may not have (%s): %s", count, strings.Join(shown, "; ")) + note,
		Why: "they look like other names, or clients and proxies take their addresses for those of other resources; REST does not serve names such as . and ..; " +
			"agents cannot connect to such servers",
		Command: "rename jobs, steps and schedules with the argument @new_name of jobs.sp_update_job, sp_update_jobstep and sp_update_schedule; " +
			"set outputs and user names again; add other objects and members under another name, and delete the old ones",
	}}, nil
}
