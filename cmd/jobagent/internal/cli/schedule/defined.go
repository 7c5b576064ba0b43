package schedule

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// validationTimeout is the time limit of --wait. A live agent validates new schedules within a
// second.
const validationTimeout = 5 * time.Second

// result is what a command has stored.
type result struct {
	verb, job, name string
	id              int64
	translation     *schedule.Translation // nil: none
	parsed          *parsedDefinition     // nil: the stored definition is wrong
	isNew           bool                  // the instants are new
}

// prospect is what a schedule that was stored is going to do.
type prospect struct {
	// idle says why nothing is due; empty: it runs.
	idle string
	// lists says that the instants are shown: with idle, as a condition.
	lists bool
	// sentence describes the definition, and notes is what else there is to know of it.
	sentence string
	notes    []string
}

// prospect judges what was stored by its row. The instants that an agent has computed take
// precedence over those of parsed.
func (r result) prospect(row timetable.Schedule) prospect {
	var p prospect
	switch {
	case !row.Enabled:
		p.idle = "The schedule is disabled: nothing is due until jobagent schedule enable"
	case row.Paused:
		p.idle = "The schedule is paused: nothing is due until jobagent schedule resume"
	}
	if r.parsed == nil {
		return p
	}
	described := r.parsed.plan.Describe()
	p.sentence, p.notes = described.Text, slices.Concat(beside(described), r.parsed.plan.Assumptions)
	switch {
	case p.idle != "":
		p.lists = r.isNew
	case row.State != "Faulted":
		p.lists = true
		if !row.ValidatedTime.IsZero() {
			r.parsed.keep(row.Upcoming)
		}
		next := time.Time{}
		if len(r.parsed.due) > 0 {
			next = r.parsed.due[0]
		}
		p.sentence = described.WithNext(next, r.parsed.zone, r.parsed.now)
	}
	return p
}

// show prints what was stored, with its next instants (D-E4).
func (r result) show(ctx context.Context, printer *output.Printer, store *controldb.Store, wait bool) error {
	row, validation, err := awaitValidation(ctx, store, r.job, r.name, wait)
	if err != nil {
		return err
	}
	p := r.prospect(row)
	v := r.view(row, p)
	err = printer.Emit(v, func(w io.Writer) error {
		fmt.Fprintf(w, "%s schedule %s of job %s\n", r.verb, r.name, r.job)
		if r.translation != nil {
			printTranslation(w, r.translation)
		}
		if err := r.print(w, p); err != nil {
			return err
		}
		if err := printer.Warn(v.Warnings); err != nil {
			return err
		}
		if validation != "" {
			fmt.Fprintln(w, validation)
		}
		return nil
	})
	if err == nil && row.State == "Faulted" {
		err = exit.With(exit.CodeFailure, fmt.Errorf("the agent rejected the schedule, which will not run: %s; jobagent schedule show %s %s lists all errors", row.Reason, v.Job, v.Name))
	}
	return err
}

// view returns the result for -o json.
func (r result) view(row timetable.Schedule, p prospect) output.DefinedSchedule {
	v := defined(r.job, r.name, r.id, r.translation)
	v.State, v.Reason, v.Due = row.State, row.Reason, []string{}
	if r.parsed == nil {
		return v
	}
	v.Zone, v.Warnings = r.parsed.zone.String(), r.parsed.warnings
	v.Assumptions, v.Description = r.parsed.plan.Assumptions, r.parsed.plan.Describe().Text
	if p.lists {
		for _, at := range r.parsed.due {
			v.Due = append(v.Due, at.Format(time.RFC3339))
			v.DueLocal = append(v.DueLocal, at.In(r.parsed.zone).Format(time.RFC3339))
		}
	}
	return v
}

// print prints what the schedule is going to do.
func (r result) print(w io.Writer, p prospect) error {
	if p.sentence != "" {
		fmt.Fprintf(w, "%s.\n", output.OneLine(p.sentence))
		for _, note := range p.notes {
			fmt.Fprintln(w, note)
		}
	}
	switch {
	case p.idle != "" && p.lists:
		fmt.Fprintln(w, p.idle+". It would then be due as follows:")
	case p.idle != "":
		fmt.Fprintln(w, p.idle+".")
	}
	switch {
	case !p.lists:
		return nil
	case len(r.parsed.due) == 0:
		fmt.Fprintln(w, "Nothing is due.")
		return nil
	}
	if err := printDue(w, r.parsed.due, r.parsed.zone); err != nil {
		return err
	}
	if !r.parsed.more {
		fmt.Fprintln(w, "Nothing is due after these.")
	}
	return nil
}

// printDue prints instants in UTC and in a time zone.
func printDue(w io.Writer, due []time.Time, zone *time.Location) error {
	name := zone.String()
	if name == "" { // a fixed offset
		name = time.Unix(0, 0).In(zone).Format("-07:00")
	}
	titles := []string{"DUE (UTC)", "IN " + name}
	if isUTC(due, zone) { // the same twice says nothing
		titles = titles[:1]
	}
	t := output.NewTable(titles...)
	for _, at := range due {
		cells := []any{at.UTC().Format(time.RFC3339), at.In(zone).Format(time.RFC3339)}
		t.Add(cells[:len(titles)]...)
	}
	return t.Write(w)
}

// isUTC reports whether instants have the same text in a zone as in UTC.
func isUTC(due []time.Time, zone *time.Location) bool {
	return !slices.ContainsFunc(due, func(at time.Time) bool {
		_, offset := at.In(zone).Zone()
		return offset != 0
	})
}

// awaitValidation reads a schedule's row. If wait is true and there is a live agent, it first
// waits until an agent has validated the schedule; result is a sentence about this.
func awaitValidation(ctx context.Context, store *controldb.Store, job, name string,
	wait bool) (row timetable.Schedule, result string, err error) {
	if row, err = lookup.Schedule(ctx, store, job, name); err != nil || !wait {
		return row, "", err
	}
	if alive, known := lookup.AgentAlive(ctx, store); known && !alive {
		return row, "No live agent: the schedule is not validated until an agent starts (jobagent run).", nil
	}
	waiting, cancel := context.WithTimeout(ctx, validationTimeout)
	defer cancel()
	err = command.Poll(waiting, 100*time.Millisecond, func() (bool, error) {
		if !row.ValidatedTime.IsZero() {
			return true, nil
		}
		next, err := lookup.Schedule(waiting, store, job, name)
		if err == nil {
			row = next
		}
		return !row.ValidatedTime.IsZero(), err
	})
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return row, fmt.Sprintf("No agent has validated the schedule within %s; jobagent schedule explain shows why.", validationTimeout), nil
	case err != nil:
		return row, "", err
	}
	return row, fmt.Sprintf("An agent has validated the schedule; its state is %s.", row.State), nil
}
