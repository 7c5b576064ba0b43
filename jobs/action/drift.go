package action

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/drift"
)

// Drift compares the schema of each target with another one, and fails where they differ.
type Drift struct {
	// Against is [AgainstNone], [AgainstMajority], a database as SERVER/DATABASE, or the name of a
	// baseline.
	Against string
	// Selection selects the compared objects.
	Selection drift.Selection
}

// Values of Drift.Against that are not names.
const (
	// AgainstNone compares with nothing: the schema is recorded.
	AgainstNone = "none"
	// AgainstMajority compares with the schema that most targets of the step had when it began.
	AgainstMajority = "majority"
)

// Database returns the database with which the targets are compared.
func (d *Drift) Database() (server, database string, ok bool) { return strings.Cut(d.Against, "/") }

// driftInfo describes the type.
var driftInfo = Info{
	Type: TypeDrift, Member: "drift", Flag: "drift",
	Usage:   "compare the schema of each database with this `REFERENCE`: none (record it), majority, SERVER/DATABASE, or a baseline",
	Does:    "compares the schemas of databases",
	members: []string{"against", "include", "ignore", "exclude"},
	decode: func(d *Definition, o *object) {
		d.Drift = &Drift{
			Against: o.required("against"),
			Selection: drift.Selection{
				Include: o.texts("include", 10), Ignore: o.texts("ignore", 10), Exclude: o.texts("exclude", 50),
			},
		}
	},
}

func (d *Drift) encode(w *writer) {
	w.text("against", d.Against)
	w.texts("include", d.Selection.Include)
	w.texts("ignore", d.Selection.Ignore)
	w.texts("exclude", d.Selection.Exclude)
}

// Limits of definitions. The control database has columns for them.
const (
	maxBaseline  = 128
	maxSelection = 300
)

func (d *Drift) check(c checker) {
	server, database, isDatabase := d.Database()
	switch {
	case isDatabase && (server == "" || database == ""):
		c.fault("$.against", "invalid value %q: want SERVER/DATABASE, none, majority, or the name of a baseline", clip(d.Against))
	case !isDatabase && utf8.RuneCountInString(d.Against) > maxBaseline:
		c.fault("$.against", "invalid name of a baseline: want at most %d characters", maxBaseline)
	}
	names := func(member string, list, want []string) {
		for i, value := range list {
			if !slices.Contains(want, value) {
				c.fault(fmt.Sprintf("$.%s[%d]", member, i), "invalid value %q: want %s", clip(value), strings.Join(want, ", "))
			}
		}
	}
	names("include", d.Selection.Include, drift.IncludeNames())
	names("ignore", d.Selection.Ignore, drift.IgnoreNames())
	for i, pattern := range d.Selection.Exclude {
		if pattern == "" {
			c.fault(fmt.Sprintf("$.exclude[%d]", i), "missing: want a pattern such as audit or dbo.tmp*")
		}
	}
	if n := utf8.RuneCountInString(d.Selection.String()); n > maxSelection {
		c.fault("$.exclude", "invalid list: want at most %d characters in include, ignore and exclude together, not %d", maxSelection, n)
	}
}

func (d *Drift) slots(*slotList) {}

// A comparison calls nothing but its targets.
func (d *Drift) server() (string, error) { return "", nil }

func (d *Drift) addresses(int) []string { return nil }

func (d *Drift) addressed(x *Definition) *string {
	x.Drift = new(*d)
	return new("")
}

func (d *Drift) copyTo(x *Definition) { x.Drift = new(*d) }

func (d *Drift) parts(add func(name, text string)) {
	add("against", d.Against)
	add("compared", d.Selection.String())
}
