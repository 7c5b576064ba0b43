package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// PreviewOptions holds what the command line adds to a specification. The text fields are dates and
// a zone. An empty text means absent.
type PreviewOptions struct {
	// Start is the planned start if the specification has none.
	Start string
	// After limits the preview to instants strictly after it. Empty means from the start, which is
	// included.
	After string
	// Zone is the zone if the specification has none.
	Zone string
	// Count is the largest number of listed instants; 0 means 5.
	Count int
	// Now is the beginning of the preview if there is neither a start nor After.
	Now time.Time
	// MinInterval and Calendars are as in Options.
	MinInterval time.Duration
	Calendars   map[string]*Calendar
}

// Previewed is the preview of a schedule.
type Previewed struct {
	// Due holds the due instants that become runs, in UTC.
	Due []time.Time
	// Started holds the start of each run if an outage or a late start was given. Otherwise it is
	// nil.
	Started []time.Time
	// Exhausted reports whether nothing is due after those listed.
	Exhausted bool
	// Description is the schedule in words. Sentence is its text with the next instant from
	// PreviewOptions.Now on; without Now, it is the text.
	Description Description
	Sentence    string
	// Warnings are the warnings of the Plan, with those about the first two changes of clocks after
	// the given start, or after Now if it is later.
	Warnings []string
	// Assumptions are the assumptions of the Plan.
	Assumptions []string
	// Zone is the zone of clock times.
	Zone *time.Location
	// Translation is the translation of a text of a form; nil for a text of a kind.
	Translation *Translation
}

// MarshalJSON returns {"due", "exhausted", "description"}, with "clocks", "notes",
// "started", "warnings" and "assumptions" unless they are empty. A translation adds
// "translated_from", "kind", "spec" and "translation_notes".
func (p Previewed) MarshalJSON() ([]byte, error) {
	text := func(list []time.Time) []string {
		var out []string
		for _, t := range list {
			out = append(out, t.UTC().Format(time.RFC3339))
		}
		return out
	}
	out := struct {
		Due         []string `json:"due"`
		Exhausted   bool     `json:"exhausted"`
		Description string   `json:"description"`
		Clocks      string   `json:"clocks,omitempty"`
		Notes       []string `json:"notes,omitempty"`
		Started     []string `json:"started,omitempty"`
		Warnings    []string `json:"warnings,omitempty"`
		Assumptions []string `json:"assumptions,omitempty"`
		// The fields of a translation.
		From  Form     `json:"translated_from,omitempty"`
		Kind  Kind     `json:"kind,omitempty"`
		Spec  string   `json:"spec,omitempty"`
		Other []string `json:"translation_notes,omitempty"`
	}{Due: text(p.Due), Exhausted: p.Exhausted, Description: p.Description.Text, Clocks: p.Description.Clocks, Notes: p.Description.Notes, Started: text(p.Started), Warnings: p.Warnings, Assumptions: p.Assumptions}
	if out.Due == nil {
		out.Due = []string{}
	}
	if t := p.Translation; t != nil {
		out.From, out.Kind, out.Spec, out.Other = t.Form, t.Kind, t.Spec, t.Notes
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	return b, nil
}

// PreviewSpec parses a specification and lists its due instants. The kind may also be the name of a
// form, whose text is translated. The error is a *Error.
func PreviewSpec(kind Kind, spec []byte, o PreviewOptions) (Previewed, error) {
	if form := formOf(string(kind)); form != nil {
		t, err := Translate(Form(form.Name), string(spec), TranslateOptions{Zone: o.Zone})
		if err != nil {
			return Previewed{}, err
		}
		if t.anchored && o.After == "" && o.Start == "" && !o.Now.IsZero() {
			o.After = o.Now.UTC().Format(time.RFC3339)
		}
		p, err := PreviewSpec(t.Kind, []byte(t.Spec), o)
		p.Translation = &t
		return p, err
	}
	f := &syntax.Faults{}
	zone := time.UTC
	if o.Zone != "" {
		if found, err := LoadZone(o.Zone); err == nil {
			zone = found
		}
	}
	read := func(path, text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		m, err := syntax.ParseDate(text)
		if err != nil {
			f.Add(path, syntax.Quote(text), syntax.DateForms, syntax.DateProposal(text))
			return time.Time{}
		}
		return m.In(zone)
	}
	opts := Options{Start: read("start", o.Start), Zone: o.Zone, MinInterval: o.MinInterval, Calendars: o.Calendars}
	after := read("after", o.After)
	opts.assumed = after
	for _, t := range []time.Time{opts.Start, o.Now} {
		if opts.assumed.IsZero() {
			opts.assumed = t
		}
	}
	if o.Start == "" && o.After == "" {
		opts.today = o.Now
	}
	if o.Count < 0 || o.Count > MaxMissed {
		f.Add("count", fmt.Sprint(o.Count), fmt.Sprintf("a whole number from 1 to %d", MaxMissed), "5")
	}
	plan, err := Parse(kind, spec, opts)
	f.Merge("", err)
	if err := f.Err(); err != nil {
		return Previewed{}, err
	}
	from := after
	switch {
	case after.IsZero() && !plan.Start.IsZero():
		from = plan.Start.Add(-time.Nanosecond)
	case after.IsZero() || plan.inclusive:
		from = opts.assumed.Truncate(time.Second).Add(-time.Nanosecond)
	}
	count := o.Count
	if count == 0 {
		count = 5
	}
	p := plan.run(from, count)
	p.Zone, p.Description = plan.Zone, plan.Describe()
	clocks := from
	if after.IsZero() && clocks.Before(o.Now) {
		clocks = o.Now
	}
	p.Warnings, _ = plan.WarningsAt(clocks)
	p.Assumptions = plan.Assumptions
	p.Sentence = p.Description.Text
	if !o.Now.IsZero() {
		next, _ := plan.Next(o.Now.Truncate(time.Second).Add(-time.Nanosecond))
		p.Sentence = p.Description.WithNext(next, plan.Zone, o.Now)
	}
	if len(p.Due) == 0 && p.Exhausted {
		first := firstWhole(from)
		warning := "nothing is due from " + first.UTC().Format(time.RFC3339) + " on"
		if from.Equal(after) {
			warning = "nothing is due after " + first.UTC().Format(time.RFC3339)
		}
		if !plan.end.IsZero() && plan.end.Before(first) {
			warning += ": the end is " + plan.end.UTC().Format(time.RFC3339)
		}
		p.Warnings = append(p.Warnings, warning)
	}
	return p, nil
}

// run returns the first n runs after an instant. It applies the plan's outage.
func (p *Plan) run(after time.Time, n int) Previewed {
	var out Previewed
	plan, outage := p, p.outage
	add := func(due, started time.Time) {
		out.Due = append(out.Due, due)
		if outage != nil || !p.firstStarted.IsZero() {
			out.Started = append(out.Started, started.UTC())
		}
	}
	next, more := plan.Next(after)
	for more && len(out.Due) < n {
		switch {
		case outage != nil && !next.Before(outage.From) && next.Before(outage.To):
			until := outage.To
			if plan.mover != nil && plan.CatchUp.Mode != CatchUpNone {
				// A run moves the instants after it, so that no other instant was missed.
				until = next.Add(time.Second)
			}
			r := plan.CatchUp.Recover(plan, next, until, outage.To, outage.To.Sub(outage.From))
			next, more = r.Next, r.More
			for _, due := range r.Run {
				if len(out.Due) == n {
					return out // more runs follow
				}
				add(due, outage.To)
				if plan.mover != nil {
					plan = plan.Started(due, outage.To)
					next, more = plan.Next(due)
				}
			}
		case !p.firstStarted.IsZero() && len(out.Due) == 0 && next.Before(p.firstStarted):
			add(next, p.firstStarted)
			next, more = plan.Next(next)
		default:
			add(next, next)
			next, more = plan.Next(next)
		}
	}
	out.Exhausted = !more
	return out
}

// PreviewJSON returns the JSON that the command line prints: the preview and true, or {"errors":
// [...]} and false.
func PreviewJSON(kind Kind, spec []byte, o PreviewOptions) (text []byte, ok bool) {
	p, err := PreviewSpec(kind, spec, o)
	var out any = p
	if err != nil {
		out = ErrorJSON(err)
	}
	text, marshalErr := json.Marshal(out)
	if marshalErr != nil {
		return []byte(`{"errors":[]}`), false
	}
	return text, err == nil
}

// ErrorJSON returns a value that marshals to {"errors": [{"path", "value", "message"}]}.
func ErrorJSON(err error) any {
	var all *Error
	if !errors.As(err, &all) {
		all = &Error{Faults: []Fault{{Value: "null", Allowed: err.Error()}}}
	}
	return struct {
		Errors []Fault `json:"errors"`
	}{all.Faults}
}

// ErrorTexts returns the errors of a stored definition, a sentence each. stored is the JSON of
// [ErrorJSON].
func ErrorTexts(stored json.RawMessage) (texts []string) {
	var v struct {
		Errors []struct {
			Path, Message string
			Value         json.RawMessage
		}
	}
	if len(stored) == 0 || json.Unmarshal(stored, &v) != nil {
		return nil
	}
	for _, e := range v.Errors {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s is %s: %s", e.Path, e.Value, e.Message)))
	}
	return texts
}
