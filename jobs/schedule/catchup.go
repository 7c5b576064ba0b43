package schedule

import (
	"cmp"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// CatchUpMode is the name of a policy for missed runs (D-P1).
type CatchUpMode string

// The modes.
const (
	// CatchUpLast makes up the last missed run (decision 11 of Elastic Jobs).
	CatchUpLast CatchUpMode = "last"
	// CatchUpNone makes up no missed run.
	CatchUpNone CatchUpMode = "none"
	// CatchUpAll makes up every missed run.
	CatchUpAll CatchUpMode = "all"
	// CatchUpWindow makes up the missed runs that are not older than the window.
	CatchUpWindow CatchUpMode = "window"
	// CatchUpSAP makes up every missed run after an outage shorter than SAPOutage. After a longer
	// outage it makes up only the last one (D-S7).
	CatchUpSAP CatchUpMode = "sap-20min"
)

// SAPOutage is the shortest outage after which sap-20min makes up only the last missed run.
const SAPOutage = 20 * time.Minute

// CatchUp is a policy for missed runs; the zero value is CatchUpLast.
type CatchUp struct {
	Mode CatchUpMode
	// Window is the largest age of a run that is made up. Only CatchUpWindow uses it.
	Window time.Duration
}

const catchUpForms = "one of last, none, all, window: with a length of time such as window:1h30m, sap-20min"

// ParseCatchUp parses the name of a policy. An empty text is the default policy. The error is a
// *Error.
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

// String returns the name that ParseCatchUp accepts.
func (c CatchUp) String() string {
	switch c.Mode {
	case "":
		return string(CatchUpLast)
	case CatchUpWindow:
		return string(CatchUpWindow) + ":" + c.Window.String()
	}
	return string(c.Mode)
}

// Recovery is the decision of a policy on the missed instants.
type Recovery struct {
	// Run holds the instants to run now, ascending. Each run keeps its due instant.
	Run []time.Time
	// Dropped holds the instants that are not made up, ascending. They are recorded with Reason
	// (I10).
	Dropped []time.Time
	// Reason is one sentence that says why instants were dropped. It is empty if none were.
	Reason string
	// Next is the first undecided instant. More is false if there is none. If more than MaxMissed
	// instants were missed, Next is before until; call Recover again from there.
	Next time.Time
	More bool
}

// Recover applies the policy to the missed instants of s, from due on and before until. now is the
// time at which they are made up. outage is the length of time without an agent.
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

// Outage is a period [From, To) in which no agent worked.
type Outage struct{ From, To time.Time }

// readOutage parses {from, to}.
func (p *planner) readOutage(v *syntax.Value) *Outage {
	if v.Kind != '{' {
		p.Faults.Add(v.Path(), v.JSON(), "an object with from and to", "")
		return nil
	}
	r := syntax.Reader{Object: v, Faults: p.Faults}
	o := &Outage{}
	for _, end := range []struct {
		name string
		at   *time.Time
	}{{"from", &o.From}, {"to", &o.To}} {
		if e := r.Take(end.name); e == nil {
			p.Faults.Add(syntax.Join(v.Path(), end.name), "null", syntax.DateForms, "")
		} else {
			*end.at = p.Date(e, time.Time{})
		}
	}
	r.RefuseOthers([]string{"from", "to"}, map[string]string{"start": "from", "end": "to", "until": "to"})
	if !o.From.IsZero() && !o.To.IsZero() && o.To.Before(o.From) {
		p.Faults.Add(syntax.Join(v.Path(), "to"), syntax.Quote(o.To.Format(time.RFC3339)), "an instant not before from", "")
	}
	return o
}
