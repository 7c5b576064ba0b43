package schedule

import (
	"cmp"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/suggest"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// CatchUpMode names what happens to runs that were missed (D-P1).
type CatchUpMode string

// The modes.
const (
	// CatchUpLast makes the last missed run (decision 11 of Elastic Jobs).
	CatchUpLast CatchUpMode = "last"
	// CatchUpNone makes none.
	CatchUpNone CatchUpMode = "none"
	// CatchUpAll makes every one.
	CatchUpAll CatchUpMode = "all"
	// CatchUpWindow makes those that are not older than the window.
	CatchUpWindow CatchUpMode = "window"
	// CatchUpSAP makes every one after an outage of less than SAPOutage, and else the last (D-S7).
	CatchUpSAP CatchUpMode = "sap-20min"
)

// SAPOutage is the shortest outage after which sap-20min makes up only the last run.
const SAPOutage = 20 * time.Minute

// CatchUp is a policy for missed runs; the zero value is CatchUpLast.
type CatchUp struct {
	Mode CatchUpMode
	// Window is the greatest age of a run that is made up; only with CatchUpWindow.
	Window time.Duration
}

const catchUpForms = "one of last, none, all, window: with a length of time such as window:1h30m, sap-20min"

// ParseCatchUp reads a policy by its name; empty is the default. The error is a *Error.
func ParseCatchUp(text string) (CatchUp, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	if window, ok := strings.CutPrefix(lower, string(CatchUpWindow)+":"); ok {
		d, err := syntax.ParseDuration(window)
		if err == nil && d > 0 {
			return CatchUp{Mode: CatchUpWindow, Window: d}, nil
		}
		return CatchUp{}, &Error{Faults: []Fault{{Path: "catchUp", Value: syntax.Quote(text), Allowed: "window: followed by " + syntax.DurationForms, Nearest: "window:" + cmp.Or(syntax.DurationProposal(window), "1h")}}}
	}
	names := []string{string(CatchUpLast), string(CatchUpNone), string(CatchUpAll), string(CatchUpSAP)}
	for _, name := range names {
		if lower == name {
			return CatchUp{Mode: CatchUpMode(name)}, nil
		}
	}
	if lower == "" {
		return CatchUp{}, nil
	}
	near := suggest.Nearest(lower, append(names, "window"))
	if near == "window" {
		near = "window:1h"
	}
	return CatchUp{}, &Error{Faults: []Fault{{Path: "catchUp", Value: syntax.Quote(text), Allowed: catchUpForms, Nearest: near}}}
}

// String is the name that ParseCatchUp reads.
func (c CatchUp) String() string {
	switch c.Mode {
	case "":
		return string(CatchUpLast)
	case CatchUpWindow:
		return string(CatchUpWindow) + ":" + c.Window.String()
	}
	return string(c.Mode)
}

// Recovery is what follows from a policy for the instants that were missed.
type Recovery struct {
	// Run are the instants to run now, ascending; each run keeps its due instant.
	Run []time.Time
	// Dropped are the instants that are not made up, ascending, to be recorded with Reason (I10).
	Dropped []time.Time
	// Reason says in one sentence why; empty when nothing was dropped.
	Reason string
	// Next is the first instant that was not decided on; More is false when there is none. Next
	// lies before until when more than MaxMissed instants were missed; call Recover again with it
	// then.
	Next time.Time
	More bool
}

// Recover applies the policy to the missed instants of s: those from due on that lie before until.
// now is when they are made up, and outage is how long no agent worked.
func (c CatchUp) Recover(s Schedule, due, until, now time.Time, outage time.Duration) Recovery {
	r := Recovery{Next: due, More: true}
	var missed []time.Time
	for r.More && r.Next.Before(until) && len(missed) < MaxMissed {
		missed = append(missed, r.Next)
		r.Next, r.More = s.Next(r.Next)
	}
	if len(missed) == 0 {
		return r
	}
	keep := 0 // how many are made up, from the end
	switch c.Mode {
	case CatchUpNone:
		r.Reason = "missed; the catch-up policy none makes up nothing"
	case CatchUpAll:
		keep = len(missed)
	case CatchUpWindow:
		for keep < len(missed) && now.Sub(missed[len(missed)-1-keep]) <= c.Window {
			keep++
		}
		r.Reason = "missed; older than the catch-up window of " + c.Window.String()
	default:
		if c.Mode == CatchUpSAP && outage < SAPOutage {
			keep = len(missed)
			break
		}
		if !r.More || !r.Next.Before(until) {
			keep = 1
		}
		r.Reason = "missed; the catch-up policy " + c.String() + " makes up only the last run"
	}
	r.Dropped, r.Run = missed[:len(missed)-keep], missed[len(missed)-keep:]
	if len(r.Dropped) == 0 {
		r.Reason = ""
	}
	return r
}

// Outage is a time [From, To) in which no agent worked.
type Outage struct{ From, To time.Time }

// readOutage reads {from, to}.
func (p *planner) readOutage(v *syntax.Value) *Outage {
	if v.Kind != '{' {
		p.Faults.Add(v.Path, v.Raw, "an object with from and to", "")
		return nil
	}
	r := syntax.Reader{Object: v, Faults: p.Faults}
	o := &Outage{}
	for _, end := range []struct {
		name string
		at   *time.Time
	}{{"from", &o.From}, {"to", &o.To}} {
		if e := r.Take(end.name); e == nil {
			p.Faults.Add(syntax.Join(v.Path, end.name), "null", syntax.DateForms, "")
		} else {
			*end.at = p.Date(e, time.Time{})
		}
	}
	r.RefuseOthers([]string{"from", "to"}, map[string]string{"start": "from", "end": "to", "until": "to"})
	if !o.From.IsZero() && !o.To.IsZero() && o.To.Before(o.From) {
		p.Faults.Add(syntax.Join(v.Path, "to"), syntax.Quote(o.To.Format(time.RFC3339)), "an instant not before from", "")
	}
	return o
}
