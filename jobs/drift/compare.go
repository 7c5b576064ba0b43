package drift

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
)

// Change is how a database differs from the reference in one object.
type Change string

// The changes.
const (
	Missing   Change = "missing"
	Extra     Change = "extra"
	Different Change = "different"
)

// Difference is one difference, and the databases that have it.
type Difference struct {
	Change Change
	Object Key
	// Details say what is different of an object, in words.
	Details []string
	// TSQL makes the object like that of the reference; "" if the statement is not certain.
	TSQL string
	// Databases are the databases with the difference, in the order in which they were read.
	Databases []string
}

// Report says how the databases of a fleet differ from a reference.
type Report struct {
	// Databases is the number of databases that were compared, and Alike of those that are like
	// the reference.
	Databases, Alike int
	// Differences are in the order of their number of databases, then in that of building them.
	Differences []Difference
}

// found identifies a difference: the variants of the reference and of the databases; -1 is none.
type found struct{ want, got int32 }

// Compare compares all databases with a reference.
func (f *Fleet) Compare(r Reference) Report {
	var report Report
	shapes := map[found][]*shape{}
	for _, s := range f.used() {
		report.Databases += len(s.databases)
		list := f.differences(r, s)
		if len(list) == 0 {
			report.Alike += len(s.databases)
		}
		for _, d := range list {
			shapes[d] = append(shapes[d], s)
		}
	}
	for d, list := range shapes {
		x := f.describe(d)
		certain := true
		for _, s := range list {
			x.Databases = append(x.Databases, s.databases...)
			certain = certain && f.certain(d, s)
		}
		if certain {
			x.TSQL = f.statement(d)
		}
		slices.Sort(x.Databases)
		report.Differences = append(report.Differences, x)
	}
	slices.SortFunc(report.Differences, func(x, y Difference) int {
		return cmp.Or(
			-cmp.Compare(len(x.Databases), len(y.Databases)), slices.Compare(x.Databases, y.Databases), compareKeys(x.Object, y.Object),
			cmp.Compare(x.Change, y.Change), slices.Compare(x.Details, y.Details))
	})
	return report
}

// differences returns how a shape differs from the reference. What belongs to a table that one of
// them lacks is not listed of its own.
func (f *Fleet) differences(r Reference, s *shape) []found {
	got := make(map[int32]int32, len(s.variants))
	for _, n := range s.variants {
		got[f.variants[n].key] = n
	}
	var list []found
	for key, want := range r.variants {
		have, ok := got[key]
		switch {
		case !ok && f.partOfMissing(key, func(k int32) bool { _, ok := got[k]; return ok }):
		case !ok:
			list = append(list, found{want, -1})
		case have != want && !f.sameOrder(want, have):
			list = append(list, found{want, have})
		}
	}
	for key, have := range got {
		if _, ok := r.variants[key]; !ok && !f.partOfMissing(key, func(k int32) bool { _, ok := r.variants[k]; return ok }) {
			list = append(list, found{-1, have})
		}
	}
	return list
}

// partOfMissing reports whether the object of a key belongs to a table or view that is missing.
func (f *Fleet) partOfMissing(key int32, has func(int32) bool) bool {
	k := f.named[key]
	if k.Table == "" {
		return false
	}
	for _, kind := range []Kind{KindTable, KindView} {
		if parent, ok := f.keys[Key{Kind: kind, Schema: k.Schema, Name: k.Table}]; ok && has(parent) {
			return false
		}
	}
	return true
}

// sameOrder reports whether two forms of a table differ only because one has columns that the
// other one lacks, which are differences of their own.
func (f *Fleet) sameOrder(want, have int32) bool {
	x, y := f.variants[want].object, f.variants[have].object
	if x == nil || y == nil || x.Kind != KindTable {
		return false
	}
	for _, name := range f.different(x, y) {
		if name != PropertyColumnOrder {
			return false
		}
	}
	a, b := commonColumns(x, y)
	return slices.Equal(a, b)
}

// ColumnSeparator separates the names in the property column order.
const ColumnSeparator = ", "

// commonColumns returns the columns that two tables have, in the order of each.
func commonColumns(x, y *Object) (a, b []string) {
	a = strings.Split(x.Properties.Get(PropertyColumnOrder), ColumnSeparator)
	b = strings.Split(y.Properties.Get(PropertyColumnOrder), ColumnSeparator)
	inA, inB := map[string]bool{}, map[string]bool{}
	for _, c := range a {
		inA[c] = true
	}
	for _, c := range b {
		inB[c] = true
	}
	return slices.DeleteFunc(a, func(c string) bool { return !inB[c] }), slices.DeleteFunc(b, func(c string) bool { return !inA[c] })
}

// different returns the names of the compared properties that differ.
func (f *Fleet) different(x, y *Object) []string {
	names := map[string]bool{}
	for _, list := range []Properties{x.Properties, y.Properties} {
		for _, p := range list {
			if f.options.keeps(p.Name) && x.Properties.Get(p.Name) != y.Properties.Get(p.Name) {
				names[p.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (f *Fleet) describe(d found) Difference {
	switch {
	case d.got < 0:
		return Difference{Change: Missing, Object: f.named[f.variants[d.want].key]}
	case d.want < 0:
		return Difference{Change: Extra, Object: f.named[f.variants[d.got].key]}
	}
	want, got := f.variants[d.want], f.variants[d.got]
	x := Difference{Change: Different, Object: f.named[want.key]}
	if want.object == nil || got.object == nil {
		x.Details = []string{"more definitions differ than memory is given for, so what differs here was not kept"}
		return x
	}
	if f.options.named(want.object) != f.options.named(got.object) || f.options.named(want.object) && want.object.Name != got.object.Name {
		x.Details = append(x.Details, fmt.Sprintf("name: %s in place of %s", f.nameOf(got.object), f.nameOf(want.object)))
	}
	for _, name := range f.different(want.object, got.object) {
		x.Details = append(x.Details, detail(name, want.object, got.object))
	}
	return x
}

// nameOf returns the name of a constraint in words.
func (f *Fleet) nameOf(o *Object) string {
	if !f.options.named(o) {
		return "one given by the system"
	}
	return shown(o.Name)
}

// shownValue is the length of a value in words.
const shownValue = 200

// detail says how a property differs.
func detail(name string, want, got *Object) string {
	x, y := want.Properties.Get(name), got.Properties.Get(name)
	if name == PropertyText {
		return textDetail(x, y)
	}
	if name == PropertyColumnOrder {
		a, b := commonColumns(want, got)
		x, y = strings.Join(a, ColumnSeparator), strings.Join(b, ColumnSeparator)
	}
	absent := "nothing"
	if x == On || y == On {
		absent = "no"
	}
	for _, v := range []*string{&x, &y} {
		if *v = strings.Join(strings.Fields(*v), " "); *v == "" {
			*v = absent
		}
		*v = wording.Clip(*v, shownValue, wording.Characters)
	}
	return fmt.Sprintf("%s: %s in place of %s", name, y, x)
}

// textDetail names the first line that differs.
func textDetail(want, got string) string {
	x, y := strings.Split(want, "\n"), strings.Split(got, "\n")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	line := func(lines []string) string {
		if n >= len(lines) {
			return "the end of the text"
		}
		return "\"" + wording.Clip(strings.TrimSpace(strings.ReplaceAll(lines[n], "\t", " ")), shownValue, wording.Characters) + "\""
	}
	return fmt.Sprintf("text: line %d is %s in place of %s", n+1, line(y), line(x))
}

// Words returns a difference in words, with the number of databases: "2 lack index IX_Orders_Date
// on dbo.Orders".
func (d *Difference) Words() string {
	n := len(d.Databases)
	switch d.Change {
	case Missing:
		return fmt.Sprintf("%d %s %s", n, wording.Plural(n, "lacks", "lack"), d.Object)
	case Extra:
		return fmt.Sprintf("%d %s %s in addition", n, wording.Plural(n, "has", "have"), d.Object)
	}
	return fmt.Sprintf("%d %s another %s", n, wording.Plural(n, "has", "have"), d.Object)
}
