package runs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs"
)

const (
	// rateTime is the period of the rate.
	rateTime = time.Minute
	// groupsShown bounds the groups of errors, and rowsShown the rows of the first page.
	groupsShown = 20
	rowsShown   = 50
)

// runView is what the page of a run shows; the blocks that are updated live get it as dot.Data.
type runView struct {
	executions.Run
	// After are the runs of other jobs after which a trigger started it, and Then what triggers
	// made of its end.
	After, Then []triggers.Event
	Steps       []stepView
	All         jobs.Counts
	// Rate is the number of ends of targets per minute, over the last minute or since the run
	// began, if that is shorter. Left is the time that the targets of the steps that have begun
	// need at this rate, at least so long while some are held; 0: unknown.
	Rate float64
	Left time.Duration
	// Retries counts the attempts that came after a first one.
	Retries int
	// Coming counts steps that have not begun.
	Coming     int
	Groups     []groupView
	MoreGroups int
	Targets    int
}

// stepView is a step with the number of its targets by state.
type stepView struct {
	executions.RunStep
	jobs.Counts
}

// groupView is a group of messages.
type groupView struct {
	Key, Text  string
	Error      int
	Count, Bad int
}

// view returns what the page shows.
func (w *watch) view() runView {
	v := runView{Run: w.head, After: w.after, Then: w.then, Targets: len(w.targets)}
	now := w.head.Now
	since := now.Add(-rateTime)
	ended := 0
	for _, s := range w.steps {
		one := stepView{RunStep: s.RunStep}
		var in [states]int
		for _, c := range s.cells {
			in[c.state]++
			if c.state.final() && c.end.After(since) && !c.start.IsZero() {
				ended++
			}
			v.Retries += max(0, int(c.attempts)-1)
		}
		for state, n := range in {
			one.Add(lifecycles[state], n)
		}
		if !one.Begun() {
			v.Coming++
		}
		v.All = v.All.Plus(one.Counts)
		v.Steps = append(v.Steps, one)
	}
	if w.head.Active {
		span := min(rateTime, max(time.Second, now.Sub(w.head.CreateTime)))
		v.Rate = float64(ended) / span.Minutes()
		if left := v.All.Active() - w.head.Held; left > 0 && v.Rate > 0 {
			v.Left = time.Duration(float64(left) / v.Rate * float64(time.Minute))
		}
		if w.head.Held > 0 {
			v.Left = jobs.NotBefore(v.Left, w.head.HeldUntil, now)
		}
		v.Left = v.Left.Round(time.Second)
		v.Rate = roundRate(v.Rate)
	}
	groups, more := w.common(groupsShown)
	v.MoreGroups = more
	for _, g := range groups {
		v.Groups = append(v.Groups, groupView{Key: g.id, Text: g.text, Error: g.error, Count: g.count, Bad: g.bad})
	}
	return v
}

// roundRate keeps three digits: more would only be noise.
func roundRate(r float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(r, 'g', 3, 64), 64)
	if err != nil {
		return r
	}
	return rounded
}

// query is what rows are filtered by. The form of the page has the same names.
type query struct {
	// Text is part of a server, a database or a message.
	Text string
	// State is a lifecycle, or "unfinished" or "unsuccessful"; empty: all.
	State string
	// Server is part of a server's name; Step is the number of a step, empty: all; Error is the
	// key of a group.
	Server, Step, Error string
	// After is the number of rows before the page.
	After int
}

// Any reports whether rows are left out.
func (q query) Any() bool { return q.Text+q.State+q.Server+q.Step+q.Error != "" }

// rowView is a row of the table without scripts.
type rowView struct {
	ID               uuid.UUID
	Server, Database string
	Cells            []cellView // by step
}

// cellView is a step on a target.
type cellView struct {
	Exists   bool
	Step     string
	State    string
	Attempts int
	Start    time.Time
	Took     time.Duration // of an ended cell; negative: none
	Message  string
	Unknown  bool
}

// matches reports whether a cell is one that the query asks for.
func (w *watch) matches(c *cell, q query) bool {
	if q.Step != "" && strconv.Itoa(w.steps[c.step].StepID) != q.Step {
		return false
	}
	switch q.State {
	case "":
	case "unfinished":
		if c.state.final() {
			return false
		}
	case "unsuccessful":
		if c.state < failed {
			return false
		}
	case "unknown":
		if !c.unknown {
			return false
		}
	default:
		if string(lifecycles[c.state]) != q.State {
			return false
		}
	}
	return q.Error == "" || c.message >= 0 && w.groups[w.messages[c.message].group].id == q.Error
}

// matching returns the targets that a query asks for, by server and database.
func (w *watch) matching(q query) (found []int32) {
	text, server := fold(q.Text), fold(q.Server)
	for i := range w.targets {
		t := &w.targets[i]
		if server != "" && !strings.Contains(fold(t.server), server) {
			continue
		}
		named := text == "" || strings.Contains(fold(t.server+"/"+t.database), text)
		for _, at := range t.cells {
			c := &w.steps[at.step].cells[at.index]
			if w.matches(c, q) && (named || c.message >= 0 && strings.Contains(fold(w.messages[c.message].text), text)) {
				found = append(found, int32(i))
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b int32) int {
		x, y := &w.targets[a], &w.targets[b]
		return cmp.Or(strings.Compare(x.server, y.server), strings.Compare(x.database, y.database), cmp.Compare(a, b))
	})
	return found
}

// page returns the rows of a query, by server and database, the number of all that match, and how
// many of these are databases.
func (w *watch) page(q query, top int) (rows []rowView, total, databases int) {
	found := w.matching(q)
	for _, i := range found {
		if w.targets[i].database != "" {
			databases++
		}
	}
	total = len(found)
	found = found[min(q.After, total):]
	for _, i := range found[:min(top, len(found))] {
		t := &w.targets[i]
		row := rowView{ID: t.id, Server: t.server, Database: t.database, Cells: make([]cellView, len(w.steps))}
		for _, at := range t.cells {
			row.Cells[at.step] = w.cellView(&w.steps[at.step].cells[at.index])
		}
		rows = append(rows, row)
	}
	return rows, total, databases
}

func (w *watch) cellView(c *cell) cellView {
	v := cellView{
		Exists: true, Step: w.steps[c.step].Name, State: string(lifecycles[c.state]), Attempts: int(c.attempts), Start: c.start, Took: -1,
		Unknown: c.unknown,
	}
	if !c.start.IsZero() && !c.end.IsZero() {
		v.Took = c.end.Sub(c.start)
	}
	if c.message >= 0 {
		v.Message = w.messages[c.message].text
	}
	return v
}
